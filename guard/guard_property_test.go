package guard

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// tally counts what really happened, whatever the guard believes.
type tally struct {
	sync.Mutex
	reached, retries, running, most int
}

// Whatever becomes of calls, all slots are free in the end, a token of the rate
// limit is gone for each call that reached the dependency, and one of the budget
// for each retry that started; the breaker has nothing in flight.
func TestTokensAreConserved(t *testing.T) {
	retries := 0
	for seed := range uint64(150) {
		bubble(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			const most, tokens, earned = 5, 1e5, 0.125
			cfg := Config{
				Breaker:        tripping(),
				Timeout:        time.Duration(r.IntN(3)-1) * 300 * time.Millisecond,
				AttemptTimeout: time.Duration(r.IntN(3)-1) * 100 * time.Millisecond,
				RateLimit:      RateLimit{Rate: 1e-6, Burst: tokens},
				Bulkhead:       Bulkhead{Max: most, Min: 1 + r.IntN(most), Wait: time.Duration(r.IntN(3)-1) * 50 * time.Millisecond, Queue: 3},
				Retry:          Retry{Attempts: 1 + r.IntN(4), Backoff: 20 * time.Millisecond, Budget: earned, Floor: 1e-6},
			}
			cfg.Breaker.Consecutive, cfg.Breaker.FailureRate = 8, recloser.Off
			cfg.Breaker.CancelOnTrip = r.IntN(2) == 0
			g := newTest(t, cfg)
			g.random = rand.Float64
			const saved = 50
			g.budget.Put(saved) // nil if retry is off
			startBudget := 0.0
			if g.budget != nil {
				startBudget = g.budget.Tokens()
			}
			var seen tally
			var wg sync.WaitGroup
			for range 200 {
				mode, took := r.IntN(10), time.Duration(r.IntN(150))*time.Millisecond
				giveUp, marked := time.Duration(r.IntN(400))*time.Millisecond, r.IntN(2)
				wg.Go(func() { g.oneCall(&seen, mode, took, giveUp, marked == 1) })
				if r.IntN(40) == 0 {
					_ = g.breaker.TripFor(50*time.Millisecond, "ana", "test")
				}
				pass(time.Duration(r.IntN(20)) * time.Millisecond)
			}
			wg.Wait()
			retries += seen.retries

			if h := g.bulkhead; h.running != 0 || h.limit < cfg.Bulkhead.Min || h.limit > most || h.waiting.Len() != 0 {
				t.Errorf("seed %d: %d slots of %d are taken, %d wait", seed, h.running, h.limit, h.waiting.Len())
			}
			if seen.most > most {
				t.Errorf("seed %d: %d ran at once", seed, seen.most)
			}
			if left := g.limit.Tokens(); math.Abs(tokens-left-float64(seen.reached)) > 0.01 {
				t.Errorf("seed %d: %v tokens are gone, and %d calls reached the dependency", seed, tokens-left, seen.reached)
			}
			if g.budget != nil {
				want := startBudget + earned*float64(seen.reached) - float64(seen.retries)
				if left := g.budget.Tokens(); math.Abs(want-left) > 0.01 {
					t.Errorf("seed %d: %v in the budget after %d retries, want %v", seed, left, seen.retries, want)
				}
			}
			if s := g.breaker.Stats(); s.InFlight != 0 || s.Trials != 0 {
				t.Errorf("seed %d: %d in flight, %d trials", seed, s.InFlight, s.Trials)
			}
		})
	}
	if retries < 100 {
		t.Errorf("only %d retries: this proves nothing", retries)
	}
}

// oneCall makes a call that goes one of several ways.
func (g *testGuard) oneCall(seen *tally, mode int, took, giveUp time.Duration, marked bool) {
	var marks []Mark
	if marked {
		marks = append(marks, Idempotent)
	}
	defer func() { _ = recover() }()
	ctx, cancel := context.WithTimeout(g.Context(), giveUp)
	defer cancel()
	attempts := 0
	defer func() {
		if attempts > 0 {
			seen.Lock()
			defer seen.Unlock()
			seen.reached++
			seen.retries += attempts - 1
		}
	}()
	_ = g.make(ctx, mode, func(ctx context.Context) error {
		attempts++
		seen.Lock()
		seen.running++
		seen.most = max(seen.most, seen.running)
		seen.Unlock()
		defer func() {
			seen.Lock()
			defer seen.Unlock()
			seen.running--
		}()
		if mode == 0 {
			pass(took) // heeds nothing
			return nil
		}
		g.clock.Wait(ctx, took, nil)
		switch {
		case mode == 1:
			panic("boom")
		case mode == 2:
			runtime.Goexit()
		case mode == 3:
			return errors.Join(errDown, ctx.Err())
		case mode == 4:
			return &recloser.WaitError{After: took, Throttled: true, Err: errDown}
		case ctx.Err() != nil:
			return ctx.Err()
		case mode == 5:
			return errDown
		}
		return nil
	}, marks...)
}

// make makes a call in one of the two ways. A call of one's own may be told of its
// end more than once.
func (g *testGuard) make(ctx context.Context, mode int, fn func(context.Context) error, marks ...Mark) error {
	if mode%2 == 0 {
		return g.Do(ctx, fn, marks...)
	}
	call, err := g.Allow(ctx, marks...)
	if err != nil {
		return err
	}
	defer call.End(recloser.Failure)
	for {
		if err = fn(ctx); err == nil {
			call.Answered()
			pass(10 * time.Millisecond)
			break
		}
		if err = call.Again(err); err != nil {
			break
		}
	}
	call.Done(err)
	call.Done(nil)
	return err
}

func TestPanicsGoOn(t *testing.T) {
	g := newTest(t, Config{Breaker: tolerant(), Timeout: time.Minute, Retry: thrice(), Bulkhead: Bulkhead{Max: 1}})
	for range 3 {
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("recovered %v", got)
				}
			}()
			_ = g.Do(t.Context(), func(context.Context) error { panic("boom") })
		}()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = g.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
	}()
	<-ended
	g.mustCount(0, 4, 0)
	if err := g.Do(t.Context(), succeeds); err != nil {
		t.Error(err)
	}
}
