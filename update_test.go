package recloser

import (
	"errors"
	"testing"
	"time"
)

func (s *sim) update(cfg Config) {
	s.Helper()
	if err := s.b.Update(cfg); err != nil {
		s.Fatal(err)
	}
}

func TestC62_SettingsChangeWhileInUse(t *testing.T) {
	t.Run("open: the time left stays, the next one is new", func(t *testing.T) {
		s := newTripped(t, strict())
		s.advance(openFor / 2)
		cfg := strict()
		cfg.OpenFor, cfg.MaxOpenFor = 10*openFor, 20*openFor
		s.update(cfg)
		s.mustBe(Open)
		mustEqual(t, "time left", s.refusal(ReasonOpen).RetryAfter(), openFor/2)
		s.advance(openFor / 2)
		s.trial().Done(errDown)
		mustEqual(t, "open for", s.b.Stats().OpenFor, 20*openFor) // a step up
		mustEqual(t, "listeners", len(s.transitions()), 3)
	})
	t.Run("closed: the window stays, judged by the new limits with the next end", func(t *testing.T) {
		s := newSim(t, byRate(10))
		for range 6 {
			s.ok()
		}
		for range 4 {
			s.fail()
		}
		before := s.b.Stats().Window
		cfg := byRate(10)
		cfg.FailureRate = 0.4
		s.update(cfg)
		s.mustBe(Closed)
		s.mustHave(before)
		s.fail()
		s.mustBe(Open)
	})
	t.Run("closed: a good end asks the new limits too", func(t *testing.T) {
		s := newSim(t, byRate(10))
		for range 6 {
			s.ok()
		}
		for range 4 {
			s.fail()
		}
		cfg := byRate(11)
		cfg.FailureRate = 0.35
		s.update(cfg)
		s.ok()
		s.mustBe(Open)
	})
	t.Run("running calls are judged by the limit they came under", func(t *testing.T) {
		cfg := strict()
		cfg.SlowCall, cfg.OpenFor = time.Second, time.Hour
		s := newSim(t, cfg)
		old := s.allow()
		cfg.SlowCall = 10 * time.Second
		s.update(cfg)
		young := s.allow()
		s.advance(900 * time.Millisecond)
		young.Done(nil)
		s.mustBe(Closed)
		s.advance(time.Second)
		s.mustBe(Open)
		old.Done(nil)
		mustEqual(t, "slow", s.b.Stats().Slow, 1)
		mustEqual(t, "running", s.b.Stats().InFlight, 0)
	})
	t.Run("slow rule switched on and off", func(t *testing.T) {
		cfg := strict()
		cfg.OpenFor = time.Hour
		s := newSim(t, cfg)
		before := s.allow()
		cfg.SlowCall = time.Second
		s.update(cfg)
		s.advance(time.Hour)
		s.mustBe(Closed)
		within := s.allow()
		cfg.SlowCall = Off
		s.update(cfg)
		before.Done(nil)
		s.advance(2 * time.Second)
		s.b.Check()
		s.mustBe(Open) // it came under a limit
		within.Done(nil)
	})
	t.Run("the step stays in reach", func(t *testing.T) {
		cfg := strict()
		cfg.OpenFor, cfg.MaxOpenFor = time.Millisecond, time.Hour
		s := newTripped(t, cfg)
		for range 25 {
			s.advance(time.Hour)
			s.trial().Done(errDown)
		}
		cfg.OpenFor, cfg.MaxOpenFor = time.Minute, 4*time.Minute
		s.update(cfg)
		mustEqual(t, "step", s.b.Stats().Step, 2)
		s.advance(time.Hour)
		s.trial().Done(errDown)
		mustEqual(t, "open for", s.b.Stats().OpenFor, 4*time.Minute)
	})
	t.Run("release on a trip switched on", func(t *testing.T) {
		cfg := strict()
		s := newSim(t, cfg)
		before := s.allow()
		cfg.CancelOnTrip = true
		s.update(cfg)
		after := s.allow()
		s.fail()
		if before.Released().Done() != nil || after.Released().Err() == nil {
			t.Errorf("released: %v and %v, want only the second", before.Released().Err(), after.Released().Err())
		}
		before.Done(nil)
		after.Done(nil)
	})
	t.Run("slow start switched off", func(t *testing.T) {
		cfg := strict()
		cfg.Ramp = time.Minute
		s := newHalfOpen(t, cfg)
		s.trial().Done(nil)
		_ = s.allow()
		s.mustRefuse(ReasonRamp)
		s.update(strict())
		s.ok()
	})
	t.Run("what is wrong changes nothing", func(t *testing.T) {
		s := newSim(t, strict())
		err := s.b.Update(Config{OpenFor: -1, Trials: 1000})
		var fault *FieldError
		if !errors.As(err, &fault) {
			t.Fatalf("got %v", err)
		}
		mustEqual(t, "open for", s.b.Config().OpenFor, openFor)
	})
	t.Run("name and clock stay", func(t *testing.T) {
		s := newSim(t, strict())
		s.update(Config{Name: "another", Clock: NewManualClock(epoch)})
		mustEqual(t, "name", s.b.Config().Name, "hotel-7")
		mustEqual(t, "clock", s.b.Config().Clock, s.ticks.Clock)
		mustEqual(t, "settings", s.b.Config().OpenFor, 5*time.Second)
	})
}

