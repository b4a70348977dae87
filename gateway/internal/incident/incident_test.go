package incident

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

const (
	closed, open, halfOpen = recloser.Closed, recloser.Open, recloser.HalfOpen
	isolated, heldClosed   = recloser.Isolated, recloser.HeldClosed
)

var start = time.Date(2026, 11, 29, 20, 7, 22, 0, time.UTC)

// world is made of breakers that do as they are told, on time of its own.
type world struct {
	t         *testing.T
	s         *Incidents
	now       time.Time
	deps      []Dependency
	stats     map[string]recloser.Stats
	covered   map[string]bool
	us        bool
	doubt     int
	seen      map[string]fleet.Seen
	heldUntil map[string]time.Time
	told      []message.Message
	kept      map[string]Kept
}

func newWorld(t *testing.T, n int) *world {
	t.Helper()
	w := &world{t: t, now: start, stats: map[string]recloser.Stats{}, covered: map[string]bool{}, kept: map[string]Kept{}, seen: map[string]fleet.Seen{}}
	for i := range n {
		id := fmt.Sprintf("h%d", i+1)
		w.deps = append(w.deps, Dependency{ID: id, Name: id})
	}
	w.restart()
	return w
}

// restart goes on with what was written down.
func (w *world) restart() {
	w.s = New(Rules{Calm: time.Minute, Reminder: time.Hour}, World{
		Dependencies: func() []Dependency { return w.deps },
		Stats:        func(id string) recloser.Stats { return w.stats[id] },
		Limits:       func(string) message.Limits { return message.Limits{Row: 5} },
		Covers:       func(id string) bool { return w.covered[id] },
		Us:           func() bool { return w.us },
		AllInDoubt:   func() int { return w.doubt },
		Seen:         func(id string) fleet.Seen { return w.seen[id] },
		HeldUntil:    func(id string) time.Time { return w.heldUntil[id] },
	})
	for _, k := range w.kept {
		if err := w.s.Restore(k); err != nil {
			w.t.Fatal(err)
		}
	}
}

// look does what is due now.
func (w *world) look() {
	w.told = append(w.told, w.s.Look(w.now)...)
	for _, k := range w.s.Changed() {
		w.kept[k.ID] = k
		if k.Value == nil {
			delete(w.kept, k.ID)
		}
	}
}

// pass lets time pass, and looks whenever something is due.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); ; {
		w.look()
		if !w.now.Before(end) {
			return
		}
		next := w.s.Next(w.now)
		if !next.After(w.now) {
			w.t.Fatalf("at %v the next look is at %v", w.now, next)
		}
		if d > time.Hour && next.Sub(w.now) == time.Second { // nothing is due: so many looks take their time
			next = w.now.Add(10 * time.Second)
		}
		w.now = next
		if next.After(end) {
			w.now = end
		}
	}
}

// goes has a breaker change its state.
func (w *world) goes(id string, to recloser.State, reason recloser.Reason) {
	s := w.stats[id]
	t := recloser.Transition{Name: id, From: s.State, To: to, At: w.now, Reason: reason}
	s.State = to
	w.stats[id] = s
	w.s.Observe(t, w.now)
	w.look()
}

func (w *world) trips(id string) { w.goes(id, open, recloser.ReasonRun) }

func (w *world) recovers(id string) {
	w.goes(id, halfOpen, recloser.ReasonTime)
	w.goes(id, closed, recloser.ReasonTrialsGood)
}

// byHand has an operator set something.
func (w *world) byHand(id string, to recloser.State, until time.Time) {
	reason := recloser.ReasonIsolated
	if to == heldClosed {
		reason = recloser.ReasonHeldClosed
	}
	s := w.stats[id]
	s.Override = &recloser.Override{State: to, By: "ann", Why: "new boiler", Since: w.now, Until: until}
	w.stats[id] = s
	w.goes(id, to, reason)
}

func (w *world) release(id string, to recloser.State) {
	s := w.stats[id]
	s.Override = nil
	w.stats[id] = s
	w.goes(id, to, recloser.ReasonReleased)
}

// want compares what was told since the last time.
func (w *world) want(titles ...string) {
	w.t.Helper()
	var got []string
	for _, m := range w.told {
		got = append(got, m.Title())
	}
	if !slices.Equal(got, titles) {
		w.t.Errorf("told %q, want %q", got, titles)
	}
	w.told = nil
}

