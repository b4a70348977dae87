package bulkhead_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/internal/vtime"
)

// pause lets virtual time pass.
func pause(d time.Duration) { <-time.After(d) }

const ms = time.Millisecond

// fill takes n slots at once.
func fill(t *testing.T, b *bulkhead.Bulkhead, n int) {
	t.Helper()
	for i := range n {
		if !b.TryEnter() {
			t.Fatalf("no room for call %d of %d, the limit is %d", i+1, n, b.Limit())
		}
	}
}

func empty(b *bulkhead.Bulkhead) {
	for b.InFlight() > 0 {
		b.Leave()
	}
}

func TestTheLimitInForce(t *testing.T) {
	tests := []struct {
		name         string
		most, peak   int
		run          int
		later        time.Duration
		limit, again int // with the run, and once it is over
	}{
		{"healthy", 1024, 300, 0, 0, 1024, 1024},
		{"two bad calls", 1024, 300, 2, 0, 1024, 1024},
		{"three bad calls", 1024, 300, 3, 0, 600, 1024},
		{"few calls", 1024, 1, 3, 0, 8, 1024},
		{"none ever", 1024, 0, 5, 0, 8, 1024},
		{"never above the ceiling", 100, 90, 3, 0, 100, 100},
		{"a ceiling below eight", 5, 1, 3, 0, 5, 5},
		{"a peak ten minutes ago", 1024, 300, 3, 10 * time.Minute, 600, 1024},
		{"a peak eleven minutes ago", 1024, 300, 3, 11 * time.Minute, 8, 1024},
		{"no ceiling", 0, 300, 3, 0, 600, math.MaxInt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bulkhead.New(tt.most, vtime.Real{})
				fill(t, b, tt.peak)
				empty(b)
				b.Observe(0, true)
				pause(tt.later)
				if b.Observe(tt.run, tt.run == 0); b.Limit() != tt.limit {
					t.Errorf("limit %d after %d bad calls, want %d", b.Limit(), tt.run, tt.limit)
				}
				if b.Observe(0, true); b.Limit() != tt.again {
					t.Errorf("limit %d once it is healthy again, want %d", b.Limit(), tt.again)
				}
			})
		})
	}
}

// What piles up while calls are bad is no peak of healthy ones.
func TestOnlyHealthyPeaksCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead.New(1024, vtime.Real{})
		fill(t, b, 20)
		b.Observe(0, true)
		fill(t, b, 30)
		b.Observe(1, false)
		b.Observe(3, false)
		if b.Limit() != 40 {
			t.Errorf("limit %d, want twice the 20 that ran when all was well", b.Limit())
		}
		if b.TryEnter() {
			t.Error("a slot beyond the limit")
		}
		empty(b)
		fill(t, b, 40)
	})
}

func TestExcessWaitsForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead.New(2, vtime.Real{})
		fill(t, b, 2)
		type end struct {
			n    int
			took time.Duration
			full bool
		}
		var mu sync.Mutex
		var got []end
		var callers sync.WaitGroup
		for n := range 4 {
			callers.Go(func() {
				began := time.Now()
				err := b.Enter(t.Context())
				var full *bulkhead.FullError
				mu.Lock()
				defer mu.Unlock()
				got = append(got, end{n, time.Since(began), errors.As(err, &full) && full.Limit == 2})
			})
			pause(ms)
		}
		pause(46 * ms)
		b.Leave() // of the two that fit into the queue, the first gets this slot
		callers.Wait()
		want := []end{{2, 0, true}, {3, 0, true}, {0, 50 * ms, false}, {1, 100 * ms, true}}
		for i, w := range want {
			if got[i] != w {
				t.Errorf("end %d: %+v, want %+v", i, got[i], w)
			}
		}
		if b.Refused() != 3 || b.InFlight() != 2 {
			t.Errorf("%d refused, %d in flight; want 3 and 2", b.Refused(), b.InFlight())
		}
	})
}

func TestWaitEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead.New(1, vtime.Real{})
		fill(t, b, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 30*ms)
		defer cancel()
		began := time.Now()
		if err := b.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*ms || b.Refused() != 0 {
			t.Errorf("got %v after %s, %d refused", err, time.Since(began), b.Refused())
		}
		empty(b)
		fill(t, b, 1) // nobody waits who is not there
	})
}

func TestALargerCeilingLetsInWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead.New(1, vtime.Real{})
		fill(t, b, 1)
		time.AfterFunc(20*ms, func() { b.SetMax(2) })
		began := time.Now()
		if err := b.Enter(t.Context()); err != nil || time.Since(began) != 20*ms {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}

// dependency is a breaker with its bulkhead, looked after as the gateway does.
type dependency struct {
	*bulkhead.Bulkhead
	breaker *recloser.Breaker
}

func newDependency(t *testing.T, most int, cfg recloser.Config) *dependency {
	t.Helper()
	breaker, err := recloser.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := &dependency{bulkhead.New(most, vtime.Real{}), breaker}
	ctx, ticker := t.Context(), time.NewTicker(50*ms)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				breaker.Check()
				s := breaker.Stats()
				d.Observe(s.Window.Run, s.State == recloser.Closed && s.Window.Run == 0)
			}
		}
	}()
	return d
}

// call makes one call that takes that long.
func (d *dependency) call(ctx context.Context, process *bulkhead.Bulkhead, took time.Duration) error {
	if err := bulkhead.Admit(ctx, d.breaker, d.Bulkhead, process); err != nil {
		return err
	}
	defer process.Leave()
	defer d.Leave()
	return d.breaker.Do(ctx, func(context.Context) error {
		pause(took)
		return nil
	})
}

