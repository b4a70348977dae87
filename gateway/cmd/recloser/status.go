package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// statusRun is a command line of recloser status.
type statusRun struct {
	connection
	printing
	watch, exitCode bool
	names           []string // of dependencies or groups; empty: all
}

func (p *program) statusCommand() *cobra.Command {
	var s statusRun
	cmd := &cobra.Command{
		Use:   "status [ID|GROUP]...",
		Short: "Show who is cut off, why and until when",
		Example: `  recloser status
  recloser status coast -o wide -w
  recloser status hotel-3 --exit-code || echo "hotel-3 is cut off"`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: s.complete(idsAndGroups),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.names = args
			return p.status(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	grouped(flags, "How", func(flags *pflag.FlagSet) {
		flags.BoolVarP(&s.watch, "watch", "w", false, "go on: live on a terminal, else a line for each change")
		flags.BoolVar(&s.exitCode, "exit-code", false, "exit with 10 if one of them is cut off")
	})
	s.printing.flags(flags, formTable, formWide, formJSON, formYAML, formName)
	s.connection.flags(flags)
	return cmd
}

func (p *program) status(ctx context.Context, s statusRun) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.watch && s.form != formTable && s.form != formWide && s.form != formJSON {
		return badUsage("--watch writes a table, or with -o json a line for each change")
	}
	if s.watch && s.exitCode {
		return badUsage("--exit-code is about one look: leave out --watch")
	}
	api, seen, err := s.fetch(ctx)
	if err != nil {
		return err
	}
	p.tellRefused(ctx, api)
	if s.watch {
		return p.watch(ctx, api, s, seen)
	}
	chosen, err := seen.named(s.names)
	if err != nil {
		return err
	}
	if err := s.write(p.stdout, chosen, seen.at.At); err != nil {
		return err
	}
	if s.exitCode && slices.ContainsFunc(chosen, func(d client.Entry[client.Dependency]) bool { return isCutOff(d.Value.State, d.Value.Shadow) }) {
		return exit{code: exitCutOff}
	}
	return nil
}

// write writes dependencies in the form that was asked for.
func (s statusRun) write(w io.Writer, all []client.Entry[client.Dependency], now time.Time) error {
	id := func(d client.Dependency) string { return d.ID }
	return list(w, s.printing, "dependencies", all, id, func() *table { return statusTable(all, now, s.form == formWide) })
}

func statusTable(all []client.Entry[client.Dependency], now time.Time, wide bool) *table {
	t := &table{head: []string{"", "DEPENDENCY", "STATE", "FOR", "BAD", "NEXT", "WHY"}}
	if wide {
		t.head = []string{"", "DEPENDENCY", "NAME", "GROUP", "STATE", "FOR", "BAD", "RUNNING", "CALLS", "REFUSED", "VERSION", "NEXT", "WHY"}
	}
	for _, e := range all {
		d := e.Value
		sign := mark(felt(d.State, d.Shadow))
		state := cell{stateOf(d), sign.colour}
		if n := keysCutOff(d); n > 0 && sign.colour == green {
			state.colour, sign.colour = yellow, yellow
		}
		since := cell{span(now.Sub(sinceWhen(d))), ""}
		next, reason := cell{nextOf(d, now), ""}, cell{whyOf(d), ""}
		if !wide {
			t.add(sign, cell{d.ID, ""}, state, since, cell{badOf(d), ""}, next, reason)
			continue
		}
		var refused uint64
		for _, n := range d.Refused {
			refused += n
		}
		t.add(sign, cell{d.ID, ""}, cell{d.Name, ""}, cell{d.Group, ""}, state, since, cell{badOf(d), ""},
			cell{fmt.Sprint(d.InFlight), ""}, cell{fmt.Sprint(d.Totals.Success + d.Totals.Failed + d.Totals.Slow + d.Totals.Ignored), ""},
			cell{fmt.Sprint(refused), ""}, cell{fmt.Sprint(d.Version), ""}, next, reason)
	}
	return t
}

// inShadow is a state in which the rules say open or half-open, and all calls pass.
const inShadow = "shadow"

// felt is a state as callers feel it.
func felt(state string, shadow bool) string {
	if shadow && (state == "open" || state == "half-open") {
		return inShadow
	}
	return state
}

// isCutOff reports whether calls are refused in that state.
func isCutOff(state string, shadow bool) bool {
	state = felt(state, shadow)
	return state == "open" || state == "isolated" || state == "maintenance"
}

// sinceWhen is when the state began, or the outage that it is part of.
func sinceWhen(d client.Dependency) time.Time {
	if d.OutSince != nil && (d.State == "open" || d.State == "half-open") {
		return *d.OutSince
	}
	return d.Since
}

// span is how long something is, in whole seconds.
func span(d time.Duration) string { return plain.Span(d.Round(time.Second)) }

// clock is a moment: to the second within a day of now, else with the date.
func clock(t, now time.Time) string {
	layout := "15:04:05 UTC"
	if d := t.Sub(now); d >= 24*time.Hour || d <= -24*time.Hour {
		layout = "2006-01-02 15:04 UTC"
	}
	return t.UTC().Format(layout)
}

// nextOf says what comes, and when.
func nextOf(d client.Dependency, now time.Time) string {
	switch {
	case d.State == "half-open":
		return "trials"
	case d.State == "open" && d.NextTrial != nil:
		return "trial in " + span(d.NextTrial.Sub(now))
	case d.Override != nil && d.Override.Until == nil:
		return "no end set"
	case d.Override != nil:
		return "until " + clock(*d.Override.Until, now)
	case d.Until != nil:
		return "until " + clock(*d.Until, now)
	}
	return ""
}

// stateOf is the state with what it means for calls, and whether that holds for all.
func stateOf(d client.Dependency) string {
	words := stateWords(d.State, d.Effect)
	if n := keysCutOff(d); n > 0 && !isCutOff(d.State, d.Shadow) {
		words += ", but for " + count(n, "key", "keys")
	}
	return words
}

// keysCutOff is how many keys are refused. The state is that of calls without one.
func keysCutOff(d client.Dependency) (n int) {
	if d.Keys != nil {
		for state, of := range d.Keys.States {
			if isCutOff(state, d.Shadow) {
				n += of
			}
		}
	}
	return n
}

// whyOf is the operator's reason, or what the state rests on. The state itself
// and what comes next have cells of their own.
func whyOf(d client.Dependency) string {
	why := strings.TrimPrefix(d.Explain, fmt.Sprintf("%s (%s): ", d.State, d.Effect))
	switch {
	case d.State == "open":
		why = plain.Because(d.Why, d.Cause)
	case d.Override != nil:
		why = fmt.Sprintf("“%s” — %s", d.Override.Reason, maintenance.By(d.Override.By, d.Override.Reason))
	}
	if n := keysCutOff(d); n > 0 {
		why = fmt.Sprintf("%d of %s cut off; %s", n, count(d.Keys.Count, "key", "keys"), why)
	}
	switch f := d.Fleet; {
	case f == nil:
	case f.NotShared:
		why += "; not yet shared: the other nodes do not know of it"
	case f.SeenBy == "":
	case d.State == "open" || d.State == "half-open":
		why += "; seen by " + f.SeenBy
	default:
		why += "; but cut off by " + f.SeenBy
	}
	return why
}

// badOf is "–" as long as a number would claim more than is known.
func badOf(d client.Dependency) string {
	if isCutOff(d.State, d.Shadow) || d.Window.BadRatio == nil {
		return "–"
	}
	bad := percent(*d.Window.BadRatio)
	if d.Limits.FailureRate != nil {
		bad += " of " + percent(*d.Limits.FailureRate)
	}
	return bad
}

// percent writes a share of 1. One that is not 0 or 1 never looks as if it were.
func percent(share float64) string {
	p := share * 100
	switch {
	case p > 0 && p < 1:
		return "< 1 %"
	case p > 99 && p < 100:
		return "> 99 %"
	}
	return fmt.Sprintf("%.0f %%", p)
}
