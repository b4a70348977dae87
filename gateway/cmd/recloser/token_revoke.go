package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/plain"
)

func (p *program) tokenRevokeCommand() *cobra.Command {
	var t tokenRun
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "End a token, at once",
		Example: `  recloser token revoke k3v7q2 --reason "the laptop is lost"
  recloser token revoke k3v7q2 -c recloser.yaml
  recloser token list -o name | xargs -n 1 recloser token revoke`,
		Args: oneArgument("token by its id: see recloser token list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.revoke(cmd.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(p.stderr, "Token %s is revoked.\n", plain.Line(args[0]))
			return nil
		},
	}
	grouped(cmd.Flags(), "Why", func(flags *pflag.FlagSet) {
		flags.StringVar(&t.reason, "reason", "", "`why`, for the audit")
	})
	t.flagsOffline(cmd.Flags())
	return cmd
}

func (t *tokenRun) revoke(ctx context.Context, id string) error {
	if t.config != "" {
		return t.revokeOffline(ctx, id)
	}
	return t.remove(ctx, "tokens", id, t.reason)
}
