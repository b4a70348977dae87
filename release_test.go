package recloser

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A trip by suspicion releases who is past the limit at once, and the others as they
// pass it, unless they are done before.
func TestReleasedBySuspicion(t *testing.T) {
	s := newSuspicious(t, suspicious())
	calls := s.hangs(11)
	var results []error
	for _, p := range calls {
		ctx := p.Released()
		if ctx.Err() != nil {
			t.Fatal("released before the trip")
		}
	}
	s.run(130 * time.Millisecond)
	s.mustBe(Open)
	for _, p := range calls {
		results = append(results, context.Cause(p.Released()))
	}
	released := 0
	for i, err := range results {
		if open := (*OpenError)(nil); errors.As(err, &open) {
			released++
			mustEqual(t, "reason", open.Reason, ReasonReleased)
		} else if i < 6 {
			t.Errorf("call %d is past the limit and was not released", i)
		}
	}
	if released > 7 {
		t.Errorf("%d released at once", released)
	}
	calls[10].Done(nil) // he was not past it
	mustEqual(t, "released in the end", context.Cause(calls[10].Released()), nil)
	s.run(400 * time.Millisecond)
	for i, p := range calls[:10] {
		if p.Released().Err() == nil {
			t.Errorf("call %d is past the limit and was not released", i)
		}
	}
	mustEqual(t, "contexts left", len(s.b.leaving), 0)
	s.endAll(calls, errDown)
}

// A trip that needs no suspects releases everybody at once.
func TestCertainTripReleasesAll(t *testing.T) {
	s := newSuspicious(t, suspicious())
	s.fail()
	s.run(50 * time.Millisecond)
	calls := s.hangs(3)
	for range 4 {
		s.run(50 * time.Millisecond)
		s.fail()
	}
	s.mustTrip(ReasonRun)
	for i, p := range calls {
		if p.Released().Err() == nil {
			t.Errorf("call %d was not released", i)
		}
		if p.Witness() {
			t.Error("a witness, without a suspicion")
		}
	}
	s.endAll(calls, errDown)
}

// Who comes too late for a period takes none of its contexts with him.
func TestTooLateForARelease(t *testing.T) {
	s := newSuspicious(t, suspicious())
	p := s.b.cur.Load()
	s.b.TripNow("ann", "test")
	if c := (&call{}); c.enter(p, s.b.now()) || c.release != nil {
		t.Fatal("let in")
	}
	for _, r := range p.releases.all {
		mustEqual(t, "calls", r.calls.Load(), 0)
	}
}

// Contexts are made for slices of time, not for calls, and not kept for longer than
// their calls run.
func TestReleasesAreFew(t *testing.T) {
	s := newSuspicious(t, suspicious())
	release := s.allow().Released()
	allocs := testing.AllocsPerRun(100, func() {
		p, err := s.b.Allow(s.Context())
		if err != nil || p.Released() != release {
			t.Fatal("another context in the same slice")
		}
		p.Done(nil)
	})
	if allocs > 1 { // the permit, as its address is taken
		t.Errorf("%.0f allocations", allocs)
	}
	s.offer(10*time.Millisecond, 5*time.Second, func() (time.Duration, error) { return 5 * time.Millisecond, nil })
	s.run(6 * time.Second)
	if n := len(s.b.cur.Load().releases.all); n > 3 {
		t.Errorf("%d contexts are kept", n)
	}
}

// The slices of a trip by suspicion are let go whatever the breaker does meanwhile.
func TestReleasesGoOn(t *testing.T) {
	s, calls := newSuspected(t, suspicious())
	_ = witnesses(calls)
	calls[0].Done(nil)
	s.mustBe(HalfOpen)
	s.b.Reset("ann", "test")
	s.run(suspectAfter + 50*time.Millisecond)
	for i, p := range calls {
		if p.Released().Err() == nil {
			t.Errorf("call %d was not released", i)
		}
	}
	s.endAll(calls[1:], errDown)
}
