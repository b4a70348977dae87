package incident

import (
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

func TestOperatorsActs(t *testing.T) {
	w := newWorld(t, 9)
	w.byHand("h1", isolated, w.now.Add(time.Hour))
	w.pass(49 * time.Minute)
	if len(w.told) != 1 || !strings.Contains(w.told[0].String(), "By: ann") || !strings.Contains(w.told[0].String(), "Reason given: new boiler") ||
		strings.Contains(w.told[0].String(), "somebody releases it") {
		t.Errorf("told %v", w.told)
	}
	w.want("h1 is cut off by hand")
	w.pass(2 * time.Minute)
	w.want("h1 is automatic again soon")
	w.pass(9 * time.Minute)
	w.release("h1", halfOpen)
	w.pass(time.Minute)
	w.want("h1 is automatic again")

	w.byHand("h2", heldClosed, time.Time{})
	w.pass(23 * time.Hour)
	w.want("h2 is held closed")
	w.pass(2 * time.Hour)
	w.want("h2 is still set by hand")
	w.pass(24 * time.Hour)
	w.want("h2 is still set by hand")
	w.goes("h2", heldClosed, recloser.ReasonRun) // the rules change their mind behind it
	w.pass(time.Minute)
	w.want()
	w.release("h2", open)
	w.pass(4 * time.Second)
	w.want("h2 is cut off", "h2 is automatic again")
}

// The end of an isolation is no outage, though calls wait for the fleet's trials then.
// One of those that fails is.
func TestIsolationEndsInAFleet(t *testing.T) {
	for last, told := range map[recloser.State]string{closed: "h1 is automatic again", open: "h1 is cut off, h1 is automatic again"} {
		w := newWorld(t, 9)
		w.byHand("h1", isolated, w.now.Add(time.Minute))
		w.pass(time.Minute)
		w.goes("h1", open, recloser.ReasonExpired)
		w.goes("h1", halfOpen, recloser.ReasonFleet)
		w.goes("h1", last, recloser.ReasonFleet)
		w.pass(5 * time.Minute)
		w.want(append([]string{"h1 is cut off by hand"}, strings.Split(told, ", ")...)...)
	}
}

// What replaces it within the quiet time is all that is told; a short one needs no
// warning of its end.
func TestReplacedAtOnce(t *testing.T) {
	w := newWorld(t, 9)
	w.byHand("h1", isolated, time.Time{})
	w.pass(time.Second)
	w.byHand("h1", heldClosed, w.now.Add(10*time.Minute))
	w.pass(9 * time.Minute)
	w.want("h1 is held closed")
}

// Undone within the quiet time: nobody needs to know.
func TestUndoneAtOnce(t *testing.T) {
	w := newWorld(t, 9)
	w.byHand("h1", isolated, time.Time{})
	w.pass(2 * time.Second)
	w.release("h1", closed)
	w.pass(time.Hour)
	w.want()
}

// An operator who isolates what is cut off ends no incident.
func TestIsolatedDuringAnIncident(t *testing.T) {
	w := newWorld(t, 9)
	w.trips("h1")
	w.pass(5 * time.Second)
	w.byHand("h1", isolated, time.Time{})
	w.pass(3 * time.Hour)
	w.want("h1 is cut off", "h1 is cut off by hand")
	w.release("h1", halfOpen)
	w.goes("h1", closed, recloser.ReasonTrialsGood)
	w.pass(2 * time.Minute)
	w.want("h1 is automatic again", "h1 is back")
}

// G16: a maintenance ends and nothing changed: no message.
func TestG16Maintenance(t *testing.T) {
	w := newWorld(t, 9)
	w.covered["h1"] = true
	w.byHand("h1", isolated, w.now.Add(time.Hour))
	w.pass(time.Hour)
	w.covered["h1"] = false // by the clock, before the release
	w.release("h1", halfOpen)
	w.goes("h1", closed, recloser.ReasonTrialsGood)
	w.pass(2 * time.Hour)
	w.want()

	// The isolation is heard of before the maintenance says that it is in force.
	w.byHand("h1", isolated, w.now.Add(time.Hour))
	w.covered["h1"] = true
	w.pass(time.Hour)
	w.covered["h1"] = false
	w.release("h1", closed)
	w.pass(time.Hour)
	w.want()

	// What was cut off before is still so after.
	w.trips("h2")
	w.pass(5 * time.Second)
	w.want("h2 is cut off")
	if running := w.s.Running(); len(running) != 1 || running[0].Dependency != "h2" {
		t.Errorf("before the maintenance %+v, want the incident of h2", running)
	}
	w.covered["h2"] = true
	w.pass(90 * time.Minute)
	if running := w.s.Running(); len(running) != 0 {
		t.Errorf("during the maintenance %+v, want no incident", running)
	}
	w.covered["h2"] = false
	if running := w.s.Running(); len(running) != 1 {
		t.Errorf("after it %+v, want the incident of h2", running)
	}
	w.pass(20 * time.Minute)
	w.want()

	// What was cut off during it is told after it.
	w.covered["h3"] = true
	w.trips("h3")
	w.pass(10 * time.Minute)
	w.want()
	w.covered["h3"] = false
	w.pass(5 * time.Second)
	w.want("h3 is cut off")
}

// G16: reload and restart in the quiet time after a message: no second message.
func TestG16RestartTellsNothingTwice(t *testing.T) {
	w := newWorld(t, 9)
	w.trips("h1")
	w.byHand("h2", isolated, time.Time{})
	w.pass(3 * time.Second)
	w.want("h1 is cut off", "h2 is cut off by hand")
	w.restart()
	w.goes("h1", open, recloser.ReasonRestored)
	w.goes("h2", isolated, recloser.ReasonRestored)
	w.pass(30 * time.Second)
	w.want()
	w.recovers("h1")
	w.pass(30 * time.Second)
	w.restart()
	w.pass(2 * time.Minute)
	w.want("h1 is back")

	// Before the message: it is told once.
	w.trips("h3")
	w.pass(time.Second)
	w.restart()
	w.goes("h3", open, recloser.ReasonRestored)
	w.pass(time.Minute)
	w.want("h3 is cut off")

	// The breaker does not remember, or nobody heard of it: the incident ends all the same.
	w.stats["h3"] = recloser.Stats{}
	w.restart()
	w.pass(2 * time.Minute)
	w.want("h3 is back")
}

// Who is removed from the configuration has no incident any more.
func TestRemoved(t *testing.T) {
	w := newWorld(t, 9)
	w.trips("h9")
	w.byHand("h8", isolated, time.Time{})
	w.pass(5 * time.Second)
	w.want("h9 is cut off", "h8 is cut off by hand")
	w.deps = w.deps[:7]
	w.pass(time.Minute)
	w.want("h9 is no longer watched")
	if len(w.kept) != 0 {
		t.Errorf("kept: %v", w.kept)
	}
}

// What lasts is what an Alertmanager is told again.
func TestLasting(t *testing.T) {
	w := newWorld(t, 9)
	w.trips("h1")
	w.byHand("h2", isolated, time.Time{})
	w.pass(5 * time.Second)
	all := w.s.Lasting()
	if len(all) != 2 || all[0].Items[0].Dependency != "h1" || all[1].Items[0].Dependency != "h2" || all[1].Items[0].Key == "" {
		t.Errorf("%+v", all)
	}
	w.recovers("h1")
	w.release("h2", closed)
	w.pass(2 * time.Minute)
	if all := w.s.Lasting(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}
