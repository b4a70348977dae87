package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/client"
)

func (p *program) tokenCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "token",
		Short: "Let people and programs use the gateway's API",
		Example: `  recloser token create --role operator --group coast --for 90d
  recloser token list
  recloser token revoke k3v7q2 --reason "the laptop is lost"`,
	}, p.tokenCreateCommand(), p.tokenListCommand(), p.tokenRevokeCommand())
}

// tokenRun is a command line of recloser token.
type tokenRun struct {
	connection
	printing
	config                           string // the token is made in its storage, without a gateway
	name, role, group, length, until string
	noExpiry                         bool
	reason                           string
}

func (t *tokenRun) flagsOffline(flags *pflag.FlagSet) {
	grouped(flags, "Where", func(flags *pflag.FlagSet) {
		flags.StringVarP(&t.config, "config", "c", "", "in the storage of this config `file`, not by the API")
	})
	t.connection.flags(flags)
}

func (p *program) tokenListCommand() *cobra.Command {
	var t tokenRun
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens there are, without their secrets",
		Example: `  recloser token list
  recloser token list -c recloser.yaml
  recloser token list -o json | jq -r '.tokens[].name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listTokens(cmd.Context(), t) },
	}
	t.printing.flags(cmd.Flags(), formTable, formJSON, formYAML, formName)
	t.flagsOffline(cmd.Flags())
	return cmd
}

func (p *program) listTokens(ctx context.Context, t tokenRun) error {
	if err := t.check(); err != nil {
		return err
	}
	all, now, err := t.tokens(ctx)
	if err != nil {
		return err
	}
	id := func(token client.Token) string { return token.ID }
	return list(p.stdout, t.printing, "tokens", all, id, func() *table { return tokenTable(all, now) })
}

func tokenTable(all []client.Entry[client.Token], now time.Time) *table {
	t := &table{head: []string{"TOKEN", "NAME", "ROLE", "GROUP", "ENDS", "LAST USED"}}
	for _, e := range all {
		token := e.Value
		ends, used := cell{"never", ""}, cell{"not known", faint}
		if token.Expires != nil && !token.Expires.IsZero() {
			ends = cell{"in " + span(token.Expires.Sub(now)), ""}
			if !token.Expires.After(now) {
				ends = cell{"has ended", red}
			}
		}
		if token.LastUsed != nil && !token.LastUsed.IsZero() {
			used = cell{span(now.Sub(*token.LastUsed)) + " ago", ""}
		}
		t.add(cell{token.ID, ""}, cell{token.Name, ""}, cell{token.Role, ""}, cell{token.Group, ""}, ends, used)
	}
	return t
}

func (t *tokenRun) tokens(ctx context.Context) ([]client.Entry[client.Token], time.Time, error) {
	if t.config != "" {
		return t.listOffline(ctx)
	}
	api, err := t.open()
	if err != nil {
		return nil, time.Time{}, err
	}
	answer, err := api.Get(ctx, "tokens", nil)
	if err != nil {
		return nil, time.Time{}, err
	}
	all, err := client.List[client.Token](answer, "tokens")
	return all, answer.At, err
}
