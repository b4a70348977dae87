package guard

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/vtime"
)

// What a function sees of its context, whatever it asks first.
func TestContextOfAnAttempt(t *testing.T) {
	type key struct{}
	released := func(g *testGuard) { g.trip(time.Minute) }
	for name, c := range map[string]struct {
		cfg       Config
		callers   time.Duration // deadline of the caller; 0: none
		happens   func(*testGuard)
		deadline  time.Duration // 0: none
		err       error
		causedBy  error
		derived   error // of a context made from it
		doneAfter time.Duration
	}{
		"the attempt's timeout": {
			cfg: Config{Timeout: time.Minute, AttemptTimeout: time.Second}, deadline: time.Second,
			err: context.DeadlineExceeded, causedBy: context.DeadlineExceeded, derived: context.DeadlineExceeded, doneAfter: time.Second,
		},
		"the call's timeout": {
			cfg: Config{Timeout: time.Second}, deadline: time.Second,
			err: context.DeadlineExceeded, causedBy: context.DeadlineExceeded, derived: context.DeadlineExceeded, doneAfter: time.Second,
		},
		"the caller's": {
			cfg: Config{Timeout: time.Minute}, callers: time.Second, deadline: time.Second,
			err: context.DeadlineExceeded, causedBy: context.DeadlineExceeded, derived: context.DeadlineExceeded, doneAfter: time.Second,
		},
		"the caller": {
			cfg: Config{Timeout: time.Minute}, deadline: time.Minute, happens: func(g *testGuard) { g.giveUp() },
			err: context.Canceled, causedBy: context.Canceled, derived: context.Canceled,
		},
		"a trip": {
			cfg: Config{Timeout: time.Minute, Breaker: recloser.Config{CancelOnTrip: true}}, deadline: time.Minute, happens: released,
			err: context.Canceled, causedBy: recloser.ErrOpen, derived: context.Canceled,
		},
		"a trip without a timeout": {
			cfg: Config{Bulkhead: Bulkhead{Max: 1}, Breaker: recloser.Config{CancelOnTrip: true}}, happens: released,
			err: context.Canceled, causedBy: recloser.ErrOpen, derived: context.Canceled,
		},
	} {
		for order, ask := range map[string]func(context.Context){
			"Done first": func(ctx context.Context) { ctx.Done() },
			"Err first":  func(ctx context.Context) { _ = ctx.Err() },
			"late":       func(context.Context) {},
		} {
			t.Run(name+"/"+order, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					g := newTest(t, c.cfg)
					callers, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 17))
					defer cancel()
					g.giveUp = cancel
					if c.callers > 0 {
						timed, cancel := context.WithTimeout(callers, c.callers)
						defer cancel()
						callers = timed
					}
					began := time.Now()
					_ = g.Do(callers, func(ctx context.Context) error {
						if ctx.Value(key{}) != 17 {
							t.Error("the caller's value is lost")
						}
						if d, ok := ctx.Deadline(); ok != (c.deadline > 0) || ok && d.Sub(began) != c.deadline {
							t.Errorf("the deadline is %s after the start (%v), want %s", d.Sub(began), ok, c.deadline)
						}
						ask(ctx)
						if c.happens != nil {
							c.happens(g)
							synctest.Wait()
						}
						pass(c.doneAfter)
						synctest.Wait()
						if err := ctx.Err(); !errors.Is(err, c.err) {
							t.Errorf("Err is %v, want %v", err, c.err)
						}
						derived, cancel := context.WithCancel(ctx)
						defer cancel()
						select {
						case <-ctx.Done():
						default:
							t.Error("Err says that it is done, and Done does not")
						}
						if cause := context.Cause(ctx); !errors.Is(cause, c.causedBy) {
							t.Errorf("the cause is %v, want %v", cause, c.causedBy)
						}
						if err := derived.Err(); !errors.Is(err, c.derived) || !errors.Is(context.Cause(derived), c.causedBy) {
							t.Errorf("what is derived says %v, %v", err, context.Cause(derived))
						}
						if ctx.Value(key{}) != 17 {
							t.Error("the caller's value is lost in the end")
						}
						return ctx.Err()
					})
				})
			})
		}
	}
}

