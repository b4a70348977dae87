package recloser

import (
	"testing"
	"time"
)

// A trial whose caller sends its body slowly must neither keep everybody out
// for its whole lease nor count against the dependency.
func TestSlowUploadFreesItsTrialSlot(t *testing.T) {
	cfg := strict()
	cfg.SlowCall = 500 * time.Millisecond
	s := newHalfOpen(t, cfg)
	upload := s.allow()
	upload.Sending()
	s.mustRefuse(ReasonTrialSlots)
	s.advance(499 * time.Millisecond)
	s.mustRefuse(ReasonTrialSlots)
	s.advance(time.Millisecond)
	s.mustBe(HalfOpen)
	next := s.allow()
	if !next.Trial() {
		t.Fatal("the next call is no trial")
	}
	upload.Sent() // too late to matter
	upload.Done(errDown)
	s.mustBe(HalfOpen)
	next.Done(nil)
	s.mustBe(Closed)
}
