package main

import "github.com/spf13/cobra"

func (p *program) trialCommand() *cobra.Command {
	return p.actCommand(act{verb: "trial", send: post("trial")}, &cobra.Command{
		Short: "Try open dependencies now: the next call goes through",
		Example: `  recloser trial hotel-3 --reason "they say it is mended"
  recloser trial 'hotel-*' --reason "the power is back" --dry-run
  recloser trial --group coast --reason "the line is back"`,
	})
}