// Whoever gets into another processor's way gets a ring of his own, and nothing
// is lost by it.
func TestMoreRings(t *testing.T) {
	cfg := strict()
	cfg.SlowCall, cfg.Consecutive, cfg.FailureRate, cfg.OpenFor = time.Second, 3, Off, time.Hour
	s := newSim(t, cfg)
	first := s.allowed(2)
	s.b.mu.Lock()
	s.b.newRings(s.b.cur.Load(), 4)
	s.b.mu.Unlock()
	more := s.allowed(20)
	mustEqual(t, "running", s.b.Stats().InFlight, 22)
	for _, p := range more[:10] {
		p.Done(nil)
	}
	for range 5 {
		s.ok()
	}
	mustEqual(t, "good", s.b.Stats().Success, 15)
	mustEqual(t, "good in the window", s.b.Stats().Window.Good, 15)
	s.advance(1300 * time.Millisecond)
	s.mustBe(Open) // 12 hang, in several rings
	mustEqual(t, "run", s.transitions()[0].Counts.Run, 12)
	for _, p := range append(first, more[10:]...) {
		p.Done(nil)
	}
	mustEqual(t, "running", s.b.Stats().InFlight, 0)
	mustEqual(t, "ended", s.b.Stats().Latency.Count(), 27)
}

func TestRingsGrowWhereProcessorsMeet(t *testing.T) {
	cfg := strict()
	s := newSim(t, cfg)
	p := s.b.cur.Load()
	p.first.lost.Store(crowded)
	s.advance(2 * time.Second)
	s.ok() // not a short way: something is due
	if rs := p.rings.Load(); rs == nil || len(rs.fresh) < 2 {
		t.Fatal("no more rings")
	}
	s.ok()
	s.advance(2 * time.Second)
	s.b.Check() // drops the first one, which has no calls
	if rs := p.rings.Load(); len(rs.all) != len(rs.fresh) {
		t.Errorf("%d rings for %d that take new calls", len(rs.all), len(rs.fresh))
	}
	mustEqual(t, "good", s.b.Stats().Window.Good, 2)
}

// In the slow start, a lower limit that a run has reached already keeps nobody out
// for good: somebody must come, for the rules to be asked.
func TestUpdateThatCondemnsTheSlowStart(t *testing.T) {
	cfg := Config{Consecutive: 5, OpenFor: openFor, Jitter: Off, Trials: 5, Ramp: time.Hour, FailureRate: Off}
	s := newSim(t, cfg)
	for range 5 {
		s.fail()
	}
	s.advance(openFor)
	for range 5 {
		s.trial().Done(nil)
	}
	for range 3 {
		s.fail()
	}
	s.mustBe(Closed)
	cfg.Consecutive = 3
	s.update(cfg)
	s.fail()
	s.mustBe(Open)
}

func TestUpdateOfSlowCallReachesTheSlowStart(t *testing.T) {
	cfg := Config{Consecutive: 1, OpenFor: openFor, Jitter: Off, Trials: 2, Ramp: time.Hour, SlowCall: 400 * time.Millisecond}
	s := newHalfOpen(t, cfg)
	s.trial().Done(nil)
	s.trial().Done(nil)
	cfg.SlowCall = 20 * time.Second
	s.update(cfg)
	l := s.offer(50*time.Millisecond, time.Minute, func() (time.Duration, error) { return 300 * time.Millisecond, nil })
	s.run(2 * time.Minute)
	if l.refused > l.offered/2 {
		t.Errorf("%d of %d refused: %s", l.refused, l.offered, s.b.Explain())
	}
}

func TestUpdateDuringASlowTrial(t *testing.T) {
	cfg := strict()
	cfg.SlowCall = time.Second
	s := newHalfOpen(t, cfg)
	s.trial()
	s.update(strict())
	s.advance(time.Second)
	s.mustBe(Open)
	mustEqual(t, "cause", s.b.Stats().Cause.Error(), "no answer within 1s")
}
