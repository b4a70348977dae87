package recloser

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTripForRange(t *testing.T) {
	for d, ok := range map[time.Duration]bool{
		-time.Second: false, 0: false, time.Millisecond - 1: false, time.Millisecond: true, 24 * time.Hour: true, 24*time.Hour + 1: false,
	} {
		s := newSim(t, strict())
		if err := s.b.TripFor(d, "ann", "why"); (err == nil) != ok {
			t.Errorf("%s: %v", d, err)
		}
		mustEqual(t, "open after "+d.String(), s.b.State() == Open, ok)
	}
	s := newSim(t, strict())
	if err := s.b.Isolate("ann", "rebuild", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := s.b.TripFor(time.Second, "bob", "why"); !errors.Is(err, ErrIsolated) {
		t.Errorf("an isolated breaker: %v", err)
	}
	s.mustBe(Isolated)
}

// An override's end is a time of the wall clock.
func TestOverrideEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := New(strict())
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for name, set := range map[string]func(by, why string, until time.Time) error{"Isolate": b.Isolate, "HoldClosed": b.HoldClosed} {
			for _, until := range []time.Time{now, now.Add(-time.Hour)} {
				if err := set("ann", "why", until); err == nil || b.Stats().Override != nil || b.State() != Closed {
					t.Errorf("%s until a time that has passed: %v, %s", name, err, b.Explain())
				}
			}
		}
		if err := b.HoldClosed("ann", "festival", now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		<-time.After(30 * time.Minute)
		if err := b.Isolate("bob", "fire", now.Add(time.Hour)); err != nil { // instead of the hold
			t.Fatal(err)
		}
		mustEqual(t, "until", b.Stats().Until.Equal(now.Add(time.Hour)), true)
		<-time.After(30*time.Minute - 1)
		mustEqual(t, "just before the end", b.State(), Isolated)
		<-time.After(1)
		mustEqual(t, "at the end", b.State(), HalfOpen)
		mustEqual(t, "since", b.Stats().Since.Equal(now.Add(time.Hour)), true)
	})
}

func TestTripNow(t *testing.T) {
	s := newSim(t, strict())
	if !s.b.TripNow("probe", "three failed") {
		t.Fatal("a closed breaker did not trip")
	}
	e := s.mustTrip(ReasonProbe)
	if e.By != "probe" || e.Note != "three failed" || e.OpenFor != openFor || e.Step != 0 {
		t.Errorf("%+v", e)
	}
	if s.b.TripNow("probe", "again") {
		t.Error("an open one tripped")
	}
	s.advance(openFor)
	if s.mustBe(HalfOpen); s.b.TripNow("probe", "again") {
		t.Error("a half-open one tripped")
	}
	s.trial().Done(nil)
	if !s.b.TripNow("probe", "again") {
		t.Fatal("a closed breaker did not trip")
	}
	mustEqual(t, "open for", s.b.Stats().OpenFor, 2*openFor) // a step up, as after any trip with no good call
	s.b.Reset("ann", "test")
	_ = s.b.Isolate("ann", "test", time.Time{})
	if s.b.TripNow("probe", "again") {
		t.Error("an isolated one tripped")
	}
	s.b.Reset("ann", "test")
	s.b.Release("ann", "test")
	s.trial().Done(nil)
	_ = s.b.HoldClosed("ann", "test", time.Time{})
	if !s.b.TripNow("probe", "again") {
		t.Error("one that is held closed did not trip")
	}
	s.mustBe(HeldClosed)
	mustEqual(t, "automatic", s.b.Stats().Automatic, Open)
}

func TestHoldTrials(t *testing.T) {
	s := newSim(t, strict())
	if s.b.HoldTrials(time.Second) {
		t.Error("a closed breaker has no trials to hold back")
	}
	s.fail()
	before := s.refusal(ReasonOpen)
	s.advance(openFor / 2)
	if !s.b.HoldTrials(time.Second) || !s.b.HoldTrials(openFor) || !s.b.HoldTrials(-1) {
		t.Error("an open breaker is not open")
	}
	after := s.refusal(ReasonOpen)
	for name, open := range map[string]*OpenError{"given before": before, "given after": after} {
		mustEqual(t, name, open.RetryAfter(), time.Second)
	}
	mustEqual(t, "until", after.Until, epoch.Add(openFor/2+time.Second))
	st := s.b.Stats()
	mustEqual(t, "until", st.Until, after.Until)
	mustEqual(t, "open for", st.OpenFor, openFor/2+time.Second)
	mustEqual(t, "refused", st.Refused[ReasonOpen], 2)

	next := restarted(t, s, 0)
	next.advance(time.Second - 1)
	next.mustBe(Open)
	s.advance(time.Second - 1)
	s.mustBe(Open)
	s.b.HoldTrials(time.Second)
	s.advance(time.Second)
	s.mustBe(HalfOpen)
	if s.b.HoldTrials(time.Second) {
		t.Error("trials have begun")
	}
	s.trial().Done(errDown)
	mustEqual(t, "open for", s.b.Stats().OpenFor, 2*openFor)
}
