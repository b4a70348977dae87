package recloser

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestC10_CancelsOfTheCallerCountNothing(t *testing.T) {
	cfg := strict()
	cfg.Consecutive = 3
	s := newSim(t, cfg)
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		_ = s.b.Do(ctx, func(ctx context.Context) error { cancel(); return ctx.Err() })
	}
	s.mustBe(Closed)
	s.mustHave(Counts{})
	st := s.b.Stats()
	mustEqual(t, "ignored", st.Ignored, 10)
	mustEqual(t, "other calls", st.Success+st.Failed+st.Slow, 0)
}

func TestC11_IgnoredCallsAreNotInTheRate(t *testing.T) {
	s := newSim(t, byRate(6))
	for range 5 {
		s.ok()
		s.allow().End(Ignored)
	}
	if _, known := s.b.Stats().BadRatio(); known {
		t.Error("a rate with 5 of 6 calls judged")
	}
	s.fail()
	s.mustHave(Counts{Good: 5, Failed: 1, Run: 1})
	rate, _ := s.b.Stats().BadRatio()
	mustEqual(t, "rate", rate, 1.0/6)
	mustEqual(t, "ignored", s.b.Stats().Ignored, 5)
}

func TestC14_CancelledIsIgnoredWhateverTheError(t *testing.T) {
	errCause := errors.New("the guest went away")
	for name, end := range map[string]func(context.Context) error{
		"the context's error": context.Context.Err,
		"wrapped":             func(ctx context.Context) error { return fmt.Errorf("driver: %w", ctx.Err()) },
		"the cause":           context.Cause,
		"any error":           func(context.Context) error { return errDown },
		"told to wait":        func(context.Context) error { return &WaitError{After: time.Second} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, strict())
			ctx, cancel := context.WithCancelCause(t.Context())
			err := s.b.Do(ctx, func(ctx context.Context) error {
				s.advance(time.Hour)
				cancel(errCause)
				return end(ctx)
			})
			if want := end(ctx); err == nil || err.Error() != want.Error() {
				t.Errorf("the caller got %v, want %v", err, want)
			}
			s.mustBe(Closed)
			s.mustHave(Counts{})
			mustEqual(t, "ignored", s.b.Stats().Ignored, 1)
		})
	}
	t.Run("in two steps", func(t *testing.T) {
		s := newSim(t, strict())
		ctx, cancel := context.WithCancel(t.Context())
		p, err := s.b.Allow(ctx)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		p.Done(errDown)
		s.mustBe(Closed)
		mustEqual(t, "ignored", s.b.Stats().Ignored, 1)
	})
	t.Run("a good answer counts", func(t *testing.T) {
		s := newSim(t, strict())
		ctx, cancel := context.WithCancel(t.Context())
		if err := s.b.Do(ctx, func(context.Context) error { cancel(); return nil }); err != nil {
			t.Fatal(err)
		}
		s.mustHave(Counts{Good: 1})
	})
	t.Run("done before", func(t *testing.T) {
		s := newHalfOpen(t, strict())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := s.b.Do(ctx, func(context.Context) error { t.Error("it ran"); return nil })
		mustEqual(t, "error", err, context.Canceled)
		mustEqual(t, "ignored", s.b.Stats().Ignored, 0)
		s.trial()
	})
	t.Run("not by its deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, err := New(strict())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_ = b.Do(ctx, func(ctx context.Context) error { <-ctx.Done(); return errDown })
			mustEqual(t, "state", b.State(), Open)
		})
	})
}

func TestC17_CancelledSiblingsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := strict()
		cfg.Consecutive = 2
		b, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				err := b.Do(ctx, func(ctx context.Context) error {
					if i == 0 {
						<-time.After(10 * time.Millisecond)
						return errDown
					}
					<-ctx.Done()
					if i%2 == 0 {
						return context.Cause(ctx)
					}
					return ctx.Err()
				})
				if i == 0 {
					cancel(err)
				}
			})
		}
		wg.Wait()
		st := b.Stats()
		mustEqual(t, "state", st.State, Closed)
		mustEqual(t, "window", st.Window, Counts{Failed: 1, Run: 1})
		mustEqual(t, "ignored", st.Ignored, 4)
	})
}

// The siblings may have a context that the call's own function made.
func TestC17_CancelledInsideTheCall(t *testing.T) {
	s := newSim(t, strict())
	_ = s.b.Do(t.Context(), func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return fmt.Errorf("sibling: %w", ctx.Err())
	})
	s.mustBe(Closed)
	mustEqual(t, "ignored", s.b.Stats().Ignored, 1)
}

func TestC18_OnlyFinishedOrOverdueCallsCount(t *testing.T) {
	counts := func(s *sim) [5]uint64 {
		st := s.b.Stats()
		return [5]uint64{st.Window.Judged(), st.Success, st.Failed, st.Slow, st.Ignored}
	}
	refuse := func(s *sim, reason Reason) {
		s.Helper()
		before := counts(s)
		for range 1000 {
			s.mustRefuse(reason)
		}
		mustEqual(s, "counts after 1000 refusals", counts(s), before)
		mustEqual(s, "refused", s.b.Stats().Refused[reason], 1000)
		mustEqual(s, "latencies", s.b.Stats().Latency.Count(), before[1]+before[2]+before[3])
	}
	t.Run("open", func(t *testing.T) {
		refuse(newTripped(t, strict()), ReasonOpen)
	})
	t.Run("trial slots", func(t *testing.T) {
		s := newHalfOpen(t, strict())
		s.trial()
		refuse(s, ReasonTrialSlots)
	})
	t.Run("isolated", func(t *testing.T) {
		s := newSim(t, strict())
		s.ok()
		if err := s.b.Isolate("ops", "test", time.Time{}); err != nil {
			t.Fatal(err)
		}
		refuse(s, ReasonIsolated)
	})
	t.Run("ramp", func(t *testing.T) {
		cfg := strict()
		cfg.Ramp = time.Minute
		s := newHalfOpen(t, cfg)
		s.ok()
		s.allow()
		refuse(s, ReasonRamp)
		s.mustBe(Closed)
	})
	t.Run("running calls", func(t *testing.T) {
		cfg := byRate(20)
		cfg.SlowCall = time.Second
		s := newSim(t, cfg)
		calls := s.allowed(10)
		s.mustHave(Counts{})
		mustEqual(t, "in flight", s.b.Stats().InFlight, 10)
		calls[0].Done(nil)
		calls[1].Done(errDown)
		s.mustHave(Counts{Good: 1, Failed: 1, Run: 1})
		s.advance(1250 * time.Millisecond)
		s.mustHave(Counts{Good: 1, Failed: 1, Slow: 8, Run: 9})
	})
}
