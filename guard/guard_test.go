package guard

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/vtime"
)

func TestRateLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), RateLimit: RateLimit{Rate: 2, Burst: 3}})
		passed := func() (n int) {
			for range 10 {
				err := g.Do(t.Context(), succeeds)
				var limited *LimitError
				switch {
				case err == nil:
					n++
				case !errors.As(err, &limited) || limited.RetryAfter() != 500*time.Millisecond || !errors.Is(err, ErrLimited):
					t.Fatalf("got %v, want a LimitError of 0.5 s", err)
				}
			}
			return n
		}
		for _, want := range []struct {
			after time.Duration
			calls int
		}{{0, 3}, {0, 0}, {time.Second, 2}, {time.Hour, 3}} {
			pass(want.after)
			if got := passed(); got != want.calls {
				t.Errorf("%d calls passed after %s, want %d", got, want.after, want.calls)
			}
		}
		g.mustBe(recloser.Closed)
	})
}

func TestBulkheadQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tolerant(), Bulkhead: Bulkhead{Max: 1, Wait: 3 * time.Second, Queue: 2}})
		began := time.Now()
		var mu sync.Mutex
		var ended []time.Duration
		var wg sync.WaitGroup
		call := func(ctx context.Context, fn func(context.Context) error, want error) {
			wg.Go(func() {
				if err := g.Do(ctx, fn); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, time.Since(began))
			})
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		call(t.Context(), takes(2*time.Second), nil)
		call(ctx, succeeds, context.Canceled)
		call(t.Context(), takes(2*time.Second), nil) // from 2 s to 4 s
		call(t.Context(), succeeds, ErrFull)         // two wait
		cancel()
		synctest.Wait()
		call(t.Context(), succeeds, ErrFull) // waits in vain until 3 s
		wg.Wait()
		want := []time.Duration{0, 0, 2 * time.Second, 3 * time.Second, 4 * time.Second}
		for i := range want {
			if ended[i] != want[i] {
				t.Fatalf("calls ended after %v, want %v", ended, want)
			}
		}
	})
}

// A slot may get free between the look for one and the entry into the queue.
func TestQueueFindsTheFreeSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, began := newBulkhead(Config{Bulkhead: Bulkhead{Max: 1}}.WithDefaults().Bulkhead, vtime.Real{}), time.Now()
		if !h.enter(t.Context(), time.Minute) || time.Since(began) != 0 {
			t.Errorf("the wait for a free slot took %s", time.Since(began))
		}
	})
}

func TestTimeoutEndsTheWaitForTheBulkhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tolerant(), Timeout: time.Second, Bulkhead: Bulkhead{Max: 1, Wait: time.Minute}})
		go func() { _ = g.Do(t.Context(), takes(time.Minute)) }()
		synctest.Wait()
		began := time.Now()
		if err := g.Do(t.Context(), succeeds); !errors.Is(err, ErrFull) || time.Since(began) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		pass(time.Minute)
	})
}

func TestDoOr(t *testing.T) {
	g := newTest(t, Config{Breaker: tolerant(), Retry: thrice()})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want int
	}{
		"good":           {t.Context(), nil, 1},
		"failed":         {t.Context(), errDown, 2},
		"nobody is left": {gone, errDown, 0},
	} {
		got, err := DoOr(c.ctx, g.Guard, func(context.Context) (int, error) {
			if c.err != nil {
				return 0, c.err
			}
			return 1, nil
		}, func(_ context.Context, err error) (int, error) {
			if !errors.Is(err, errDown) {
				t.Errorf("%s: the fallback got %v", name, err)
			}
			return 2, nil
		})
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s: got %d, %v", name, got, err)
		}
	}
}

func TestBackoff(t *testing.T) {
	g := newTest(t, Config{Retry: Retry{Attempts: 9, Backoff: time.Second, MaxBackoff: 5 * time.Second}})
	for n, want := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 4: 5, 5: 5, 9: 5} {
		if got, ok := g.backoff(n, 0); got != want*time.Second/2 || !ok {
			t.Errorf("the wait after attempt %d is %s, want half of %s", n, got, want*time.Second)
		}
	}
	if got, ok := g.backoff(1, 5*time.Second); got != 5500*time.Millisecond || !ok {
		t.Errorf("told to wait: %s, %v", got, ok)
	}
	if _, ok := g.backoff(1, 5*time.Second+1); ok {
		t.Error("told to wait for longer than MaxBackoff, and it does")
	}
}

