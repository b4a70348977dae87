package incident

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// Look does what is due by the clock, and returns what people are to be told now.
// Call it after Observe, and again when Next says so.
func (s *Incidents) Look(now time.Time) []message.Message {
	if s.began.IsZero() {
		s.began = now
	}
	if len(s.records) == 0 {
		return nil // as nearly always
	}
	watched := s.world.Dependencies()
	known := make(map[string]Dependency, len(watched))
	for _, d := range watched {
		known[d.ID] = d
	}
	for id, r := range s.records {
		d, there := known[id]
		switch {
		case !there:
			s.remove(id, r, now)
		case !s.world.Covers(id):
			r.Name, r.Group, r.lastKnown = d.Name, d.Group, d.LastKnown
			s.advance(id, r, now)
		default:
			s.cover(id, r, now)
		}
	}
	var all []message.Message
	for _, k := range message.Kinds() {
		if m, ok := s.gather(k, now); ok {
			m.Of = len(watched)
			if k == message.Started {
				m.Nodes = s.world.AllInDoubt()
				m.Us = m.Nodes > 0 || message.Many(len(m.Items), m.Of) || s.world.Us() || slices.ContainsFunc(m.Items, byUs)
			}
			all = append(all, m)
		}
	}
	for id, r := range s.records {
		if r.blank() {
			delete(s.records, id)
			s.changed[id] = struct{}{}
		}
	}
	return all
}

func byUs(i message.Item) bool { return i.Why.Reason == recloser.ReasonUs }

// cover keeps still about one dependency.
func (s *Incidents) cover(id string, r *record, now time.Time) {
	if i := r.Incident; i != nil && i.remind(now) { // its time passes
		s.changed[id] = struct{}{}
	}
	// A maintenance says that it is in force only after it has isolated.
	if o := r.Override; o != nil && r.drop(isByHand) {
		o.Quiet = true
		s.changed[id] = struct{}{}
	}
}

// advance does what is due of one dependency.
func (s *Incidents) advance(id string, r *record, now time.Time) {
	before := len(r.Began)
	if r.forget(now); len(r.Began) != before {
		s.changed[id] = struct{}{}
	}
	if r.unseen && now.Sub(s.began) >= settle {
		s.reconcile(id, r, now)
	}
	if r.Incident == nil && r.Override == nil && r.State == recloser.Open {
		s.begin(id, r, now, now) // it was cut off during a maintenance
		s.changed[id] = struct{}{}
	}
	s.advanceIncident(id, r, now)
	s.advanceOverride(id, r, now)
	if !r.Flapping.IsZero() && r.Incident == nil && r.State == recloser.Closed && now.Sub(r.Well) >= flapsCalm {
		r.Flapping, r.Began = time.Time{}, nil
		s.changed[id] = struct{}{}
		if !r.drop(func(d due) bool { return d.Kind == message.Flapping }) {
			r.tell(message.Calm, now, message.Item{Key: id + "-flapping", State: r.State, Over: r.Well})
		}
	}
}

func (s *Incidents) advanceIncident(id string, r *record, now time.Time) {
	i := r.Incident
	if i != nil && (r.State == recloser.Open || r.State == recloser.HalfOpen) {
		s.see(id, i)
	}
	switch {
	case i == nil:
	case !i.Closed.IsZero() && now.Sub(i.Closed) >= s.rules.Calm:
		s.changed[id] = struct{}{}
		item := s.item(id, i)
		item.State, item.Over, item.Now = r.State, i.Closed, i.Now
		r.Incident, r.Well = nil, i.Closed
		r.drop(func(d due) bool { return d.Kind == message.Started || d.Kind == message.Reminder })
		if !i.Silent {
			r.tell(message.Ended, now, item)
		}
	case i.remind(now):
		s.changed[id] = struct{}{}
		if (r.State == recloser.Open || r.State == recloser.HalfOpen) && (i.Told || i.Silent) {
			r.tell(message.Reminder, now, message.Item{Key: i.Key})
		}
	}
}

// see keeps which nodes have seen it fail, also when it is over. Where all together have
// cut it off, it does not matter that one is cut off longer by its own rules.
func (s *Incidents) see(id string, i *incident) {
	seen, none := s.world.Seen(id), fleet.Seen{}
	if seen == none || seen == i.Seen || seen.Own && i.Seen != none && !i.Seen.Own {
		return
	}
	i.Seen = seen
	s.changed[id] = struct{}{}
}

// remind reports whether a reminder is due, and plans the next one.
func (i *incident) remind(now time.Time) (due bool) {
	for !now.Before(i.Remind) { // once, however long nobody looked
		i.Every *= 2
		i.Remind = i.Remind.Add(i.Every)
		due = true
	}
	return due
}

func (s *Incidents) advanceOverride(id string, r *record, now time.Time) {
	o := r.Override
	switch {
	case o == nil || o.Quiet:
	case o.Until.IsZero() && !now.Before(o.Daily):
		for !now.Before(o.Daily) {
			o.Daily = o.Daily.Add(daily)
		}
		r.tell(message.Endless, now, o.item())
		s.changed[id] = struct{}{}
	case !o.Until.IsZero() && !o.Warned && o.Until.Sub(o.Since) > warnBefore && !now.Before(o.Until.Add(-warnBefore)):
		o.Warned = true
		r.tell(message.Ending, now, o.item())
		s.changed[id] = struct{}{}
	}
}

