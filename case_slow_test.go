package recloser

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func hangFor(d time.Duration) func() (time.Duration, error) {
	return func() (time.Duration, error) { return d, errDown }
}

func TestC20_HangingCallsAreJudgedWhileTheyRun(t *testing.T) {
	const slow, slices = time.Second, 250 * time.Millisecond
	t.Run("trips", func(t *testing.T) {
		cfg := byRate(10)
		cfg.SlowCall, cfg.OpenFor = slow, time.Minute
		s := newSim(t, cfg).checked()
		calls := s.allowed(10)
		s.run(slow - 50*time.Millisecond)
		s.mustBe(Closed)
		s.run(50*time.Millisecond + slices)
		s.mustRefuse(ReasonOpen)
		trip := s.mustTrip(ReasonRate)
		if at := s.at(trip); at < slow {
			t.Errorf("bad after %s already", at)
		}
		mustEqual(t, "counts", trip.Counts, Counts{Slow: 10, Run: 10})

		s.run(30*time.Second - s.now())
		for _, p := range calls {
			p.Done(nil)
		}
		st := s.b.Stats()
		mustEqual(t, "slow", st.Slow, 10)
		mustEqual(t, "late", st.Late, 10)
		mustEqual(t, "others", st.Success+st.Failed+st.Ignored, 0)
		mustEqual(t, "in flight", st.InFlight, 0)
		mustEqual(t, "latencies", st.Latency.Count(), 10)
		s.mustTrip(ReasonRate)
	})
	t.Run("counted once", func(t *testing.T) {
		cfg := byRate(100)
		cfg.SlowCall = slow
		s := newSim(t, cfg).checked()
		calls := s.allowed(10)
		s.run(slow + slices)
		s.mustHave(Counts{Slow: 10, Run: 10})
		mustEqual(t, "overdue", s.b.Stats().Overdue, 10)
		s.run(30*time.Second - s.now())
		for i, p := range calls {
			p.Done([]error{nil, errDown, context.Canceled}[i%3])
		}
		s.mustHave(Counts{Slow: 10, Run: 10})
		mustEqual(t, "overdue", s.b.Stats().Overdue, 0)
		mustEqual(t, "in flight", s.b.Stats().InFlight, 0)
	})
	t.Run("with nobody who checks", func(t *testing.T) {
		cfg := byRate(10)
		cfg.SlowCall, cfg.OpenFor = slow, time.Minute
		for name, look := range map[string]func(s *sim, quick *Permit){
			"an attempt":        func(s *sim, _ *Permit) { _, _ = s.b.Allow(t.Context()) },
			"a good end":        func(_ *sim, quick *Permit) { quick.Done(nil) },
			"a bad end":         func(_ *sim, quick *Permit) { quick.Done(errDown) },
			"an answer":         func(_ *sim, quick *Permit) { quick.Answered() },
			"Check":             func(s *sim, _ *Permit) { s.b.Check() },
			"who wants to know": func(s *sim, _ *Permit) { _ = s.b.Explain() },
		} {
			s := newSim(t, cfg)
			s.allowed(10)
			s.advance(slow)
			quick := s.allow()
			s.advance(slices)
			look(s, quick)
			if got := s.b.cur.Load().state; got != Open {
				t.Errorf("%s after %s came by", got, name)
			}
		}
	})
}

func TestC21_SlowAnswersTripAndReachTheirCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := byRate(10)
		cfg.SlowCall, cfg.OpenFor = time.Second, time.Minute
		b, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		answers := make([]int, 10)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				var err error
				answers[i], err = Do(t.Context(), b, func(context.Context) (int, error) {
					<-time.After(2 * time.Second)
					return 1 + i, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i, got := range answers {
			mustEqual(t, "answer", got, 1+i)
		}
		mustEqual(t, "state", b.State(), Open)
		mustEqual(t, "slow", b.Stats().Slow, 10)
	})
}

func TestC22_GoodButSlowTrialReopens(t *testing.T) {
	cfg := strict()
	cfg.SlowCall, cfg.OpenFor = time.Second, 10*time.Second
	for name, took := range map[string]time.Duration{"slow": 1500 * time.Millisecond, "just slow": time.Second} {
		t.Run(name, func(t *testing.T) {
			s := newHalfOpen(t, cfg)
			began := s.now()
			err := s.b.Do(t.Context(), func(context.Context) error { s.advance(took); return nil })
			mustEqual(t, "the caller's error", err, nil)
			s.mustBe(Open)
			trips := s.trips()
			mustEqual(t, "trips", len(trips), 2)
			mustEqual(t, "reason", trips[1].Reason, ReasonTrialFailed)
			mustEqual(t, "reopened after", s.at(trips[1])-began, time.Second)
		})
	}
	t.Run("in time", func(t *testing.T) {
		s := newHalfOpen(t, cfg)
		p := s.trial()
		s.advance(time.Second - 1)
		p.Done(nil)
		s.mustBe(Closed)
	})
}

func TestC23_TotalHangUnderFullLoad(t *testing.T) {
	run := Config{Consecutive: 5, FailureRate: Off, SlowCall: 2 * time.Second, OpenFor: time.Minute}
	standard := Config{SlowCall: 2 * time.Second, OpenFor: time.Minute}
	for name, cfg := range map[string]Config{"run of 5 alone": run, "standard settings": standard} {
		for when, healthy := range map[string]time.Duration{"from the start": 0, "after a good time": 20 * time.Second} {
			t.Run(name+", "+when, func(t *testing.T) {
				s := newSim(t, cfg).checked()
				if healthy > 0 {
					s.offer(time.Millisecond, healthy, func() (time.Duration, error) { return 30 * time.Millisecond, nil })
					s.run(healthy)
				}
				hung := s.offer(time.Millisecond, 20*time.Second, hangFor(30*time.Second))
				s.run(25 * time.Second)
				s.mustBe(Open)
				mustEqual(t, "trips", len(s.trips()), 1)
				if hung.reached >= 3000 || hung.reached < 2000 {
					t.Errorf("%d calls were admitted before the trip, want 2000 to 3000", hung.reached)
				}
			})
		}
	}
}

func TestC24_SlowAndFailedAddUp(t *testing.T) {
	cfg := byRate(4)
	cfg.SlowCall, cfg.OpenFor = time.Second, time.Minute
	for name, ends := range map[string][]string{
		"slow last":   {"ok", "ok", "fail", "slow"},
		"failed last": {"ok", "slow", "ok", "fail"},
		"good last":   {"slow", "fail", "ok", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, cfg)
			for _, end := range ends {
				s.mustBe(Closed)
				p := s.allow()
				switch end {
				case "ok":
					p.Done(nil)
				case "fail":
					p.Done(errDown)
				case "slow":
					s.advance(1200 * time.Millisecond)
					p.Done(nil)
				}
			}
			mustEqual(t, "state", s.b.State(), Open)
			counts := s.mustTrip(ReasonRate).Counts
			counts.Run = 0
			mustEqual(t, "counts", counts, Counts{Good: 2, Failed: 1, Slow: 1})
		})
	}
}