func TestOneIncidentFromTripToCalm(t *testing.T) {
	w := newWorld(t, 9)
	w.trips("h1")
	w.pass(2999 * time.Millisecond)
	w.want()
	w.pass(time.Millisecond)
	w.want("h1 is cut off")
	for range 5 { // failed trials are no news
		w.pass(5 * time.Second)
		w.goes("h1", halfOpen, recloser.ReasonTime)
		w.goes("h1", open, recloser.ReasonTrialFailed)
	}
	w.recovers("h1")
	w.pass(62 * time.Second)
	w.want()
	w.pass(time.Second)
	w.want("h1 is back")
	w.pass(3 * time.Hour)
	w.want()
	if len(w.kept) != 0 {
		t.Errorf("still kept: %s", w.kept)
	}
}

// G14: 2 s up / 2 s down for 30 s: at most 2 messages.
func TestG14UpAndDown(t *testing.T) {
	w := newWorld(t, 9)
	for range 8 {
		w.trips("h1")
		w.pass(2 * time.Second)
		w.recovers("h1")
		w.pass(2 * time.Second)
	}
	w.pass(time.Hour)
	if len(w.told) != 2 || w.told[1].Items[0].Trips != 8 {
		t.Errorf("%+v", w.told)
	}
	w.want("h1 was cut off", "h1 is back")
}

// G15: ten of ten within 5 s: one message with the own-network hint. G31: all come
// back together, which is one message as well.
func TestG15AllAtOnce(t *testing.T) {
	w := newWorld(t, 10)
	for i := range 10 {
		w.trips(w.deps[i].ID)
		w.pass(500 * time.Millisecond)
	}
	w.pass(10 * time.Second)
	if len(w.told) != 1 || !strings.Contains(w.told[0].String(), "look at your own network first") {
		t.Fatalf("told %v", w.told)
	}
	w.want("10 of 10 cut off")
	for i := range 10 {
		w.recovers(w.deps[i].ID)
	}
	w.pass(2 * time.Minute)
	w.want("10 of 10 are back")
}

func TestHintNeedsHalfAndThree(t *testing.T) {
	for _, c := range []struct {
		trip, of int
		hint     bool
	}{{2, 2, false}, {3, 3, true}, {3, 6, true}, {3, 7, false}, {6, 12, true}, {5, 12, false}} {
		w := newWorld(t, c.of)
		for i := range c.trip {
			w.trips(w.deps[i].ID)
		}
		w.pass(5 * time.Second)
		if len(w.told) != 1 || (w.told[0].Hint() != "") != c.hint {
			t.Errorf("%d of %d: %v", c.trip, c.of, w.told)
		}
	}
	w := newWorld(t, 9)
	w.us = true
	w.trips("h1")
	w.pass(5 * time.Second)
	if w.told[0].Hint() == "" {
		t.Error("no hint although it is us")
	}
}

// Trips that go on for ever do not hold the message back for ever.
func TestTogetherAtMost20s(t *testing.T) {
	w := newWorld(t, 40)
	for i := range 15 {
		w.trips(w.deps[i].ID)
		w.pass(2 * time.Second)
	}
	w.pass(5 * time.Second)
	w.want("10 of 40 cut off", "5 of 40 cut off")
}

// The fourth incident of an hour is the last news until it is calm.
func TestFlapping(t *testing.T) {
	w := newWorld(t, 9)
	for range 3 {
		w.trips("h1")
		w.pass(time.Minute)
		w.recovers("h1")
		w.pass(2 * time.Minute)
	}
	w.want("h1 is cut off", "h1 is back", "h1 is cut off", "h1 is back", "h1 is cut off", "h1 is back")
	for range 5 {
		w.trips("h1")
		w.pass(time.Minute)
		w.recovers("h1")
		w.pass(2 * time.Minute)
	}
	w.want("h1 keeps failing")
	w.trips("h1")
	w.pass(65 * time.Minute)
	w.want("h1 is still cut off")
	w.recovers("h1")
	w.pass(14 * time.Minute)
	w.want()
	w.pass(2 * time.Minute)
	w.want("h1 is calm again")
	w.trips("h1")
	w.pass(5 * time.Second)
	w.want("h1 is cut off")
}

