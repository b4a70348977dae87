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
