package recloser

import (
	"testing"
	"time"
)

// newSuspected returns a breaker that has tripped by suspicion, and the calls that
// run.
func newSuspected(t *testing.T, cfg Config) (*sim, []*Permit) {
	t.Helper()
	s := newSuspicious(t, cfg)
	calls := s.hangs(9)
	for range 100 {
		if s.b.State() == Open {
			s.mustTrip(ReasonSuspected)
			return s, calls
		}
		s.run(10 * time.Millisecond)
	}
	t.Fatalf("not tripped: %s", s.b.Explain())
	return nil, nil
}

func witnesses(calls []*Permit) (which []int) {
	for i, p := range calls {
		if p.Witness() {
			which = append(which, i)
		}
	}
	return which
}

func TestWitness(t *testing.T) {
	t.Run("the two oldest, and no more", func(t *testing.T) {
		s, calls := newSuspected(t, suspicious())
		for range 2 { // they say the same again
			if got := witnesses(calls); len(got) != 2 || got[0] != 0 || got[1] != 1 {
				t.Fatalf("witnesses: %v", got)
			}
		}
		s.run(100 * time.Millisecond)
		calls[0].Done(nil)
		s.mustBe(HalfOpen)
		e := s.transitions()[1]
		if e.Reason != ReasonWitness || e.Lifted < 600*time.Millisecond || e.Lifted > 900*time.Millisecond {
			t.Fatalf("%+v", e)
		}
		mustEqual(t, "last good call", s.b.Stats().LastGood, e.At)
		mustEqual(t, "late", s.b.Stats().Late, 1)
		s.trial().Done(errDown)
		mustEqual(t, "step", s.b.Stats().Step, 0) // it began early
		s.endAll(calls[1:], nil)
		s.mustBe(Open)
		mustEqual(t, "released", s.b.Stats().Refused[ReasonReleased], 2) // the other seven ended well
	})
	t.Run("asked by others first", func(t *testing.T) {
		s, calls := newSuspected(t, suspicious())
		if got := witnesses(calls[2:]); len(got) != 0 {
			t.Fatalf("witnesses: %v", got)
		}
		for _, p := range calls[2:] {
			p.Done(nil)
		}
		s.mustBe(Open) // they are late
		calls[0].Done(nil)
		s.mustBe(Open) // nobody asked
		s.endAll(calls[1:2], nil)
	})
	t.Run("slow", func(t *testing.T) {
		s, calls := newSuspected(t, suspicious())
		_ = witnesses(calls)
		s.run(slowCall)
		calls[0].Done(nil)
		s.mustBe(Open)
		s.endAll(calls[1:], nil)
		s.mustBe(Open)
	})
	t.Run("answered in time, with a long body", func(t *testing.T) {
		s, calls := newSuspected(t, suspicious())
		_ = witnesses(calls)
		calls[1].Answered()
		s.run(slowCall)
		s.mustBe(Open)
		calls[1].Done(nil)
		s.mustBe(HalfOpen)
		calls[0].Done(errDown)
		s.endAll(calls[2:], errDown)
	})
	t.Run("bad", func(t *testing.T) {
		s, calls := newSuspected(t, suspicious())
		_ = witnesses(calls)
		s.endAll(calls, errDown)
		s.mustBe(Open)
	})
	t.Run("of an earlier trip", func(t *testing.T) {
		s, calls := newSuspected(t, suspicious())
		_ = witnesses(calls)
		s.b.Reset("ann", "test")
		s.mustBe(Closed)
		calls[0].Done(nil)
		s.mustBe(Closed)
		s.b.TripNow("ann", "test")
		calls[1].Done(nil)
		s.mustBe(Open)
		s.endAll(calls[2:], nil)
	})
	t.Run("before the trip", func(t *testing.T) {
		s := newSuspicious(t, suspicious())
		calls := s.hangs(8)
		if got := witnesses(calls); len(got) != 0 {
			t.Fatalf("witnesses: %v", got)
		}
		s.endAll(calls, nil)
	})
	t.Run("of a request that is being sent", func(t *testing.T) {
		s := newSuspicious(t, suspicious())
		first := s.allow()
		first.Sending()
		calls := s.hangs(12)
		s.run(100 * time.Millisecond)
		s.mustBe(Open)
		if first.Witness() || len(witnesses(calls)) != 2 {
			t.Error("who is sending is a witness, or takes the place of one")
		}
		first.Done(nil)
		s.mustBe(Open)
		s.endAll(calls, errDown)
	})
	t.Run("where callers stay", func(t *testing.T) {
		cfg := suspicious()
		cfg.CancelOnTrip = false
		s, calls := newSuspected(t, cfg)
		mustEqual(t, "asked", len(witnesses(calls)), 0) // nobody was released
		calls[8].Done(nil)
		s.mustBe(Open) // it was no suspect
		calls[0].Done(nil)
		s.mustBe(HalfOpen)
		s.endAll(calls[1:8], nil)
	})
}
