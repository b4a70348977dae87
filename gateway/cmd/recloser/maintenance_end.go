package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/plain"
)

func (p *program) maintenanceEndCommand() *cobra.Command {
	var m maintenanceRun
	cmd := &cobra.Command{
		Use:   "end MAINTENANCE",
		Short: "End or cancel a maintenance",
		Example: `  recloser maintenance end k3v7q2
  recloser maintenance end k3v7q2 --reason "done early"
  recloser maintenance list -o name | xargs -n 1 recloser maintenance end`,
		Args: oneArgument("maintenance by its id: see recloser maintenance list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.window = args[0]
			return p.endMaintenance(cmd.Context(), m)
		},
	}
	grouped(cmd.Flags(), "Why", func(flags *pflag.FlagSet) {
		flags.StringVar(&m.reason, "reason", "", "`why`, shown to everybody who looks")
	})
	m.connection.flags(cmd.Flags())
	return cmd
}

func (p *program) endMaintenance(ctx context.Context, m maintenanceRun) error {
	api, err := m.open()
	if err != nil {
		return err
	}
	if _, err := api.Act(ctx, http.MethodDelete, "maintenance/"+escape(m.window), inQuery(m.reason), nil); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "Maintenance %s is over.\n", plain.Line(m.window))
	return nil
}
