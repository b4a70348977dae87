package panel

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
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
// What is shown beside it is left out: that calls pass, and the last failure.
func whyOfEvent(e admin.Event) string {
	_, why, ok := strings.Cut(e.Text, "): ")
	if !ok {
		return e.Reason
	}
	why, _, _ = strings.Cut(why, "; last failure: ")
	return strings.TrimSuffix(why, "; shadow: calls pass")
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
	return stateIn(e.To, e.Shadow)
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

	untried bool // what the rules say rests on an isolation: no call has shown anything since
}

// segments returns the states of a dependency from one moment to another, without
// gaps. The last one is that which it has now.
func (p *past) segments(d *admin.Dependency, from, to time.Time) []segment {
	var all []segment
	at := from
	add := func(s segment, until time.Time) {
		if until.After(at) {
			s.From, s.To = at, until
			all = append(all, s)
			at = until
		}
	}
	var is segment
	begun := false
	begin := func(first segment) { // it was so since the history began
		if !begun {
			add(segment{S: stateOf(unknown)}, earlier(p.from, to))
			is, begun = first, true
		}
	}
	for _, e := range p.of[d.ID] {
		begin(segment{S: stateIn(e.From, e.Shadow), untried: e.From == isolated})
		if !e.At.Before(to) {
			break
		}
		add(is, e.At)
		is = after(is, e)
	}
	begin(segment{S: stateIn(d.State, d.Shadow), untried: d.State == halfOpen && d.OutSince == nil})
	add(is, to)
	return p.withoutOff(all)
}

// after returns what an event begins. An isolation that is over leaves a trial behind,
// which waits for a call for as long as none comes.
func after(was segment, e admin.Event) segment {
	s := segment{S: stateOfEvent(e), Why: e.Text}
	switch e.To {
	case isolated:
		s.untried = true
	case halfOpen:
		s.untried = was.untried
	case heldClosed: // what the rules say meanwhile comes as an event, too
		s.untried = was.untried && (e.From != heldClosed || e.Reason == string(recloser.ReasonHeldClosed))
	}
	return s
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
				before := s
				before.To = off.from
				cut = append(cut, before)
			}
			cut = append(cut, segment{S: stateOf(unknown), From: later(s.From, off.from), To: earlier(s.To, off.to), Why: "no gateway ran"})
			if s.To.After(off.to) {
				s.From = off.to
				cut = append(cut, s)
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
