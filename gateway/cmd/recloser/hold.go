package main

import "github.com/spf13/cobra"

func (p *program) holdCommand() *cobra.Command {
	return p.actCommand(act{verb: "hold", lasts: true, send: override("held-closed")}, &cobra.Command{
		Short: "Hold dependencies closed: all calls pass, whatever the rules say",
		Example: `  recloser hold hotel-3 --for 30m --reason "we look for the fault together"
  recloser hold 'hotel-[12]' --until 2027-01-31T18:00 --reason "load test"
  recloser hold --group coast --no-expiry --reason "their own breaker is enough"`,
	})
}