// reconcile asks how a dependency is whose breaker has said nothing since a restart.
func (s *Incidents) reconcile(id string, r *record, now time.Time) {
	is := s.world.Stats(id)
	r.unseen = false
	if is.State == r.State {
		return
	}
	s.changed[id] = struct{}{}
	why := message.Why{From: r.State, To: is.State, At: now, Reason: recloser.ReasonRestored}
	r.State = is.State
	if r.Override != nil && is.Override == nil {
		r.released(why, now, now)
	}
	if r.Incident != nil && is.State == recloser.Closed {
		r.Incident.Closed, r.Incident.Now = now, why
	}
}

// remove forgets a dependency that is no longer there.
func (s *Incidents) remove(id string, r *record, now time.Time) {
	i := r.Incident
	r.drop(func(d due) bool { return d.Kind != message.Removed })
	if i != nil && i.Told {
		item := s.item(id, i)
		item.Over = now
		r.tell(message.Removed, now, item)
	}
	if i != nil || r.Override != nil || len(r.Began) > 0 || !r.Flapping.IsZero() {
		s.changed[id] = struct{}{}
	}
	r.State, r.Incident, r.Override, r.Began, r.Flapping = recloser.Closed, nil, nil, nil, time.Time{}
}

// item is what is told of an incident.
func (s *Incidents) item(id string, i *incident) message.Item {
	spared := s.refused(id)
	if spared < i.Refused { // it counts from the start of the process
		i.Refused = 0
	}
	return message.Item{Key: i.Key, State: recloser.Open, Since: i.Began, Trips: i.Trips, Why: i.Why, Seen: i.Seen, Spared: spared - i.Refused}
}

// gather makes one message of what is due of a kind, once it has been quiet.
func (s *Incidents) gather(k message.Kind, now time.Time) (message.Message, bool) {
	if at := s.dueAt(k); at.IsZero() || now.Before(at) {
		return message.Message{}, false
	}
	m := message.Message{Kind: k, At: now}
	for id, r := range s.records {
		if s.held(id, r) {
			continue
		}
		var item message.Item
		for _, d := range r.Due {
			if d.Kind == k {
				item = d.Item // the last one, should there be more
			}
		}
		if !r.drop(func(d due) bool { return d.Kind == k }) {
			continue
		}
		s.changed[id] = struct{}{}
		if i := r.Incident; i != nil && (k == message.Started || k == message.Reminder || k == message.Flapping) {
			i.Told = true
			item = s.item(id, i)
			item.State = r.State
			if is := s.world.Stats(id); is.State == recloser.Open {
				item.Next = is.Until
				if held := s.world.HeldUntil(id); held.After(is.Until) {
					item.Next = held
				}
			}
			if k == message.Flapping {
				item.Trips = len(r.Began)
			}
		}
		m.Items = append(m.Items, s.named(id, r, item))
	}
	slices.SortFunc(m.Items, func(a, b message.Item) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Dependency, b.Dependency))
	})
	if len(m.Items) > 0 {
		m.ID = fmt.Sprintf("%s/%s/%d", m.Items[0].Key, k, now.UnixMilli())
	}
	return m, len(m.Items) > 0
}

// named says whose an item is, and whether calls pass all the same.
func (s *Incidents) named(id string, r *record, i message.Item) message.Item {
	i.Dependency, i.Name, i.Group, i.LastKnown = id, cmp.Or(r.Name, id), r.Group, r.lastKnown
	i.Shadow = s.world.Stats(id).Shadow
	return i
}

// held reports whether nobody is told anything about a dependency at the moment.
func (s *Incidents) held(id string, r *record) bool { return len(r.Due) > 0 && s.world.Covers(id) }

// dueAt returns when a message of a kind is due; zero: there is none.
func (s *Incidents) dueAt(k message.Kind) time.Time {
	var first, last time.Time
	for id, r := range s.records {
		for _, d := range r.Due {
			if d.Kind != k || s.held(id, r) {
				continue
			}
			if first.IsZero() || d.Since.Before(first) {
				first = d.Since
			}
			if d.Since.After(last) {
				last = d.Since
			}
		}
	}
	if first.IsZero() {
		return first
	}
	if quietAt := last.Add(quiet); quietAt.Before(first.Add(longest)) {
		return quietAt
	}
	return first.Add(longest)
}

// blank reports whether nothing is known that is worth keeping.
func (r *record) blank() bool {
	return r.State == recloser.Closed && r.Incident == nil && r.Override == nil && len(r.Began) == 0 && r.Flapping.IsZero() && len(r.Due) == 0
}

// Next returns when Look has something to do, at the latest a second from now.
func (s *Incidents) Next(now time.Time) time.Time {
	next := now.Add(time.Second)
	for _, k := range message.Kinds() {
		if at := s.dueAt(k); !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}
