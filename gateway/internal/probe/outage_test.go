package probe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

func TestGoodProbeStartsTrials(t *testing.T) {
	t.Run("not the one at the trip", func(t *testing.T) {
		g := newStage(t)
		g.trips()
		g.run(1900 * time.Millisecond)
		g.mustDo()
		g.run(time.Second)
		g.mustDo("2.01s try")
	})
	t.Run("not a bad one", func(t *testing.T) {
		g := newStage(t)
		g.finds = Bad
		g.trips()
		g.run(time.Minute)
		g.mustDo()
	})
	t.Run("after trials by time have failed", func(t *testing.T) {
		g := newStage(t)
		g.finds = Bad
		g.trips()
		g.run(5 * time.Second)
		g.trialFails()
		g.finds = Good
		g.run(2 * time.Second) // the probe at 6 s is too soon after the opening at 5.05 s
		g.mustDo()
		g.run(2 * time.Second)
		g.mustDo("8.01s try")
	})
	for _, reason := range []recloser.Reason{recloser.ReasonToldToWait, recloser.ReasonTripped} {
		t.Run("not when it is "+string(reason), func(t *testing.T) {
			g := newStage(t)
			g.turn(recloser.Open, reason)
			g.run(time.Minute)
			g.mustDo()
		})
	}
}

// G32: an endpoint that always says 200 is believed once.
func TestEndpointThatAlwaysSaysGood(t *testing.T) {
	g := newStage(t)
	g.trips()
	g.run(3 * time.Second)
	g.mustDo("2.01s try")
	for range 20 {
		g.trialFails()
		g.run(30 * time.Second)
	}
	g.mustDo()
	g.turn(recloser.HalfOpen, recloser.ReasonTime)
	g.run(time.Second)
	g.turn(recloser.Closed, recloser.ReasonTrialsGood)
	g.run(time.Minute)
	g.trips() // another outage, another chance
	g.run(3 * time.Second)
	if len(g.acts) != 1 {
		t.Errorf("in the next outage: %q", g.acts)
	}
}

// It closed and tripped again so fast that nobody saw it closed.
func TestOutageThatBeginsAtOnce(t *testing.T) {
	g := newStage(t)
	g.trips()
	g.run(3 * time.Second)
	g.trialFails()
	g.run(9 * time.Second)
	g.mustDo("2.01s try") // and not again
	g.turn(recloser.Closed, recloser.ReasonTrialsGood)
	g.trips()
	g.run(3 * time.Second)
	if len(g.acts) != 1 {
		t.Errorf("in the next outage it did %q", g.acts)
	}
}

// An honest endpoint of a flapping dependency is believed again and again, after as
// many good ones more as it was wrong.
func TestEndpointThatFlaps(t *testing.T) {
	g := newStage(t)
	g.trips()
	g.run(3 * time.Second) // good at 2 s
	g.mustDo("2.01s try")
	g.trialFails() // at 3 s
	g.run(4 * time.Second)
	g.mustDo() // good at 4 and 6 s, but none was bad
	g.finds = Bad
	g.run(2 * time.Second) // at 8 s
	g.finds = Good
	g.run(2 * time.Second) // at 10 s: one good one
	g.mustDo()
	g.run(2 * time.Second) // at 12 s: two, more than one failure
	g.mustDo("12.01s try")
	g.trialFails()
	g.finds = Bad
	g.run(2 * time.Second) // at 14 s
	g.finds = Good
	g.run(4 * time.Second) // at 16 and 18 s
	g.trialFails()         // by time, which is no failure of the endpoint
	g.mustDo()
	g.finds = Bad
	g.run(2 * time.Second) // at 20 s: the row begins anew
	g.finds = Good
	g.run(4 * time.Second)
	g.mustDo()
	g.run(2 * time.Second) // at 26 s: three
	g.mustDo("26.01s try")
	g.trialFails()
	g.run(time.Minute) // good all the time, but none was bad since
	g.mustDo()
}

// Trials that began when the open time was over say nothing against the endpoint.
func TestTrialsByTimeDoNotBelieTheEndpoint(t *testing.T) {
	g := newStage(t)
	g.turn(recloser.Open, recloser.ReasonRun)
	g.run(1500 * time.Millisecond)
	for range 3 {
		g.trialFails()
		g.run(time.Second)
	}
	g.acts = nil
	g.run(3 * time.Second)
	if len(g.acts) != 1 || !strings.HasSuffix(g.acts[0], " try") {
		t.Errorf("it did %q", g.acts)
	}
}