func TestValidate(t *testing.T) {
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
	off := Config{
		Timeout: -1, AttemptTimeout: -2, RateLimit: RateLimit{Rate: -1}, Bulkhead: Bulkhead{Max: -5, Wait: -1},
		Retry: Retry{Attempts: -1, Budget: -1, Floor: -1},
	}
	if err := off.Validate(); err != nil {
		t.Error(err)
	}
	bad := Config{
		Breaker: recloser.Config{MinCalls: -3}, Timeout: time.Second, AttemptTimeout: time.Minute,
		RateLimit: RateLimit{Rate: math.NaN(), Burst: -1},
		Bulkhead:  Bulkhead{Max: 2e6, Min: 3e6, Wait: 1, Queue: -1},
		Retry:     Retry{Attempts: 21, Backoff: time.Minute, MaxBackoff: time.Second, Budget: math.Inf(1), Floor: 11},
	}
	_, err := New(bad)
	if err == nil {
		t.Fatal("no fault found")
	}
	lines := strings.Split(err.Error(), "\n")
	fields := []string{
		"MinCalls", "AttemptTimeout", "RateLimit.Rate", "RateLimit.Burst", "Bulkhead.Max", "Bulkhead.Min", "Bulkhead.Wait", "Bulkhead.Queue",
		"Retry.Attempts", "Retry.MaxBackoff", "Retry.Budget", "Retry.Floor",
	}
	if len(lines) != len(fields) {
		t.Fatalf("%d faults, want %d:\n%v", len(lines), len(fields), err)
	}
	for i, field := range fields {
		if !strings.HasPrefix(lines[i], "recloser: "+field+" ") {
			t.Errorf("fault %d is %q, want one of %s", i, lines[i], field)
		}
	}
}

// All waits go through the clock, so the guard runs on one that takes no time.
func TestVirtualClock(t *testing.T) {
	clock := vtime.NewVirtual(time.Now())
	g, err := NewOn(Config{
		Breaker: tolerant(), AttemptTimeout: time.Minute, Bulkhead: Bulkhead{Max: 1, Wait: time.Hour}, Retry: thrice(),
	}, clock, func() float64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	began, attempts := clock.Now(), 0
	for range 2 {
		clock.Go(func() {
			err := g.Do(t.Context(), func(ctx context.Context) error {
				attempts++
				clock.Wait(ctx, time.Hour, nil)
				return ctx.Err()
			})
			if !errors.Is(err, ErrTimeout) {
				t.Errorf("got %v, want ErrTimeout", err)
			}
			if past := clock.Now().Sub(began); past.Minutes() != float64(attempts) {
				t.Errorf("%d attempts ended after %s", attempts, past)
			}
		})
	}
	clock.Run(time.Hour)
	if attempts != 6 {
		t.Errorf("%d attempts, want 6", attempts)
	}
}

// A call that is taken back leaves no trace.
func TestCancelledCallLeavesItsTokenAndItsSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tolerant(), RateLimit: RateLimit{Rate: 1, Burst: 1}, Bulkhead: Bulkhead{Max: 1}})
		for range 3 {
			c, err := g.Allow(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.Cancel()
			c.Cancel()
			c.Done(errDown)
		}
		g.mustCount(0, 0, 0)
	})
}

func TestNoFunction(t *testing.T) {
	for name, cfg := range map[string]Config{"bare": {}, "with everything": {Timeout: time.Second, Bulkhead: Bulkhead{Max: 1}, Retry: thrice()}} {
		t.Run(name, func(t *testing.T) {
			cfg.Breaker = tripping()
			g := newTest(t, cfg)
			if err := g.Do(t.Context(), nil); err == nil {
				t.Error("no error")
			}
			if _, err := Do[int](t.Context(), g.Guard, nil); err == nil {
				t.Error("no error")
			}
			g.mustCount(0, 0, 0)
			if err := g.Do(t.Context(), succeeds); err != nil {
				t.Error(err) // the slot is free
			}
		})
	}
}
