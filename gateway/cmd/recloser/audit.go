package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/client"
)

// auditRun is a command line of recloser audit.
type auditRun struct {
	connection
	printing
	since, target, by string
	limit             int
}

func (p *program) auditCommand() *cobra.Command {
	var a auditRun
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who did what and why, the latest last",
		Example: `  recloser audit --since 1h
  recloser audit --target hotel-3 -n 20
  recloser audit --by ines -o json | jq .acts[].reason`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.audit(cmd.Context(), a) },
	}
	grouped(cmd.Flags(), "Which", func(flags *pflag.FlagSet) {
		flags.StringVar(&a.since, "since", "", "since `when`: 1h or 7d ago, 18:00, 2027-01-31T18:00")
		flags.StringVar(&a.target, "target", "", "only on this `id`, such as a dependency's")
		flags.StringVar(&a.by, "by", "", "only by this `person` or token")
		flags.IntVarP(&a.limit, "limit", "n", 100, "the latest `number`")
	})
	a.printing.flags(cmd.Flags(), formTable, formJSON, formYAML)
	a.connection.flags(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("target", a.complete(idsOnly))
	return cmd
}

func (p *program) audit(ctx context.Context, a auditRun) error {
	if err := a.check(); err != nil {
		return err
	}
	query := url.Values{}
	if err := sinceOf(query, a.since, time.Now()); err != nil {
		return err
	}
	for name, value := range map[string]string{"target": a.target, "by": a.by} {
		if value != "" {
			query.Set(name, value)
		}
	}
	api, err := a.open()
	if err != nil {
		return err
	}
	all, more, err := past(ctx, api, "audit", "acts", query, a.limit, func(act client.Act) int64 { return act.ID })
	if err != nil {
		return err
	}
	if more && a.since != "" {
		fmt.Fprintf(p.stderr, "These are the latest %d; raise --limit for more.\n", len(all))
	}
	if a.form != formTable {
		return document(p.stdout, a.form, "acts", all)
	}
	t := table{head: []string{"AT", "BY", "DID", "ON", "UNTIL", "REASON"}}
	for _, e := range all {
		v := e.Value
		on, until, did := v.Target, "", v.Name
		if on == "" {
			on = strings.Join(v.Of, ", ")
		}
		if v.Until != nil {
			until = v.Until.UTC().Format(time.RFC3339)
		}
		if v.Result != "" && v.Result != "done" {
			did += " (" + v.Result + ")"
		}
		t.add(cell{text: v.At.UTC().Format(time.RFC3339)}, cell{text: v.By}, cell{text: did}, cell{text: on}, cell{text: until}, cell{text: v.Reason})
	}
	return t.write(p.stdout, a.look(p.stdout))
}
