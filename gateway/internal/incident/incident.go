// Package incident turns what breakers do into few, clear messages. It is a pure
// state machine: it is told transitions and the time, and says what is due. What it
// knows of each dependency can be written down and read again, so that a restart
// neither tells anything twice nor forgets it.
package incident

import (
	"fmt"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// Rules say when people are told.
type Rules struct {
	Calm     time.Duration // an incident is over once its dependency has stayed closed for that long; default 60 s
	Reminder time.Duration // after the start of an incident that lasts, then doubling; default 1 h
}

const (
	quiet   = 3 * time.Second  // a message waits until nothing of its kind has come for that long,
	longest = 20 * time.Second // and no longer than that

	flapsIn   = time.Hour
	flaps     = 4 // so many incidents within flapsIn are flapping
	flapsCalm = 15 * time.Minute

	warnBefore = 10 * time.Minute // the end of an override
	daily      = 24 * time.Hour   // of an override without end

	settle = 5 * time.Second // after a start, until the breakers have said how they are
)

// Dependency is one that is watched.
type Dependency struct {
	ID, Name, Group string
	LastKnown       time.Duration // while it is cut off callers get an answer of the past that is no older; 0: they do not
}

// World is what is asked of the rest. Its functions must be safe to call at any
// time.
type World struct {
	Dependencies func() []Dependency
	Stats        func(id string) recloser.Stats
	Limits       func(id string) message.Limits
	Covers       func(id string) bool       // a maintenance is in force: nobody is told anything
	Us           func() bool                // it is rather our own network
	AllInDoubt   func() int                 // so it is at all nodes of a fleet: how many there are; 0: it is not so
	Seen         func(id string) fleet.Seen // which nodes have seen it fail
	HeldUntil    func(id string) time.Time  // how long bad probes hold its trials back; zero: they do not
}

// Incidents are those of all dependencies. It is for one goroutine.
type Incidents struct {
	rules   Rules
	world   World
	records map[string]*record
	changed map[string]struct{}
	began   time.Time // first Look
}

// record is what is known of one dependency. It is written down as JSON.
type record struct {
	Name     string         `json:"name"`
	Group    string         `json:"group,omitempty"`
	State    recloser.State `json:"state"`
	Why      message.Why    `json:"why,omitzero"` // it was last cut off by the rules
	Incident *incident      `json:"incident,omitempty"`
	Override *override      `json:"override,omitempty"`
	Began    []time.Time    `json:"began,omitempty"` // incidents of the last hour
	Flapping time.Time      `json:"flapping,omitzero"`
	Well     time.Time      `json:"well,omitzero"` // since the last incident ended
	Due      []due          `json:"due,omitempty"`

	lastKnown time.Duration // of its Dependency
	unseen    bool          // since a restart
}

// incident lasts from the first trip until the dependency has stayed closed.
type incident struct {
	Key     string        `json:"key"`
	Began   time.Time     `json:"began"`
	Why     message.Why   `json:"why"`
	Trips   int           `json:"trips"`
	Refused uint64        `json:"refused"`         // by its breaker, until it began
	Closed  time.Time     `json:"closed,omitzero"` // since when it is closed; zero: it is not
	Now     message.Why   `json:"now,omitzero"`    // it closed
	Silent  bool          `json:"silent,omitempty"`
	Told    bool          `json:"told,omitempty"`
	Seen    fleet.Seen    `json:"seen,omitzero"` // the last that was to be said of it
	Remind  time.Time     `json:"remind"`
	Every   time.Duration `json:"every"`
}

// override is what an operator has set.
type override struct {
	Key    string         `json:"key"`
	State  recloser.State `json:"state"`
	Since  time.Time      `json:"since"`
	Until  time.Time      `json:"until,omitzero"`
	Why    message.Why    `json:"why"`
	Quiet  bool           `json:"quiet,omitempty"`  // it was set by a maintenance
	Warned bool           `json:"warned,omitempty"` // of its end
	Daily  time.Time      `json:"daily,omitzero"`   // next reminder
}

// due is something that people are to be told.
type due struct {
	Kind  message.Kind `json:"kind"`
	Since time.Time    `json:"since"`
	Item  message.Item `json:"item"`
}

// New returns one that knows nothing yet.
func New(r Rules, w World) *Incidents {
	return &Incidents{rules: r, world: w, records: make(map[string]*record), changed: make(map[string]struct{})}
}

// SetRules has other rules hold from now on. Reminders of an incident that lasts stay as
// they are planned.
func (s *Incidents) SetRules(r Rules) { s.rules = r }

// TellAgain has people told of the incidents that run, as if they had just begun:
// nobody was there to be told before.
func (s *Incidents) TellAgain(now time.Time) {
	for id, r := range s.records {
		if i := r.Incident; i != nil && !i.Silent {
			r.tell(message.Started, now, message.Item{Key: i.Key})
			s.changed[id] = struct{}{}
		}
	}
}

// Observe takes a transition of a dependency's breaker.
func (s *Incidents) Observe(t recloser.Transition, now time.Time) {
	id := t.Name
	if t.From == recloser.Isolated && t.To == recloser.Open && t.Reason == recloser.ReasonExpired {
		t.To = recloser.HalfOpen // nothing has tripped: trials are next, once the fleet says so
	}
	r := s.records[id]
	if r == nil {
		r = &record{Name: id}
		s.records[id] = r
	}
	s.changed[id] = struct{}{}
	r.unseen = false
	r.State = t.To
	covered := s.world.Covers(id)
	s.setByHand(id, r, t, covered, now)
	switch t.To {
	case recloser.Open:
		r.Why = message.WhyOf(t)
		r.Why.Limits = s.world.Limits(id)
		switch i := r.Incident; {
		case i != nil:
			i.Closed = time.Time{}
			if t.From == recloser.Closed && t.Reason != recloser.ReasonRestored {
				i.Trips++
			}
		case !covered:
			s.begin(id, r, t.At, now)
		}
	case recloser.Closed:
		if i := r.Incident; i != nil {
			i.Closed, i.Now = t.At, message.WhyOf(t)
		}
	case recloser.HalfOpen, recloser.Isolated, recloser.HeldClosed:
		if i := r.Incident; i != nil {
			i.Closed = time.Time{}
		}
	}
}

// begin opens an incident.
func (s *Incidents) begin(id string, r *record, at, now time.Time) {
	r.Incident = &incident{
		Key: key(id, at), Began: at, Why: r.Why, Trips: 1, Refused: s.refused(id),
		Every: s.rules.Reminder, Remind: at.Add(s.rules.Reminder),
	}
	r.Began = append(r.Began, at)
	r.forget(now)
	kind := message.Started
	if !r.Flapping.IsZero() {
		r.Incident.Silent = true
		return
	}
	if len(r.Began) >= flaps {
		r.Flapping, r.Incident.Silent = now, true
		kind = message.Flapping
	}
	r.tell(kind, now, message.Item{Key: r.Incident.Key})
}

// forget drops incidents that began too long ago to count.
func (r *record) forget(now time.Time) {
	for len(r.Began) > 0 && now.Sub(r.Began[0]) >= flapsIn {
		r.Began = r.Began[1:]
	}
}

// setByHand follows what operators set.
func (s *Incidents) setByHand(id string, r *record, t recloser.Transition, covered bool, now time.Time) {
	byHand := t.To == recloser.Isolated || t.To == recloser.HeldClosed
	o := r.Override
	switch {
	case byHand && (o == nil || t.Reason == recloser.ReasonIsolated || t.Reason == recloser.ReasonHeldClosed):
		fresh := &override{Key: key(id, t.At) + "-by-hand", State: t.To, Since: t.At, Why: message.WhyOf(t), Quiet: covered, Daily: t.At.Add(daily)}
		if set := s.world.Stats(id).Override; set != nil && set.State == t.To {
			fresh.Until = set.Until
			if fresh.Why.By == "" { // it was there before a restart
				fresh.Why.By, fresh.Why.Note = set.By, set.Why
			}
		}
		r.Override = fresh
		r.drop(isByHand)
		if !fresh.Quiet {
			kind := message.Isolated
			if t.To == recloser.HeldClosed {
				kind = message.Held
			}
			r.tell(kind, now, fresh.item())
		}
	case !byHand && o != nil:
		r.released(message.WhyOf(t), t.At, now)
	}
}

// released ends an override. If nobody was told yet that it was set, nobody is
// told that it is over.
func (r *record) released(why message.Why, at, now time.Time) {
	o := r.Override
	r.Override = nil
	untold := r.drop(isByHand)
	if !o.Quiet && !untold {
		item := o.item()
		item.State, item.Over, item.Now = why.To, at, why
		r.tell(message.Released, now, item)
	}
}

func isByHand(d due) bool {
	switch d.Kind {
	case message.Isolated, message.Held:
		return true
	default:
		return false
	}
}

func (o *override) item() message.Item {
	return message.Item{Key: o.Key, State: o.State, Since: o.Since, Until: o.Until, Why: o.Why}
}

// key is the same from the start of an incident to its end.
func key(id string, at time.Time) string { return fmt.Sprintf("%s@%d", id, at.UnixMilli()) }

func (s *Incidents) refused(id string) (n uint64) {
	for _, of := range s.world.Stats(id).Refused {
		n += of
	}
	return n
}

// tell notes that something is due.
func (r *record) tell(k message.Kind, now time.Time, i message.Item) {
	r.Due = append(r.Due, due{k, now, i})
}

// drop takes back what is due, and reports whether anything was.
func (r *record) drop(which func(due) bool) bool {
	kept := r.Due[:0]
	for _, d := range r.Due {
		if !which(d) {
			kept = append(kept, d)
		}
	}
	dropped := len(kept) < len(r.Due)
	r.Due = kept
	return dropped
}
