package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/client"
)

func (p *program) maintenanceAddCommand() *cobra.Command {
	var m maintenanceRun
	cmd := &cobra.Command{
		Use:   "add ID...",
		Short: "Plan to cut dependencies off, or only to send no messages",
		Example: `  recloser maintenance add hotel-3 --from 22:00 --for 2h --reason "new database"
  recloser maintenance add bay --days sat --from 03:00 --for 1h --reason backup
  recloser maintenance add hotel-4 --for 1h --no-messages --reason "load test"`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: m.complete(idsOnly),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.ids = args
			return p.addMaintenance(cmd.Context(), m)
		},
	}
	flags := cmd.Flags()
	grouped(flags, "Which", func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&m.groups, "group", nil, "all of this `group`, too")
		flags.StringToStringVar(&m.labels, "label", nil, "all with this label, too, such as `name=value`")
	})
	grouped(flags, "When", func(flags *pflag.FlagSet) {
		flags.StringVar(&m.from, "from", "", "`when` it begins: 22:00 or 2027-01-31T18:00; else now")
		flags.StringVar(&m.until, "until", "", "`when` it ends; with --days the last day of the rule")
		flags.StringVar(&m.length, "for", "", "`time` it lasts, such as 90m or 2h")
		flags.StringVar(&m.days, "days", "", "`days` on which it comes again: mon,tue, mon-fri, daily")
		flags.StringVar(&m.zone, "zone", "UTC", "time `zone` of --days: Europe/Berlin")
	})
	grouped(flags, "Words", func(flags *pflag.FlagSet) {
		flags.StringVar(&m.name, "name", "", "what it is called, a few `words`; else the reason")
		flags.StringVar(&m.reason, "reason", "", "`why`, shown to everybody who looks")
		flags.BoolVar(&m.noMessages, "no-messages", false, "nothing is cut off, but nobody gets messages")
	})
	flags.Lookup("label").DefValue = ""
	m.connection.flags(flags)
	m.form, m.colour, m.forms = formTable, "auto", []string{formTable}
	return cmd
}

// request is what the API is told.
func (m *maintenanceRun) request(now time.Time) (client.Maintenance, error) {
	w := client.Maintenance{
		Name: m.name, Dependencies: m.ids, Groups: m.groups, Labels: m.labels,
		Effect: "cut-off", Reason: strings.TrimSpace(m.reason),
	}
	if w.Name == "" {
		w.Name = w.Reason
	}
	if m.noMessages {
		w.Effect = "no-messages"
	}
	switch {
	case len(m.ids)+len(m.groups)+len(m.labels) == 0:
		return w, badUsage("maintenance of what? Name a dependency, a --group or a --label")
	case w.Reason == "":
		return w, badUsage("say why: --reason %q", "they change their database")
	case m.days != "":
		return w, m.byCalendar(&w, now)
	}
	return w, m.once(&w, now)
}

func (m *maintenanceRun) once(w *client.Maintenance, now time.Time) error {
	from := now
	var err error
	if m.from != "" {
		// The minute that runs is not over: it is no time of tomorrow.
		if from, err = moment("from", m.from, now.Truncate(time.Minute).Add(-1)); err != nil {
			return err
		}
	}
	var to time.Time
	switch {
	case m.length != "" && m.until == "":
		lasts, err := length("for", m.length)
		if err != nil {
			return err
		}
		to = from.Add(lasts)
	case m.until != "" && m.length == "":
		if to, err = moment("until", m.until, from); err != nil {
			return err
		}
	default:
		return badUsage("say once how long: --for 2h or --until 18:00")
	}
	if m.from != "" { // else the gateway's own now
		from = from.UTC()
		w.From = &from
	}
	to = to.UTC()
	w.To = &to
	return nil
}

func (m *maintenanceRun) byCalendar(w *client.Maintenance, now time.Time) error {
	days, err := weekdays(m.days)
	if err != nil {
		return err
	}
	if _, err := time.Parse("15:04", m.from); err != nil {
		return badUsage("with --days, --from is the time of day at which it begins, such as 22:00, not %q", m.from)
	}
	lasts, err := length("for", m.length)
	if err != nil {
		return err
	}
	w.Calendar = &client.Calendar{Days: days, From: m.from, For: client.Duration(lasts), Zone: m.zone}
	if m.until != "" {
		to, err := moment("until", m.until, now)
		if err != nil {
			return err
		}
		to = to.UTC()
		w.To = &to
	}
	return nil
}

var week = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// weekdays reads "mon,wed", "mon-fri", "fri-mon" and "daily".
func weekdays(text string) ([]string, error) {
	if text == "daily" {
		return week, nil
	}
	var all []string
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, to := slices.Index(week, first), slices.Index(week, last)
		if !isRange {
			to = from
		}
		if from < 0 || to < 0 {
			return nil, badUsage("--days are such as mon,wed or mon-fri or daily, not %q", text)
		}
		for i := from; ; i = (i + 1) % len(week) {
			all = append(all, week[i])
			if i == to {
				break
			}
		}
	}
	return all, nil
}

func (p *program) addMaintenance(ctx context.Context, m maintenanceRun) error {
	request, err := m.request(time.Now())
	if err != nil {
		return err
	}
	request.By = by()
	api, seen, err := m.fetch(ctx)
	if err != nil {
		return err
	}
	// A group that nobody is in yet may be meant; it is rather a slip.
	groups := slices.DeleteFunc(slices.Clone(m.groups), func(group string) bool { return group == "*" })
	if _, err := seen.choose(nil, groups, false); err != nil {
		p.tellRefused(ctx, api) // it may be in there
		return err
	}
	answer, err := api.Act(ctx, http.MethodPost, "maintenance", nil, request)
	if err != nil {
		return err
	}
	var w client.Maintenance
	if err := answer.Into(&w); err != nil {
		return err
	}
	if len(w.Covers) == 0 {
		fmt.Fprintln(p.stderr, "No dependency belongs to it as things are.")
	}
	return maintenanceTable([]client.Entry[client.Maintenance]{{Value: w}}, answer.At).write(p.stdout, m.look(p.stdout))
}
