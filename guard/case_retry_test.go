package guard

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

func TestC80OneOutcomeForAllAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tolerant(), Retry: thrice()})
		attempts := 0
		err := g.Do(t.Context(), func(context.Context) error { attempts++; return errDown })
		if !errors.Is(err, errDown) || attempts != 3 {
			t.Errorf("%v after %d attempts", err, attempts)
		}
		g.mustCount(0, 1, 0)
		if w := g.breaker.Stats().Window; w.Failed != 1 {
			t.Errorf("the window holds %+v", w)
		}
	})
}

func TestC81OpenMeansNoAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), Timeout: time.Minute, Retry: thrice()})
		g.trip(time.Minute)
		began := time.Now()
		err := g.Do(t.Context(), func(context.Context) error {
			t.Error("it was attempted")
			return nil
		})
		if !errors.Is(err, recloser.ErrOpen) || time.Since(began) != 0 {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}

func TestC82WaitThatDoesNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		timeout, callers time.Duration
		err              error
		attempts         int
	}{
		"caller's deadline":       {0, 40 * time.Millisecond, errDown, 1},
		"guard's timeout":         {40 * time.Millisecond, 0, errDown, 1},
		"the second wait":         {0, 120 * time.Millisecond, errDown, 2},
		"it fits":                 {0, time.Second, errDown, 3},
		"told to wait longer":     {0, time.Second, &recloser.WaitError{After: time.Second, Throttled: true, Err: errDown}, 1},
		"told to wait and fits":   {0, time.Minute, &recloser.WaitError{After: time.Second, Throttled: true, Err: errDown}, 3},
		"told to wait for ever":   {0, 0, &recloser.WaitError{After: time.Hour, Throttled: true, Err: errDown}, 1},
		"attempts are not marked": {0, 0, errDown, 3},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				retry := thrice()
				retry.Unmarked = false
				cfg := Config{Breaker: tolerant(), Timeout: c.timeout, Retry: retry}
				cfg.Breaker.RetryAfterMax = recloser.Off
				g := newTest(t, cfg)
				ctx := t.Context()
				if c.callers > 0 {
					timed, cancel := context.WithTimeout(ctx, c.callers)
					defer cancel()
					ctx = timed
				}
				attempts, last := 0, time.Time{}
				err := g.Do(ctx, func(context.Context) error {
					attempts, last = attempts+1, time.Now()
					return c.err
				}, Idempotent)
				if !errors.Is(err, errDown) || attempts != c.attempts || ctx.Err() != nil {
					t.Errorf("%v after %d attempts, context %v", err, attempts, ctx.Err())
				}
				if past := time.Since(last); past != 0 {
					t.Errorf("it came back %s after the last attempt", past)
				}
			})
		})
	}
}

func TestC83Budget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const floor = 1
		g := newTest(t, Config{Breaker: tolerant(), Retry: Retry{Attempts: 3, Unmarked: true, Budget: 0.2, Floor: floor}})
		var mu sync.Mutex
		attempts, spent := 0, 0
		var wg sync.WaitGroup
		began := time.Now()
		for range 1000 {
			wg.Go(func() {
				err := g.Do(t.Context(), func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					attempts++
					return errDown
				})
				if !errors.Is(err, errDown) {
					t.Errorf("got %v, want the last attempt's error in it", err)
				}
				if errors.Is(err, ErrBudget) {
					mu.Lock()
					defer mu.Unlock()
					spent++
				}
			})
		}
		wg.Wait()
		most := 200 + int(floor*(10+time.Since(began).Seconds()))
		if retries := attempts - 1000; retries < savedRetries/2 || retries > most {
			t.Errorf("%d retries, want from %d to %d", retries, savedRetries/2, most)
		}
		if spent < 700 {
			t.Errorf("%d calls were told that the budget is spent", spent)
		}
		g.mustCount(0, 1000, 0)
	})
}
