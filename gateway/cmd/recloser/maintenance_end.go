package main

import (
	"fmt"

	"github.com/spf13/cobra"

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
			if err := m.remove(cmd.Context(), "maintenance", args[0], m.reason); err != nil {
				return err
			}
			fmt.Fprintf(p.stderr, "Maintenance %s is over.\n", plain.Line(args[0]))
			return nil
		},
	}
	withReason(cmd.Flags(), &m.reason)
	m.connection.flags(cmd.Flags())
	return cmd
}
