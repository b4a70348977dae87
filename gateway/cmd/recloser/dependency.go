package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

func (p *program) dependencyCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "dependency",
		Short: "Add dependencies while the gateway runs, change and remove them",
		Example: `  recloser dependency add hotel-9 url=https://api.hotel-9.example group=coast
  recloser dependency set hotel-9 timeout=2s breaker.slow_call=800ms
  recloser dependency remove hotel-9 --reason "the contract ended"`,
	}, p.dependencyAddCommand(), p.dependencySetCommand(), p.dependencyRemoveCommand())
}

// dependencyRun is a command line of recloser dependency.
type dependencyRun struct {
	connection
	printing
	id, file, reason string
	settings         []string
}

// common adds what all of them have in common.
func (d *dependencyRun) common(cmd *cobra.Command, reads bool) {
	flags := cmd.Flags()
	if reads {
		grouped(flags, "What", func(flags *pflag.FlagSet) {
			flags.StringVarP(&d.file, "file", "f", "", "keys of a YAML or JSON `file`, - for stdin")
		})
	}
	withReason(flags, &d.reason)
	d.printing.flags(flags, formTable, formWide, formJSON, formYAML, formName)
	d.connection.flags(flags)
}

func needsID(_ *cobra.Command, args []string) error {
	if len(args) == 0 || strings.Contains(args[0], "=") {
		return fmt.Errorf("name the dependency first: an id, then KEY=VALUE as in the config file")
	}
	return nil
}

func (p *program) dependencyAddCommand() *cobra.Command {
	var d dependencyRun
	cmd := &cobra.Command{
		Use:   "add ID KEY=VALUE...",
		Short: "Add a dependency with keys of the config file; it stays",
		Example: `  recloser dependency add hotel-9 url=https://api.hotel-9.example group=coast
  recloser dependency add hotel-9 url=https://hotel-9.example probe.path=/ping
  recloser dependency add hotel-9 -f hotel-9.yaml --reason "new partner"`,
		Args: needsID,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.id, d.settings = args[0], args[1:]
			return p.putDependency(cmd.Context(), d, http.MethodPost, "dependencies")
		},
	}
	d.common(cmd, true)
	return cmd
}

func (p *program) dependencySetCommand() *cobra.Command {
	var d dependencyRun
	cmd := &cobra.Command{
		Use:   "set ID KEY=VALUE...",
		Short: "Change keys of a dependency that was added while the gateway runs",
		Example: `  recloser dependency set hotel-9 breaker.slow_call=800ms
  recloser dependency set hotel-9 timeout=2s probe=null --reason "no ping there"
  recloser dependency set hotel-9 -f hotel-9.yaml`,
		Args:              needsID,
		ValidArgsFunction: d.complete(idsOnly),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.id, d.settings = args[0], args[1:]
			return p.putDependency(cmd.Context(), d, http.MethodPatch, "dependencies/"+escape(d.id))
		},
	}
	d.common(cmd, true)
	return cmd
}

func (p *program) dependencyRemoveCommand() *cobra.Command {
	var d dependencyRun
	cmd := &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a dependency that was added while the gateway runs",
		Example: `  recloser dependency remove hotel-9
  recloser dependency remove hotel-9 --reason "the contract ended"
  recloser dependency remove hotel-9 --server https://gateway.example:8081`,
		Args:              oneArgument("dependency"),
		ValidArgsFunction: d.complete(idsOnly),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.remove(cmd.Context(), "dependencies", args[0], d.reason); err != nil {
				return err
			}
			fmt.Fprintf(p.stderr, "%s is removed.\n", plain.Line(args[0]))
			return nil
		},
	}
	withReason(cmd.Flags(), &d.reason)
	d.connection.flags(cmd.Flags())
	return cmd
}

func (p *program) putDependency(ctx context.Context, d dependencyRun, method, path string) error {
	if err := d.check(); err != nil {
		return err
	}
	definition, err := d.definition(p.stdin)
	if err != nil {
		return err
	}
	request := map[string]any{"definition": definition}
	if method == http.MethodPost {
		request["id"] = d.id
	}
	if d.reason != "" {
		request["reason"] = d.reason
	}
	if who := by(); who != "" {
		request["by"] = who
	}
	api, err := d.open()
	if err != nil {
		return err
	}
	answer, err := api.Act(ctx, method, path, nil, request)
	if err != nil {
		return err
	}
	entry := client.Entry[client.Dependency]{Raw: answer.Body}
	if err := answer.Into(&entry.Value); err != nil {
		return err
	}
	return statusRun{printing: d.printing}.write(p.stdout, []client.Entry[client.Dependency]{entry}, answer.At)
}

const maxDefinition = 64 << 10 // bytes

// definition is what the file and the KEY=VALUE say. The gateway judges it.
func (d *dependencyRun) definition(stdin io.Reader) (map[string]any, error) {
	all := map[string]any{}
	if d.file != "" {
		text, err := readDefinition(d.file, stdin)
		if err == nil {
			err = yaml.Unmarshal(text, &all)
		}
		if err != nil {
			return nil, badUsage("the definition cannot be read: %w", err)
		}
	}
	for _, setting := range d.settings {
		key, text, ok := strings.Cut(setting, "=")
		if !ok || key == "" {
			return nil, badUsage("%q is no KEY=VALUE, such as timeout=2s or breaker.slow_call=800ms", setting)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil || text == "" {
			value = text
		}
		if err := put(all, strings.Split(key, "."), value); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, badUsage("say what it is: KEY=VALUE as in the config file, or -f FILE")
	}
	if _, err := json.Marshal(all); err != nil {
		return nil, badUsage("the definition cannot be sent: %w", err)
	}
	return all, nil
}

func readDefinition(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, maxDefinition))
}

// put sets what is at a path, and makes the mappings on the way.
func put(in map[string]any, path []string, value any) error {
	for _, name := range path[:len(path)-1] {
		below, ok := in[name].(map[string]any)
		if !ok && in[name] != nil {
			return badUsage("%s has a value of its own and no keys below it", name)
		}
		if !ok {
			below = map[string]any{}
			in[name] = below
		}
		in = below
	}
	in[path[len(path)-1]] = value
	return nil
}