func TestContextEndsWithTheAttempt(t *testing.T) {
	for name, ask := range map[string]func(context.Context){
		"asked before": func(ctx context.Context) { ctx.Done() },
		"asked after":  func(context.Context) {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newTest(t, Config{Breaker: tolerant(), Timeout: time.Minute, Retry: thrice()})
				var kept []context.Context
				_ = g.Do(t.Context(), func(ctx context.Context) error {
					if len(kept) > 0 && kept[0].Err() == nil {
						t.Error("the first attempt's context lives on in the second")
					}
					if ctx.Err() != nil {
						t.Error(ctx.Err())
					}
					ask(ctx)
					kept = append(kept, ctx)
					return errDown
				})
				pass(time.Hour) // then its deadline has passed too
				for _, ctx := range kept {
					<-ctx.Done()
					if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), context.Canceled) {
						t.Errorf("it ended, and says %v, %v", ctx.Err(), context.Cause(ctx))
					}
				}
			})
		})
	}
}

// A program may log its context while others wait for it.
func TestContextIsPrintedWithoutARace(t *testing.T) {
	g := newTest(t, Config{Breaker: tolerant(), Timeout: time.Minute})
	_ = g.Do(t.Context(), func(ctx context.Context) error {
		var all sync.WaitGroup
		all.Go(func() { ctx.Done() })
		derived := context.WithValue(ctx, g, 17)
		if got, want := fmt.Sprint(ctx, "; ", derived), `guard.attempt("hotel-7")`; strings.Count(got, want) != 2 {
			t.Errorf("printed as %s", got)
		}
		all.Wait()
		return nil
	})
}

// Whoever waits starts a timer, and nobody starts a goroutine.
func TestNoGoroutineForACall(t *testing.T) {
	cfg := Config{Breaker: tolerant(), Timeout: time.Minute, AttemptTimeout: time.Second}
	cfg.Breaker.CancelOnTrip = true
	g := newTest(t, cfg)
	before := runtime.NumGoroutine()
	err := g.Do(t.Context(), func(ctx context.Context) error {
		for range 10 {
			derived, cancel := context.WithCancel(ctx)
			defer cancel()
			derived.Done()
		}
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines, %d before", n, before)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The deadline is an event of the virtual clock as soon as somebody waits for it.
func TestContextOnAVirtualClock(t *testing.T) {
	clock := vtime.NewVirtual(time.Now())
	cfg := Config{Breaker: tolerant(), AttemptTimeout: time.Second}
	g, err := NewOn(cfg, clock, nil)
	if err != nil {
		t.Fatal(err)
	}
	began := clock.Now()
	for name, waits := range map[string]func(context.Context){
		"with it": func(ctx context.Context) { clock.Wait(ctx, time.Minute, nil) },
		"with a derived": func(ctx context.Context) {
			sub, cancel := context.WithCancel(ctx)
			defer cancel()
			clock.Wait(sub, time.Minute, nil)
		},
		"for its moment":  func(ctx context.Context) { clock.Wait(t.Context(), time.Second, nil); <-ctx.Done() },
		"without any use": func(context.Context) { clock.Wait(t.Context(), time.Second, nil) },
	} {
		clock.Go(func() {
			err := g.Do(t.Context(), func(ctx context.Context) error {
				waits(ctx)
				if past := clock.Now().Sub(began); past != time.Second {
					t.Errorf("%s: waited for %s", name, past)
				}
				return ctx.Err()
			})
			if !errors.Is(err, ErrTimeout) {
				t.Errorf("%s: got %v, want ErrTimeout", name, err)
			}
		})
	}
	clock.Run(time.Minute)
}

func TestAllocations(t *testing.T) {
	full := Config{
		Timeout: time.Minute, AttemptTimeout: time.Second, RateLimit: RateLimit{Rate: 1e6},
		Bulkhead: Bulkhead{Max: 25}, Retry: Retry{Attempts: 3, Unmarked: true},
	}
	released := full
	released.Breaker.CancelOnTrip = true
	for name, c := range map[string]struct {
		cfg  Config
		want float64
	}{
		"nothing but the breaker":  {Config{}, 0},
		"everything":               {full, 1},
		"everything, CancelOnTrip": {released, 1},
	} {
		g := newTest(t, c.cfg)
		ctx := t.Context()
		if n := testing.AllocsPerRun(100, func() { _ = g.Do(ctx, succeeds, Idempotent) }); n > c.want {
			t.Errorf("%s: a call allocates %v times, want %v", name, n, c.want)
		}
		if n := testing.AllocsPerRun(100, func() {
			_, _ = Do(ctx, g.Guard, func(context.Context) (int, error) { return 1, nil }, Idempotent)
		}); n > c.want {
			t.Errorf("%s: a call with a value allocates %v times, want %v", name, n, c.want)
		}
	}
}
