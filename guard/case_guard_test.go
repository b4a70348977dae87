package guard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

func TestC07BulkheadFullAtHalfOpen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), Bulkhead: Bulkhead{Max: 1}})
		leave := make(chan struct{})
		go func() {
			_ = g.Do(t.Context(), func(context.Context) error { <-leave; return nil })
		}()
		synctest.Wait()
		g.trip(time.Second)
		pass(time.Second)
		g.mustBe(recloser.HalfOpen)
		if err := g.Do(t.Context(), succeeds); !errors.Is(err, ErrFull) {
			t.Fatalf("got %v, want ErrFull", err)
		}
		if s := g.breaker.Stats(); s.Trials != 0 {
			t.Errorf("%d trials run, want none", s.Trials)
		}
		close(leave)
		synctest.Wait()
		g.mustBe(recloser.HalfOpen) // the late end of an old call is no trial
		if err := g.Do(t.Context(), succeeds); err != nil {
			t.Fatal(err)
		}
		g.mustBe(recloser.Closed)
	})
}

func TestC15WhoseTimeoutItWas(t *testing.T) {
	for name, c := range map[string]struct {
		cfg             Config
		callers         time.Duration
		fn              func(context.Context) error
		want            error
		failed, ignored uint64
	}{
		"the guard's":                {Config{Timeout: 50 * time.Millisecond}, 0, hangs, ErrTimeout, 1, 0},
		"the guard's for an attempt": {Config{AttemptTimeout: 50 * time.Millisecond}, 0, hangs, ErrTimeout, 1, 0},
		"the guard's, said wrongly":  {Config{Timeout: 50 * time.Millisecond}, 0, sayingCanceled, ErrTimeout, 1, 0},
		"the guard's, not heeded":    {Config{Timeout: 50 * time.Millisecond}, 0, takes(time.Second), nil, 1, 0},
		"the caller's":               {Config{Timeout: 50 * time.Millisecond}, time.Millisecond, hangs, context.DeadlineExceeded, 0, 1},
		"none":                       {Config{Timeout: 50 * time.Millisecond}, 0, fails, errDown, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c.cfg.Breaker = tolerant()
				g := newTest(t, c.cfg)
				ctx := t.Context()
				if c.callers > 0 {
					timed, cancel := context.WithTimeout(ctx, c.callers)
					defer cancel()
					ctx = timed
				}
				err := g.Do(ctx, c.fn)
				if !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if c.callers > 0 && errors.Is(err, ErrTimeout) {
					t.Errorf("got %v, which is not the guard's doing", err)
				}
				var timeout *TimeoutError
				if errors.As(err, &timeout) && (timeout.After != 50*time.Millisecond || timeout.Attempt != (c.cfg.AttemptTimeout > 0)) {
					t.Errorf("got %+v", timeout)
				}
				g.mustCount(0, c.failed, c.ignored)
			})
		})
	}
}

// sayingCanceled does not tell a deadline from a cancellation.
func sayingCanceled(ctx context.Context) error {
	<-ctx.Done()
	return context.Canceled
}

func TestC19BulkheadRefuses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), Bulkhead: Bulkhead{Max: 1}, Retry: thrice()})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = g.Do(ctx, hangs) }()
		synctest.Wait()
		began := time.Now()
		for range 1000 {
			err := g.Do(t.Context(), fails)
			var full *BulkheadError
			if !errors.As(err, &full) || full.Max != 1 || full.Name != "hotel-7" {
				t.Fatalf("got %v, want a BulkheadError", err)
			}
		}
		if past := time.Since(began); past != 0 {
			t.Errorf("refusals took %s", past)
		}
		g.mustBe(recloser.Closed)
		g.mustCount(0, 0, 0)
		cancel()
	})
}

func TestC71LateResultIsNotShared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tolerant(), Timeout: time.Millisecond})
		ended := false // not atomic: a function that ran on would be a race
		value, err := Do(t.Context(), g.Guard, func(context.Context) (int, error) {
			pass(5 * time.Millisecond)
			ended = true
			return 7, nil
		})
		if !ended || value != 7 || err != nil {
			t.Errorf("got %d, %v before the function ended: %v", value, err, !ended)
		}
		g.mustCount(0, 1, 0)
	})
}

func TestC86CallsOverlap(t *testing.T) {
	type key struct{}
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tolerant(), Timeout: time.Minute, AttemptTimeout: time.Second, Retry: thrice()})
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := g.Do(t.Context(), succeeds); err != nil {
				t.Error(err)
			}
		})
		var attempts atomic.Int32
		wg.Go(func() {
			err := g.Do(context.WithValue(t.Context(), key{}, "guest-17"), func(ctx context.Context) error {
				if got := ctx.Value(key{}); got != "guest-17" {
					t.Errorf("attempt %d sees %v", attempts.Load(), got)
				}
				pass(500 * time.Millisecond)
				if err := ctx.Err(); err != nil {
					t.Errorf("attempt %d was cancelled: %v", attempts.Load(), err)
				}
				if attempts.Add(1) < 3 {
					return errDown
				}
				return nil
			})
			if err != nil || attempts.Load() != 3 {
				t.Errorf("%v after %d attempts", err, attempts.Load())
			}
		})
		wg.Wait()
		g.mustCount(2, 0, 0)
	})
}

func TestC97BulkheadFullOfHangingCalls(t *testing.T) {
	const slow = 2 * time.Second
	for name, c := range map[string]struct {
		apart   time.Duration // between the admitted calls
		queue   int           // of the bulkhead, for 30 s
		limited bool          // it is the rate limit that refuses
	}{
		"one after the other": {apart: 40 * time.Millisecond},
		"all at once":         {},
		"with a queue":        {apart: 40 * time.Millisecond, queue: 1000},
		"rate limit":          {apart: 40 * time.Millisecond, limited: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := Config{
					Breaker:  recloser.Config{SlowCall: slow, Consecutive: 5, Spread: 300 * time.Millisecond},
					Bulkhead: Bulkhead{Max: 25},
				}
				if c.queue > 0 {
					cfg.Bulkhead.Queue, cfg.Bulkhead.Wait = c.queue, 30*time.Second
				}
				if c.limited {
					cfg.RateLimit, cfg.Bulkhead = RateLimit{Rate: 0.001, Burst: 25}, Bulkhead{}
				}
				g := newTest(t, cfg)
				opened := make(chan time.Time, 1)
				g.breaker.Subscribe(func(e recloser.Transition) {
					if e.To == recloser.Open {
						opened <- time.Now()
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				began := time.Now()
				for range 25 {
					go func() { _ = g.Do(ctx, hangs) }()
					pass(c.apart)
				}
				for range 100 {
					go func() { _ = g.Do(ctx, hangs) }()
					pass(50 * time.Millisecond)
				}
				select {
				case at := <-opened:
					if took := at.Sub(began); took < slow || took > slow+500*time.Millisecond {
						t.Errorf("open after %s", took)
					}
				default:
					t.Errorf("not open after %s", time.Since(began))
				}
			})
		})
	}
}
