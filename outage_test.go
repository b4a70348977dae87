package recloser

import (
	"errors"
	"testing"
	"time"
)

// An outage lasts from its first trip, over failed trials and a restart, until the
// breaker closes or somebody isolates it.
func TestOutSince(t *testing.T) {
	s := newSim(t, strict())
	out := func() time.Time { return s.b.Stats().OutSince }
	if !out().IsZero() {
		t.Errorf("never tripped, and out since %v", out())
	}
	s.fail()
	s.mustBe(Open)
	began := out()
	mustEqual(t, "the first trip", began, s.b.Stats().Since)
	for range 3 {
		s.advance(time.Hour)
		s.trial().Done(errors.New("down"))
		s.mustBe(Open)
		mustEqual(t, "after a failed trial", out(), began)
	}
	saved := s.b.Save()
	if err := s.b.Restore(saved); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "after a restart", out(), began)
	s.advance(time.Hour)
	s.trial().Done(nil)
	s.mustBe(Closed)
	if !out().IsZero() {
		t.Errorf("closed, and out since %v", out())
	}
	s.fail()
	if err := s.b.Isolate("ops", "works", time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.b.Release("ops", "done")
	s.mustBe(HalfOpen)
	if !out().IsZero() {
		t.Errorf("waiting for a trial after an isolation, and out since %v", out())
	}
}
