package recloser

import (
	"testing"
	"time"
)

func TestC45_OneBurstIsOneEvent(t *testing.T) {
	burst := func(s *sim) {
		calls := s.allowed(6)
		s.advance(10 * time.Millisecond)
		for _, p := range calls {
			p.Done(errDown)
		}
	}
	for name, cfg := range map[string]Config{
		"run":  {Consecutive: 5, Spread: time.Second, OpenFor: time.Minute},
		"rate": {Consecutive: Off, Spread: time.Second, OpenFor: time.Minute, MinCalls: 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, cfg)
			burst(s)
			s.mustBe(Closed)
			s.advance(980 * time.Millisecond) // 10 ms too early
			burst(s)
			s.mustBe(Closed)
			burst(s)
			s.mustTrip(Reason(name))
		})
	}
}

// Calls of one burst that are overdue and still hang are more than a burst; those
// that were answered in the end are not.
func TestC45_ABurstThatGoesOnHanging(t *testing.T) {
	const slow, spread = 2 * time.Second, 300 * time.Millisecond
	for name, cfg := range map[string]Config{
		"run":  {FailureRate: Off, Spread: spread},
		"rate": {Consecutive: Off, Spread: spread},
	} {
		cfg.SlowCall, cfg.OpenFor = slow, time.Minute
		t.Run(name, func(t *testing.T) {
			s := newSim(t, cfg)
			s.advance(time.Hour)
			s.allowed(25)
			s.advance(slow + 200*time.Millisecond)
			s.mustBe(Closed)
			s.advance(300 * time.Millisecond)
			s.mustBe(Open)
			if after := s.at(s.mustTrip(Reason(name))) - time.Hour; after > slow+spread {
				t.Errorf("open %s after they began", after)
			}
		})
		t.Run(name+", answered at last", func(t *testing.T) {
			s := newSim(t, cfg)
			calls := s.allowed(25)
			s.advance(slow + 200*time.Millisecond)
			s.b.Check()
			for _, p := range calls {
				p.Done(nil)
			}
			s.advance(time.Minute)
			s.mustBe(Closed)
		})
	}
	t.Run("run, an older call hangs", func(t *testing.T) {
		s := newSim(t, Config{FailureRate: Off, SlowCall: slow})
		s.allow()
		s.advance(10 * time.Second)
		s.ok()
		for range 25 {
			s.fail()
		}
		s.advance(time.Minute)
		s.mustBe(Closed)
	})
}
