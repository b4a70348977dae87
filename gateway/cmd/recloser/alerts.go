package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/client"
)

func (p *program) alertsCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "alerts",
		Short: "Try the channels that messages go to, and see what became of messages",
		Example: `  recloser alerts test
  recloser alerts test operators
  recloser alerts deliveries --channel operators`,
	}, p.alertsTestCommand(), p.alertsDeliveriesCommand())
}

// alertsRun is a command line of recloser alerts.
type alertsRun struct {
	connection
	printing
	channel, reason string
	limit           int
}

func (p *program) alertsTestCommand() *cobra.Command {
	var a alertsRun
	cmd := &cobra.Command{
		Use:   "test [CHANNEL]",
		Short: "Send a test message, to one channel or to all",
		Example: `  recloser alerts test
  recloser alerts test operators --reason "new workflow"
  recloser alerts test -o json | jq .deliveries[].fault`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				a.channel = args[0]
			}
			return p.testAlerts(cmd.Context(), a)
		},
	}
	grouped(cmd.Flags(), "Why", func(flags *pflag.FlagSet) {
		flags.StringVar(&a.reason, "reason", "", "`why`, shown to everybody who looks")
	})
	a.printing.flags(cmd.Flags(), formTable, formJSON, formYAML)
	a.connection.flags(cmd.Flags())
	return cmd
}

func (p *program) testAlerts(ctx context.Context, a alertsRun) error {
	if err := a.check(); err != nil {
		return err
	}
	api, err := a.open()
	if err != nil {
		return err
	}
	answer, err := api.Act(ctx, http.MethodPost, "alerts/test", nil, struct {
		Channel string `json:"channel,omitempty"`
		words
	}{a.channel, words{Reason: a.reason, By: by()}})
	if err != nil {
		return err
	}
	all, err := client.List[client.Delivery](answer, "deliveries")
	if err != nil {
		return err
	}
	if err := p.showDeliveries(a, all); err != nil {
		return err
	}
	for _, d := range all {
		if d.Value.Result != "accepted" {
			return fmt.Errorf("%s did not take the message: %s", d.Value.Channel, d.Value.Fault)
		}
	}
	return nil
}

func (p *program) alertsDeliveriesCommand() *cobra.Command {
	var a alertsRun
	cmd := &cobra.Command{
		Use:   "deliveries",
		Short: "Show what became of messages, the latest last",
		Example: `  recloser alerts deliveries
  recloser alerts deliveries --channel operators -n 20
  recloser alerts deliveries -o json | jq .deliveries[].result`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.deliveries(cmd.Context(), a) },
	}
	grouped(cmd.Flags(), "Which", func(flags *pflag.FlagSet) {
		flags.StringVar(&a.channel, "channel", "", "only those to this one, a `name`")
		flags.IntVarP(&a.limit, "limit", "n", 100, "the latest `number`, up to 1000")
	})
	a.printing.flags(cmd.Flags(), formTable, formJSON, formYAML)
	a.connection.flags(cmd.Flags())
	return cmd
}

func (p *program) deliveries(ctx context.Context, a alertsRun) error {
	if err := a.check(); err != nil {
		return err
	}
	api, err := a.open()
	if err != nil {
		return err
	}
	query := url.Values{"limit": {strconv.Itoa(a.limit)}}
	if a.channel != "" {
		query.Set("channel", a.channel)
	}
	answer, err := api.Get(ctx, "alerts/deliveries", query)
	if err != nil {
		return err
	}
	all, err := client.List[client.Delivery](answer, "deliveries")
	if err != nil {
		return err
	}
	slices.Reverse(all)
	return p.showDeliveries(a, all)
}

// showDeliveries writes them in the form that was asked for.
func (p *program) showDeliveries(a alertsRun, all []client.Entry[client.Delivery]) error {
	if a.form != formTable {
		return document(p.stdout, a.form, "deliveries", all)
	}
	t := table{head: []string{"AT", "CHANNEL", "MESSAGE", "RESULT", "TRIES", "FAULT"}}
	for _, d := range all {
		v := d.Value
		colour := green
		switch v.Result {
		case "accepted":
		case "refused", "given up":
			colour = red
		case "waiting", "handed over":
			colour = yellow
		default:
			colour = faint
		}
		t.add(cell{text: v.At.UTC().Format(time.RFC3339)}, cell{text: v.Channel}, cell{text: v.Title}, cell{v.Result, colour}, cell{text: strconv.Itoa(v.Tries)}, cell{text: v.Fault})
	}
	return t.write(p.stdout, a.look(p.stdout))
}
