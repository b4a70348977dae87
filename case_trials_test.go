package recloser

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestC01_TrialCancelledBeforeItRuns(t *testing.T) {
	s := newHalfOpen(t, strict())
	before := s.b.Stats()
	s.trial().Cancel()
	s.mustBe(HalfOpen)
	after := s.b.Stats()
	if after.Ignored != before.Ignored || after.Failed != before.Failed || after.Success != before.Success || after.InFlight != 0 {
		t.Errorf("a call that was never made was counted: %+v", after)
	}
	s.trial().Done(nil)
	s.mustBe(Closed)
}

func TestC02_TrialNeverReported(t *testing.T) {
	const lease = 10 * time.Second
	t.Run("nobody looks for six days", func(t *testing.T) {
		s := newHalfOpen(t, strict())
		lost := s.trial()
		s.advance(6 * 24 * time.Hour)
		s.mustBe(HalfOpen)

		all := s.transitions()
		last := all[len(all)-2:]
		mustEqual(t, "reopened at the end of the lease", s.at(last[0]), openFor+lease)
		mustEqual(t, "reopened for", last[0].OpenFor, 2*openFor)
		mustEqual(t, "trials again at", s.at(last[1]), openFor+lease+2*openFor)

		p := s.trial()
		lost.Done(nil) // too late to decide anything
		s.mustBe(HalfOpen)
		p.Done(nil)
		s.mustBe(Closed)
	})
	t.Run("somebody always asks", func(t *testing.T) {
		s := newHalfOpen(t, strict())
		s.trial()
		first := s.refusal(ReasonTrialSlots)
		again := time.Duration(0)
		for s.now() < 6*24*time.Hour {
			s.advance(max(10*time.Millisecond, s.now()/1000))
			if left := first.RetryAfter(); left != 0 {
				t.Fatalf("at %s: %s left of a half-open period", s.now(), left)
			}
			if until := s.b.Stats().Until; !until.IsZero() && until.Sub(epoch) < s.now() {
				t.Fatalf("at %s: %s left", s.now(), until.Sub(epoch)-s.now())
			}
			if p, err := s.b.Allow(t.Context()); err == nil {
				if again == 0 {
					again = s.now()
				}
				p.Cancel()
			} else if open := (*OpenError)(nil); !errors.As(err, &open) || open.RetryAfter() < 0 || open.RetryAfter() > 2*openFor {
				t.Fatalf("at %s: %v", s.now(), err)
			}
		}
		if due := openFor + lease + 2*openFor; again < due || again > due+20*time.Millisecond {
			t.Errorf("admitted again after %s, want %s", again, due)
		}
	})
}

func TestC03_TrialFinishedTwice(t *testing.T) {
	for name, finish := range map[string]func(*Permit){
		"cancel":  (*Permit).Cancel,
		"ignored": func(p *Permit) { p.End(Ignored) },
		"good":    func(p *Permit) { p.Done(nil) },
		"mixed":   func(p *Permit) { p.Cancel(); p.Done(nil); p.End(Failure) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := strict()
			slots := 1
			if name == "good" { // it takes one that does not end the period
				cfg.Trials, slots = 3, 3
			}
			s := newHalfOpen(t, cfg)
			p1 := s.trial()
			finish(p1)
			finish(p1)
			s.mustBe(HalfOpen)
			s.trial() // p2
			for range slots - 1 {
				s.trial()
			}
			finish(p1)
			s.mustRefuse(ReasonTrialSlots) // p3
			mustEqual(t, "in flight", s.b.Stats().InFlight, slots)
		})
	}
}

func TestC04_TrialCancelledByItsCaller(t *testing.T) {
	s := newHalfOpen(t, strict())
	ctx, cancel := context.WithCancel(t.Context())
	err := s.b.Do(ctx, func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	})
	mustEqual(t, "error", err, context.Canceled)
	s.mustBe(HalfOpen)
	mustEqual(t, "ignored", s.b.Stats().Ignored, 1)
	s.trial()
}

func TestC05_ManyCallersAtHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := strict()
		cfg.Trials = 3
		b, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_ = b.Do(t.Context(), func(context.Context) error { return errDown })
		<-time.After(openFor)

		var running, refused atomic.Int64
		finish := make(chan error)
		var wg sync.WaitGroup
		burst := func() {
			for range 100 {
				wg.Go(func() {
					err := b.Do(t.Context(), func(context.Context) error {
						running.Add(1)
						defer running.Add(-1)
						return <-finish
					})
					var open *OpenError
					if errors.As(err, &open) && open.Reason == ReasonTrialSlots {
						refused.Add(1)
					}
				})
			}
			synctest.Wait()
		}

		began := time.Now()
		burst()
		mustEqual(t, "running before a trial was good", running.Load(), 1)
		mustEqual(t, "refused", refused.Load(), 99)
		finish <- nil
		burst()
		mustEqual(t, "running after a good one", running.Load(), 3)
		mustEqual(t, "refused", refused.Load(), 99+97)
		mustEqual(t, "time it took", time.Since(began), 0)
		finish <- nil
		burst() // one more was good, so there is one more slot, and two run
		mustEqual(t, "running after two good ones", running.Load(), 3)
		mustEqual(t, "state", b.State(), HalfOpen)
		for range 3 {
			finish <- nil
		}
		wg.Wait()
		mustEqual(t, "state", b.State(), Closed)
	})
}

func TestC06_TrialPanics(t *testing.T) {
	t.Run("panic", func(t *testing.T) {
		s := newHalfOpen(t, strict())
		value := new(int)
		func() {
			defer func() {
				if got := recover(); got != any(value) {
					t.Errorf("the panic value became %v", got)
				}
			}()
			_ = s.b.Do(t.Context(), func(context.Context) error { panic(value) })
		}()
		reopened(s)
	})
	t.Run("Goexit", func(t *testing.T) {
		s := newHalfOpen(t, strict())
		went := make(chan bool)
		go func() {
			on := false
			defer func() { went <- on }()
			_ = s.b.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
			on = true
		}()
		if <-went {
			t.Error("Do returned after Goexit")
		}
		reopened(s)
	})
}

// reopened wants a trial to have failed, and its slot to be free.
func reopened(s *sim) {
	s.Helper()
	s.mustBe(Open)
	mustEqual(s, "in flight", s.b.Stats().InFlight, 0)
	all := s.transitions()
	mustEqual(s, "reason", all[len(all)-1].Reason, ReasonTrialFailed)
	s.advance(s.b.Stats().OpenFor)
	s.trial().Done(nil)
	s.mustBe(Closed)
}

func TestC08_OneFailingTrialReopens(t *testing.T) {
	cfg := byRate(100)
	cfg.FailureRate = 1
	s := newSim(t, cfg)
	if err := s.b.TripFor(openFor, "test", ""); err != nil {
		t.Fatal(err)
	}
	s.advance(openFor)
	s.fail()
	reopened(s)
}

func TestC09_AllTrialsMustBeGood(t *testing.T) {
	cfg := strict()
	cfg.Trials = 3
	s := newHalfOpen(t, cfg)
	s.ok()
	s.ok()
	s.mustBe(HalfOpen)
	s.fail()
	s.mustBe(Open)

	s.advance(s.b.Stats().OpenFor)
	for range 3 {
		s.mustBe(HalfOpen)
		s.ok()
	}
	s.mustBe(Closed)
}