// G33: a burst of callers, and pauses at full traffic, are no reason to refuse
// anybody, even where calls are suspect before the pause is over.
func TestG33_BurstsAndPausesRefuseNobody(t *testing.T) {
	const suspect = 253 * ms
	t.Run("256 callers at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, process := newDependency(t, 1024, recloser.Config{SlowCall: suspect + 300*ms}), bulkhead.New(8192, vtime.Real{})
			for range 3 {
				var callers sync.WaitGroup
				for range 256 {
					callers.Go(func() {
						if err := d.call(t.Context(), process, 300*ms); err != nil {
							t.Error(err)
						}
					})
				}
				callers.Wait()
				pause(time.Second)
			}
		})
	})
	t.Run("pauses at 1000 calls a second", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, process := newDependency(t, 1024, recloser.Config{SlowCall: suspect}), bulkhead.New(8192, vtime.Real{})
			var callers sync.WaitGroup
			inForce := false
			began := time.Now()
			for i := range 10_000 {
				took := 3 * ms
				if at := time.Since(began) % (2 * time.Second); at >= time.Second && at < 1300*ms {
					took = 1300*ms - at + 3*ms
				}
				callers.Go(func() {
					if err := d.call(t.Context(), process, took); err != nil {
						t.Errorf("call %d: %v", i, err)
					}
				})
				inForce = inForce || d.Limit() < 1024
				pause(ms)
			}
			callers.Wait()
			if d.Refused() != 0 || !inForce || d.breaker.State() != recloser.Closed {
				t.Errorf("%d refused, the limit was in force: %t, %s", d.Refused(), inForce, d.breaker.Explain())
			}
		})
	})
}

func TestABlackHoleTakesNoMoreThanTwiceThePeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, process := newDependency(t, 1024, recloser.Config{SlowCall: 253 * ms, Consecutive: recloser.Off, FailureRate: recloser.Off}), bulkhead.New(8192, vtime.Real{})
		var callers sync.WaitGroup
		most := 0
		for i := range 2000 {
			took := 3 * ms
			if i >= 1000 {
				took = 10 * time.Second
			}
			callers.Go(func() { _ = d.call(t.Context(), process, took) })
			most = max(most, d.InFlight())
			pause(ms)
		}
		callers.Wait()
		if most < 300 || most > 600 {
			t.Errorf("%d in flight at most, want some more than the 250 of the time before anybody could know", most)
		}
		if s := d.breaker.Stats(); d.Refused() == 0 || s.Failed != 0 || process.InFlight() != 0 || d.InFlight() != 0 {
			t.Errorf("%d refused, %d failed, %d and %d in flight", d.Refused(), s.Failed, d.InFlight(), process.InFlight())
		}
	})
}

func TestBreakerRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, process := newDependency(t, 1, recloser.Config{}), bulkhead.New(1, vtime.Real{})
		fill(t, d.Bulkhead, 1)
		if err := d.breaker.TripFor(time.Minute, "test", "test"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := d.call(t.Context(), process, 0); !errors.Is(err, recloser.ErrOpen) || time.Since(began) != 0 {
			t.Errorf("got %v after %s, want the breaker's refusal at once", err, time.Since(began))
		}
	})
}

func TestAdmit(t *testing.T) {
	tests := []struct {
		name                  string
		own, process          int // of one slot each, how many are taken
		ownAfter, processThen int // in flight after
		took                  time.Duration
		full                  bool
	}{
		{"room in both", 0, 0, 1, 1, 0, false},
		{"its own is full", 1, 0, 1, 0, 100 * ms, true},
		{"the process is full", 0, 1, 0, 1, 100 * ms, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, process := newDependency(t, 1, recloser.Config{}), bulkhead.New(1, vtime.Real{})
				fill(t, d.Bulkhead, tt.own)
				fill(t, process, tt.process)
				began := time.Now()
				err := bulkhead.Admit(t.Context(), d.breaker, d.Bulkhead, process)
				if full := errors.As(err, new(*bulkhead.FullError)); full != tt.full || time.Since(began) != tt.took {
					t.Errorf("got %v after %s", err, time.Since(began))
				}
				if d.InFlight() != tt.ownAfter || process.InFlight() != tt.processThen {
					t.Errorf("%d and %d in flight", d.InFlight(), process.InFlight())
				}
				if s := d.breaker.Stats(); s.InFlight != 0 || s.Failed+s.Ignored+s.Success != 0 {
					t.Errorf("the breaker has counted something: %+v", s)
				}
			})
		})
	}
}

// To a breaker further out a full bulkhead is nobody's failure.
func TestFullIsNoFailure(t *testing.T) {
	b, err := recloser.New(recloser.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_ = b.Do(t.Context(), func(context.Context) error { return &bulkhead.FullError{Limit: 1} })
	if s := b.Stats(); s.Failed != 0 || s.Ignored != 1 {
		t.Errorf("%d failed, %d ignored", s.Failed, s.Ignored)
	}
}

func TestStress(t *testing.T) {
	b := bulkhead.New(4, vtime.Real{})
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for i := range 200 {
				if b.Enter(t.Context()) == nil {
					if n := b.InFlight(); n > 4 {
						t.Errorf("%d in flight", n)
					}
					b.Observe(i%5, i%5 == 0)
					b.Leave()
				}
			}
		})
	}
	callers.Wait()
	if b.InFlight() != 0 {
		t.Errorf("%d in flight at the end", b.InFlight())
	}
}
