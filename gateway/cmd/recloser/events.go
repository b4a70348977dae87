package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/client"
)

// eventsRun is a command line of recloser events.
type eventsRun struct {
	connection
	printing
	follow           bool
	since            string
	dependency, kind string
	limit            int
}

var eventKinds = []string{"transition", "probe", "act", "gateway", "maintenance"}

func (p *program) eventsCommand() *cobra.Command {
	var e eventsRun
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show what happened, the latest last",
		Example: `  recloser events --since 1h
  recloser events -f --kind transition
  recloser events --dependency hotel-3 --since 7d -o json | jq .events[].reason`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.events(cmd.Context(), e) },
	}
	flags := cmd.Flags()
	grouped(flags, "Which", func(flags *pflag.FlagSet) {
		flags.BoolVarP(&e.follow, "follow", "f", false, "go on with those that come")
		flags.StringVar(&e.since, "since", "", "since `when`: 1h or 7d ago, 18:00, 2027-01-31T18:00")
		flags.StringVar(&e.dependency, "dependency", "", "only of this one, an `id`")
		flags.StringVar(&e.kind, "kind", "", "a `kind`: "+strings.Join(eventKinds, ", "))
		flags.IntVarP(&e.limit, "limit", "n", 100, "the latest `number`")
	})
	e.printing.flags(flags, formTable, formJSON, formYAML)
	e.connection.flags(flags)
	_ = cmd.RegisterFlagCompletionFunc("dependency", e.complete(idsOnly))
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(eventKinds, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (p *program) events(ctx context.Context, e eventsRun) error {
	query, err := e.query(time.Now())
	if err != nil {
		return err
	}
	api, err := e.open()
	if err != nil {
		return err
	}
	all, more, err := past(ctx, api, "events", "events", query, e.limit, func(event client.Event) int64 { return event.ID })
	if err != nil {
		return err
	}
	if more && e.since != "" {
		fmt.Fprintf(p.stderr, "These are the latest %d; raise --limit for more.\n", len(all))
	}
	if !e.follow && e.form != formTable {
		return document(p.stdout, e.form, "events", all)
	}
	v := e.look(p.stdout)
	for _, event := range all {
		if err := p.event(e, v, event.Value, event.Raw); err != nil {
			return err
		}
	}
	if !e.follow {
		return nil
	}
	var last int64
	if len(all) > 0 {
		last = all[len(all)-1].Value.ID
	}
	return p.follow(ctx, api, e, v, last)
}

// past returns the latest entries of a list that the API has pages of, the latest
// last, and whether there are more.
func past[T any](ctx context.Context, api *client.Client, path, name string, query url.Values, limit int, id func(T) int64) (all []client.Entry[T], more bool, err error) {
	if limit < 1 {
		return nil, false, badUsage("--limit is 1 or more, not %d", limit)
	}
	const page = 1000 // is all that the API gives at once
	for left := limit; left > 0; left = limit - len(all) {
		query.Set("limit", strconv.Itoa(min(left, page)))
		answer, err := api.Get(ctx, path, query)
		if err != nil {
			return nil, false, err
		}
		some, err := client.List[T](answer, name)
		if err != nil {
			return nil, false, err
		}
		var next struct {
			Next int64 `json:"next"`
		}
		if err := answer.Into(&next); err != nil {
			return nil, false, err
		}
		all = append(all, some...)
		if more = next.Next > 0; !more || len(some) == 0 {
			break
		}
		query.Set("before", strconv.FormatInt(next.Next, 10))
	}
	slices.SortStableFunc(all, func(a, b client.Entry[T]) int { return cmp.Compare(id(a.Value), id(b.Value)) })
	return all, more, nil
}

// query says to the API which events are meant.
func (e eventsRun) query(now time.Time) (url.Values, error) {
	switch {
	case e.check() != nil:
		return nil, e.check()
	case e.kind != "" && !slices.Contains(eventKinds, e.kind):
		return nil, badUsage("--kind is %s, not %q", either(eventKinds), e.kind)
	case e.follow && e.form == formYAML:
		return nil, badUsage("--follow writes lines, with -o json an event each; not yaml")
	}
	query := url.Values{}
	for name, value := range map[string]string{"dependency": e.dependency, "kind": e.kind} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query, sinceOf(query, e.since, now)
}

// sinceOf adds since when, if that was said.
func sinceOf(query url.Values, text string, now time.Time) error {
	if text == "" {
		return nil
	}
	since, err := ago(text, now)
	if err == nil {
		query.Set("since", since.UTC().Format(time.RFC3339))
	}
	return err
}

// ago reads how long ago something was, or when. A time of day is the last one.
func ago(text string, now time.Time) (time.Time, error) {
	if d, err := length("since", text); err == nil {
		return now.Add(-d), nil
	}
	at, err := moment("since", text, now)
	if err != nil {
		return at, badUsage("--since is how long ago, such as 45m or 7d, or when: 18:00 or 2027-01-31T18:00, not %q", text)
	}
	if at.After(now) && at.Sub(now) <= 24*time.Hour {
		at = at.AddDate(0, 0, -1)
	}
	return at, nil
}

// follow writes each event that comes until ctx is done, which is a good end.
func (p *program) follow(ctx context.Context, api *client.Client, e eventsRun, v view, last int64) error {
	lost := func(err error) { fmt.Fprintf(p.stderr, "%s; trying again\n", inWords(err)) }
	for m, err := range api.Stream(ctx, last, lost) {
		if err != nil {
			return err
		}
		var event client.Event
		if json.Unmarshal(m.Data, &event) != nil || event.ID == 0 || event.ID <= last { // something else that is streamed
			continue
		}
		last = event.ID
		if e.kind != "" && event.Kind != e.kind || e.dependency != "" && event.Dependency != e.dependency {
			continue
		}
		if err := p.event(e, v, event, m.Data); err != nil {
			return err
		}
	}
	return nil
}

// event writes one, as a line.
func (p *program) event(e eventsRun, v view, event client.Event, raw []byte) error {
	if e.form == formJSON {
		_, err := fmt.Fprintf(p.stdout, "%s\n", compact(raw))
		return err
	}
	sign := cell{" ", ""}
	if event.To != "" {
		sign = mark(felt(event.To, event.Shadow))
		sign.text = v.line(sign.text)
	}
	line := sign.text + " " + v.line(eventText(event))
	if v.colour && sign.colour != "" {
		line = "\x1b[" + sign.colour + "m" + line + "\x1b[0m"
	}
	_, err := fmt.Fprintf(p.stdout, "%s  %s\n", event.At.UTC().Format(time.RFC3339), line)
	return err
}

// eventText is the gateway's own line, or what its fields say.
func eventText(e client.Event) string {
	if e.Text != "" {
		rest, named := strings.CutPrefix(e.Text, e.Dependency)
		if e.Dependency != "" && (!named || rest != "" && !strings.ContainsAny(rest[:1], ":, ")) {
			return e.Dependency + ": " + e.Text
		}
		return e.Text
	}
	parts := []string{e.Kind}
	if e.Dependency != "" {
		parts[0] = e.Dependency + ": " + e.Kind
	}
	if e.To != "" {
		parts = append(parts, e.From+" -> "+e.To)
	}
	for _, more := range []string{e.Reason, e.Cause, e.Note} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	if e.By != "" {
		parts = append(parts, "by "+e.By)
	}
	return strings.Join(parts, ", ")
}
