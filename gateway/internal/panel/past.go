package panel

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

// past is what happened to dependencies in a time, oldest first.
type past struct {
	from   time.Time // what was before is not known: the history begins here, or more was not read
	events []admin.Event
	of     map[string][]admin.Event // the same, by dependency
	off    []interval               // when no gateway ran
}

func newPast(from time.Time, events []admin.Event, off []interval) *past {
	p := &past{from: from, events: events, of: make(map[string][]admin.Event), off: off}
	for _, e := range events {
		p.of[e.Dependency] = append(p.of[e.Dependency], e)
	}
	return p
}

type interval struct{ from, to time.Time }

// mostEvents is how many are read for one page.
const mostEvents = 20_000

// readPast reads changes of state between two moments; id is "" for all dependencies.
func readPast(ctx context.Context, read *admin.Reader, id string, from, to time.Time) (*past, error) {
	begin, err := historyBegins(ctx, read)
	if err != nil {
		return nil, err
	}
	page := admin.Page{Since: from, Until: to, Limit: 1000}
	events, whole, err := readEvents(ctx, read, admin.EventsQuery{Dependency: id, Kind: "transition", Page: page})
	if err != nil {
		return nil, err
	}
	ofGateway, _, err := readEvents(ctx, read, admin.EventsQuery{Kind: "gateway", Page: page})
	if err != nil {
		return nil, err
	}
	known := later(from, begin)
	if !whole && len(events) > 0 {
		known = events[0].At
	}
	events = slices.DeleteFunc(events, ofKey)
	return newPast(known, events, offTimes(ofGateway)), nil
}

// ofKey reports whether an event is about one key among many, which says nothing about
// the whole.
func ofKey(e admin.Event) bool { return strings.HasPrefix(e.Text, e.Dependency+", key ") }

// whyOfEvent is the reason of a change, in words.
func whyOfEvent(e admin.Event) string {
	if _, why, ok := strings.Cut(e.Text, "): "); ok {
		return why
	}
	return e.Reason
}

// readEvents returns the events oldest first, and whether those are all.
func readEvents(ctx context.Context, read *admin.Reader, q admin.EventsQuery) (all []admin.Event, whole bool, err error) {
	for len(all) < mostEvents {
		list, err := read.Events(ctx, q)
		if err != nil {
			return nil, false, err
		}
		all = append(all, list.Events...)
		if q.Before = list.Next; q.Before == 0 {
			whole = true
			break
		}
	}
	slices.Reverse(all)
	return all, whole, nil
}

// historyBegins returns when the first thing happened that is still known.
func historyBegins(ctx context.Context, read *admin.Reader) (time.Time, error) {
	list, err := read.Events(ctx, admin.EventsQuery{Page: admin.Page{After: 1, Limit: 1}})
	if err != nil || len(list.Events) == 0 {
		return time.Time{}, err
	}
	return list.Events[0].At, nil
}

// offTimes finds when no gateway ran, as far as one said that it stopped.
func offTimes(events []admin.Event) (off []interval) {
	var stopped time.Time
	for _, e := range events {
		switch {
		case strings.HasPrefix(e.Text, "stopped"):
			stopped = e.At
		case strings.HasPrefix(e.Text, "started") && !stopped.IsZero():
			off = append(off, interval{stopped, e.At})
			stopped = time.Time{}
		}
	}
	return off
}

func stateOfEvent(e admin.Event) state {
	if e.To == isolated && maintenance.Acted(e.By) {
		return stateOf(inMaintenance)
	}
	return stateOf(e.To)
}

// closedBetween reports whether what tripped had closed again by then.
func (p *past) closedBetween(trip admin.Event, by time.Time) bool {
	return slices.ContainsFunc(p.of[trip.Dependency], func(e admin.Event) bool {
		return e.To == closed && e.At.After(trip.At) && !e.At.After(by)
	})
}

// segment is a time in one state.
type segment struct {
	S        state
	From, To time.Time
	Why      string
}

// segments returns the states of a dependency from one moment to another, without
// gaps. State and begin of the last one are those it has now.
func (p *past) segments(d *admin.Dependency, from, to time.Time) []segment {
	var all []segment
	at, now := from, unknown
	if !p.from.After(from) {
		now = ""
	}
	add := func(key string, why string, until time.Time) {
		if until.After(at) {
			all = append(all, segment{S: stateOf(key), From: at, To: until, Why: why})
			at = until
		}
	}
	current, why := now, ""
	for _, e := range p.of[d.ID] {
		if e.At.Before(from) || !e.At.Before(to) {
			continue
		}
		if current == "" {
			current = e.From
		}
		if current == unknown && e.At.After(p.from) { // it was so since the history began
			add(unknown, "", p.from)
			current = e.From
		}
		add(current, why, e.At)
		current, why = stateOfEvent(e).Key, e.Text
	}
	switch current {
	case "":
		current = d.State
	case unknown:
		add(unknown, "", p.from)
		current = d.State
	}
	add(current, why, to)
	return p.withoutOff(all)
}

// withoutOff cuts out of segments when no gateway ran: nobody knows then.
func (p *past) withoutOff(all []segment) []segment {
	for _, off := range p.off {
		var cut []segment
		for _, s := range all {
			if !s.From.Before(off.to) || !s.To.After(off.from) {
				cut = append(cut, s)
				continue
			}
			if s.From.Before(off.from) {
				cut = append(cut, segment{s.S, s.From, off.from, s.Why})
			}
			cut = append(cut, segment{stateOf(unknown), later(s.From, off.from), earlier(s.To, off.to), "no gateway ran"})
			if s.To.After(off.to) {
				cut = append(cut, segment{s.S, off.to, s.To, s.Why})
			}
		}
		all = cut
	}
	return all
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