func TestFourIncidentsOverMoreThanAnHourAreNotFlapping(t *testing.T) {
	w := newWorld(t, 9)
	for range 6 {
		w.trips("h1")
		w.pass(time.Minute)
		w.recovers("h1")
		w.pass(20 * time.Minute)
	}
	if len(w.told) != 12 {
		t.Errorf("told %v", w.told)
	}
}

func TestRemindersDouble(t *testing.T) {
	w := newWorld(t, 9)
	w.trips("h1")
	w.pass(59 * time.Minute)
	w.want("h1 is cut off")
	for _, after := range []time.Duration{2 * time.Minute, 2 * time.Hour, 4 * time.Hour} {
		w.pass(after)
		w.want("h1 is still cut off")
	}
	w.pass(7 * time.Hour)
	w.want()
	w.recovers("h1")
	w.pass(20 * time.Hour)
	w.want("h1 is back")
}

// G19: open, reopen, close: one incident, one key.
func TestG19OneKey(t *testing.T) {
	w := newWorld(t, 9)
	w.trips("h1")
	w.pass(5 * time.Second)
	w.recovers("h1")
	w.pass(30 * time.Second)
	w.trips("h1")
	w.pass(2 * time.Hour)
	w.recovers("h1")
	w.pass(2 * time.Minute)
	keys := map[string]bool{}
	for _, m := range w.told {
		keys[m.Items[0].Key] = true
	}
	if len(keys) != 1 || keys[""] {
		t.Errorf("keys %v", keys)
	}
	w.want("h1 is cut off", "h1 is still cut off", "h1 is back")
	w.trips("h1")
	w.pass(5 * time.Second)
	if keys[w.told[0].Items[0].Key] {
		t.Error("the next incident has the same key")
	}
}

func TestSparedCalls(t *testing.T) {
	w := newWorld(t, 9)
	refused := func(n uint64) {
		s := w.stats["h1"]
		s.Refused = map[recloser.Reason]uint64{recloser.ReasonOpen: n, recloser.ReasonTrialSlots: 2}
		w.stats["h1"] = s
	}
	refused(40)
	w.trips("h1")
	w.pass(5 * time.Second)
	refused(741)
	w.recovers("h1")
	w.pass(2 * time.Minute)
	if got := w.told[1].Items[0].Spared; got != 701 {
		t.Errorf("%d calls spared, want 701", got)
	}
}

// A message tells what callers get and when it is tried next, as that is when it is told.
func TestWhatHoldsMeanwhile(t *testing.T) {
	w := newWorld(t, 9)
	w.deps[0].LastKnown = 15 * time.Minute
	w.trips("h1")
	w.trips("h2")
	for id, until := range map[string]time.Time{"h1": w.now.Add(8 * time.Second), "h2": w.now.Add(time.Minute)} {
		s := w.stats[id]
		s.Until = until
		w.stats[id] = s
	}
	w.goes("h2", halfOpen, recloser.ReasonTime)
	w.restart()
	w.pass(5 * time.Second)
	one, other := w.told[0].Items[0], w.told[0].Items[1]
	if want := w.stats["h1"].Until; !one.Next.Equal(want) || one.LastKnown != 15*time.Minute || one.Why.Limits.Row != 5 {
		t.Errorf("%+v, want the next trial at %v", one, want)
	}
	if !other.Next.IsZero() || other.LastKnown != 0 {
		t.Errorf("on trial, and tried again at %v; last known %v", other.Next, other.LastKnown)
	}
	if m := w.s.Lasting(); len(m) != 1 || m[0].Items[0].LastKnown != 15*time.Minute {
		t.Errorf("lasting: %+v", m)
	}
}

// Each bad probe moves the end of the open time on: the trial comes when no more may.
func TestMessageNamesTheTrialThatProbesHoldBack(t *testing.T) {
	for name, tt := range map[string]struct{ until, held, want time.Duration }{
		"held":            {5 * time.Second, 5 * time.Minute, 5 * time.Minute},
		"open for longer": {time.Hour, 5 * time.Minute, time.Hour},
	} {
		w := newWorld(t, 2)
		w.stats["h1"] = recloser.Stats{Until: start.Add(tt.until)}
		w.heldUntil = map[string]time.Time{"h1": start.Add(tt.held)}
		w.trips("h1")
		w.pass(30 * time.Second)
		if len(w.told) != 1 || !w.told[0].Items[0].Next.Equal(start.Add(tt.want)) {
			t.Errorf("%s: %+v", name, w.told)
		}
	}
}
