package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// finding is what the doctor says of one thing.
type finding struct {
	Status string `json:"status"` // ok, warn or fail
	What   string `json:"what"`   // such as "storage" or "dependency hotel-3"
	Found  string `json:"found"`
	From   string `json:"from,omitempty"` // of a dependency: who says that it is there
	Do     string `json:"do,omitempty"`   // what to do about it
}

const (
	works = "ok"
	warns = "warn"
	fails = "fail"
)

func good(what, format string, args ...any) finding {
	return finding{Status: works, What: what, Found: fmt.Sprintf(format, args...)}
}

func warn(what, do, format string, args ...any) finding {
	return finding{Status: warns, What: what, Do: do, Found: fmt.Sprintf(format, args...)}
}

func fail(what, do, format string, args ...any) finding {
	return finding{Status: fails, What: what, Do: do, Found: fmt.Sprintf(format, args...)}
}

func (p *program) doctorCommand() *cobra.Command {
	var o printing
	var file string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at all that the gateway needs: what works, and what to do",
		Long: `Look at all that the gateway needs: clocks, disk, addresses, webhooks,
dependencies; those, too, that were added at run time, as the storage has them
or, if it cannot be read, the running gateway tells. Nothing is changed, no
message is sent. Exit code 1 if one fails.`,
		Example: `  recloser doctor -c recloser.yaml
  recloser doctor -c recloser.yaml && systemctl start recloser
  recloser doctor -o json | jq '.findings[] | select(.status == "fail")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), o, file) },
	}
	grouped(cmd.Flags(), "Config", func(flags *pflag.FlagSet) {
		flags.StringVarP(&file, "config", "c", "recloser.yaml", "the config `file`")
	})
	o.flags(cmd.Flags(), formTable, formJSON, formYAML)
	return cmd
}

func (p *program) doctor(ctx context.Context, o printing, file string) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := config.Load(file, config.Environment()...)
	if err != nil {
		return exit{exitBadConfig, err}
	}
	findings := examine(ctx, c)
	if o.forPeople() {
		t := table{head: []string{"", "WHAT", "FOUND"}}
		for _, f := range findings {
			sign := map[string]cell{works: {works, green}, warns: {warns, yellow}, fails: {fails, red}}[f.Status]
			text := f.Found
			if f.From != "" && f.From != c.File {
				text += "; added at run time, by " + f.From
			}
			if f.Do != "" {
				text += "; " + f.Do
			}
			t.add(sign, cell{f.What, ""}, cell{text, ""})
		}
		v := o.look(p.stdout)
		v.width = 0 // what to do stands at the end of a line, and is what it is for
		err = t.write(p.stdout, v)
	} else {
		body, _ := json.Marshal(map[string][]finding{"findings": findings})
		err = writeDocument(p.stdout, o.form, body)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f finding) bool { return f.Status == fails }) {
		return exit{code: exitFailed}
	}
	return nil
}

// examine makes every check. Those of dependencies and webhooks wait for others,
// so they run at once; what is found keeps its order.
func examine(ctx context.Context, c *config.Config) []finding {
	findings := examineConfig(c)
	findings = append(findings, examineClocks()...)
	findings = append(findings, examineStorage(c.Storage.Path)...)
	findings = append(findings, examineStore(ctx, c)...)
	findings = append(findings, examineFiles(c)...)
	findings = append(findings, examineCertificates(c, time.Now())...)
	findings = append(findings, examineListeners(ctx, c)...)
	return append(findings, examineRemote(ctx, c)...)
}

func examineConfig(c *config.Config) []finding {
	found := fmt.Sprintf("%s: %s, %s", c.File, count(len(c.Dependencies), "dependency", "dependencies"), count(len(c.Routes), "route", "routes"))
	findings := []finding{good("config", "%s", found)}
	for _, w := range c.Warnings {
		findings = append(findings, warn("config", "", "%s", w))
	}
	return findings
}