func TestHold(t *testing.T) {
	t.Run("known good before and bad now", func(t *testing.T) {
		g := newStage(t)
		g.becomesKnown()
		g.finds = Bad
		g.trips()
		g.run(5 * time.Second)
		g.mustDo("7.01s hold 3.5s", "9.01s hold 3.5s", "11.01s hold 3.5s")
	})
	t.Run("each bad probe holds until the next is judged", func(t *testing.T) {
		g := newStage(t)
		g.becomesKnown()
		g.finds, g.takes = Bad, time.Second
		g.trips()
		g.run(4 * time.Minute)
		var until time.Duration
		for i, a := range g.acts {
			var at, d string
			if _, err := fmt.Sscanf(a, "%s hold %s", &at, &d); err != nil {
				t.Fatalf("%q: %v", a, err)
			}
			begins, _ := time.ParseDuration(at)
			lasts, _ := time.ParseDuration(d)
			if i > 0 && begins >= until {
				t.Errorf("a hold until %s, and the next from %s", until, begins)
			}
			until = begins + lasts
		}
	})
	t.Run("for 5 minutes an opening", func(t *testing.T) {
		g := newStage(t)
		g.becomesKnown()
		g.finds = Bad
		g.trips()
		g.run(10 * time.Minute)
		last := g.acts[len(g.acts)-1]
		if at, err := time.ParseDuration(strings.Fields(last)[0]); err != nil || at < 5*time.Minute-8*time.Second || at > 5*time.Minute+7*time.Second {
			t.Errorf("the last is %q, %v", last, err)
		}
		g.acts = nil
		g.trialFails()
		g.run(time.Second)
		if len(g.acts) == 0 {
			t.Error("the next opening is not held")
		}
	})
	t.Run("not while probes are good", func(t *testing.T) {
		g := newStage(t)
		g.becomesKnown()
		g.trips()
		g.run(time.Second)
		g.mustDo()
	})
	t.Run("not if it was not known", func(t *testing.T) {
		g := newStage(t)
		g.trips() // before the first probe
		g.run(time.Second)
		g.finds = Bad
		g.run(10 * time.Second)
		g.mustDo()
	})
	t.Run("not if calls were good while it was bad", func(t *testing.T) {
		g := newStage(t)
		g.becomesKnown()
		g.finds = Bad
		g.run(time.Minute)
		g.goodCall()
		g.run(time.Second)
		g.trips()
		g.run(10 * time.Second)
		g.mustDo()
	})
	for _, reason := range []recloser.Reason{recloser.ReasonToldToWait, recloser.ReasonTripped} {
		t.Run("not when it is "+string(reason), func(t *testing.T) {
			g := newStage(t)
			g.becomesKnown()
			g.finds = Bad
			g.turn(recloser.Open, reason)
			g.run(10 * time.Second)
			g.mustDo()
		})
	}
}

// Who asks is told how long bad probes hold trials back, not when the next hold ends.
func TestViewTellsHowLongTrialsAreHeldBack(t *testing.T) {
	g := newStage(t)
	g.becomesKnown()
	g.finds = Bad
	g.trips()
	opened := g.now
	if v := g.w.view(); !v.Held.IsZero() {
		t.Errorf("before the first bad probe: held until %s", v.Held)
	}
	g.run(time.Minute)
	if v := g.w.view(); !v.Held.Equal(opened.Add(holdMax)) {
		t.Errorf("held until %s, want %s", v.Held, opened.Add(holdMax))
	}
	g.finds = Neither
	g.run(4 * time.Second)
	if v := g.w.view(); !v.Held.IsZero() {
		t.Errorf("after a probe that says nothing: held until %s", v.Held)
	}
}

func TestEndpointThatWasNeverGoodHoldsNoTrialsBack(t *testing.T) {
	g := newStage(t)
	g.finds = Bad
	g.trips()
	g.run(time.Minute)
	if v := g.w.view(); v.Verdict != Bad || !v.Held.IsZero() {
		t.Errorf("%+v", v)
	}
}
