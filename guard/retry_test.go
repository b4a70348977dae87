package guard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

func TestOpenMeanwhileStopsTheRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), Retry: Retry{Attempts: 3, Unmarked: true}})
		attempts := 0
		time.AfterFunc(10*time.Millisecond, func() { g.trip(time.Minute) })
		before := g.budget.Tokens()
		err := g.Do(t.Context(), func(context.Context) error { attempts++; return errDown })
		if !errors.Is(err, errDown) || attempts != 1 {
			t.Errorf("%v after %d attempts", err, attempts)
		}
		if got := g.budget.Tokens(); got < before {
			t.Errorf("%v tokens left of %v, and there was no retry", got, before)
		}
	})
}

func TestTrialIsOneAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), Retry: thrice()})
		_ = g.Do(t.Context(), fails)
		pass(time.Second)
		g.mustBe(recloser.HalfOpen)
		attempts := 0
		_ = g.Do(t.Context(), func(context.Context) error { attempts++; return errDown })
		if attempts != 1 {
			t.Errorf("%d attempts, want 1", attempts)
		}
		g.mustBe(recloser.Open)
	})
}

func TestTrialIsOneAttemptEvenIfHeldClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), Retry: thrice()})
		_ = g.Do(t.Context(), fails)
		pass(time.Second)
		attempts := 0
		_ = g.Do(t.Context(), func(context.Context) error {
			attempts++
			if err := g.breaker.HoldClosed("ana", "test", time.Time{}); err != nil {
				t.Error(err)
			}
			return errDown
		})
		if attempts != 1 {
			t.Errorf("%d attempts, want 1", attempts)
		}
	})
}

// In shadow mode the breaker's state changes nothing for callers.
func TestShadowRetriesAsIfThereWereNoBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := Config{Breaker: tripping(), Retry: thrice()}
		cfg.Breaker.Shadow = true
		g := newTest(t, cfg)
		for _, state := range []recloser.State{recloser.Closed, recloser.Open, recloser.HalfOpen} {
			if state == recloser.HalfOpen {
				pass(time.Second)
			}
			g.mustBe(state)
			attempts := 0
			err := g.Do(t.Context(), func(context.Context) error { attempts++; return errDown })
			if !errors.Is(err, errDown) || attempts != 3 {
				t.Errorf("%s: %v after %d attempts", state, err, attempts)
			}
		}
	})
}

func TestOpenAfterTheAttemptMeansNoWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), Retry: thrice()})
		began := time.Now()
		err := g.Do(t.Context(), func(context.Context) error { g.trip(time.Minute); return errDown })
		if !errors.Is(err, errDown) || time.Since(began) != 0 {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}

func TestUnmarkedCallsAreNotRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tolerant(), Retry: Retry{Attempts: 3}})
		attempts := 0
		count := func(context.Context) error { attempts++; return errDown }
		_ = g.Do(t.Context(), count)
		if attempts != 1 {
			t.Errorf("%d attempts, want 1", attempts)
		}
		_ = g.Do(t.Context(), count, Idempotent)
		if attempts != 1+3 {
			t.Errorf("%d more attempts, want 3", attempts-1)
		}
	})
}

func TestWhatIsNotRetried(t *testing.T) {
	permanent := errors.New("no such guest")
	for name, c := range map[string]struct {
		err             error
		failed, ignored uint64
	}{
		"refused by a breaker inside":  {&recloser.OpenError{}, 0, 1},
		"refused by a limit inside":    {&LimitError{}, 0, 1},
		"refused by a bulkhead inside": {&BulkheadError{}, 0, 1},
		"a budget inside is spent":     {&BudgetError{Err: errDown}, 1, 0},
		"cancelled inside":             {context.Canceled, 0, 1},
		"not worth it":                 {permanent, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			retry := thrice()
			retry.If = func(err error) bool { return !errors.Is(err, permanent) }
			g := newTest(t, Config{Breaker: tolerant(), Retry: retry})
			attempts := 0
			err := g.Do(t.Context(), func(context.Context) error { attempts++; return c.err })
			if attempts != 1 || !errors.Is(err, c.err) {
				t.Errorf("%v after %d attempts", err, attempts)
			}
			g.mustCount(0, c.failed, c.ignored)
		})
	}
}

func TestWaitsAreNotSlow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := Config{Breaker: tripping(), Retry: thrice()}
		cfg.Breaker.SlowCall = 100 * time.Millisecond
		cfg.Retry.Backoff = 10 * time.Second // waits of 5 s
		g := newTest(t, cfg)
		attempts := 0
		go func() {
			for range 100 { // somebody looks all the time
				g.breaker.Check()
				pass(100 * time.Millisecond)
			}
		}()
		err := g.Do(t.Context(), func(context.Context) error {
			if attempts++; attempts < 3 {
				return errDown
			}
			return nil
		})
		if err != nil || attempts != 3 {
			t.Fatalf("%v after %d attempts", err, attempts)
		}
		g.mustBe(recloser.Closed)
		g.mustCount(1, 0, 0)
	})
}

func TestEachAttemptIsJudgedSlowForItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := Config{Breaker: tripping(), Retry: thrice()}
		cfg.Breaker.SlowCall = 100 * time.Millisecond
		g := newTest(t, cfg)
		attempts := 0
		go func() {
			_ = g.Do(t.Context(), func(context.Context) error {
				if attempts++; attempts == 1 {
					return errDown
				}
				pass(time.Second)
				return nil
			})
		}()
		pass(140 * time.Millisecond) // 50 of them are the wait
		g.mustBe(recloser.Closed)
		pass(30 * time.Millisecond)
		g.mustBe(recloser.Open)
		pass(time.Minute)
	})
}

func TestCallerGivesUpDuringAnAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), Retry: thrice()})
		ctx, cancel := context.WithCancel(t.Context())
		err := g.Do(ctx, func(context.Context) error { cancel(); return errDown })
		if !errors.Is(err, errDown) {
			t.Error(err)
		}
		g.mustCount(0, 0, 1)
	})
}

func TestCallerGivesUpDuringAWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping(), Retry: thrice()})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		began := time.Now()
		if err := g.Do(ctx, fails); !errors.Is(err, errDown) {
			t.Errorf("got %v, want the last error", err)
		}
		if past := time.Since(began); past != 10*time.Millisecond {
			t.Errorf("it came back after %s", past)
		}
		g.mustBe(recloser.Open) // the attempt had failed
	})
}

func TestTripReleasesRetryingCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := Config{Breaker: tripping(), Retry: thrice()}
		cfg.Breaker.CancelOnTrip = true
		g := newTest(t, cfg)
		got := make(chan error)
		go func() { got <- g.Do(t.Context(), hangs) }()
		synctest.Wait()
		g.trip(time.Minute)
		if err := <-got; !errors.Is(err, recloser.ErrOpen) {
			t.Errorf("got %v, want a refusal", err)
		}
	})
}

func TestTripDuringAWait(t *testing.T) {
	for name, after := range map[string]func(*testGuard){
		"and it is open":         func(*testGuard) {},
		"and it is closed again": func(g *testGuard) { g.breaker.Reset("ana", "test") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := Config{Breaker: tripping(), Retry: thrice()}
				cfg.Breaker.CancelOnTrip, cfg.Retry.Backoff = true, time.Minute
				g := newTest(t, cfg)
				began, attempts := time.Now(), 0
				time.AfterFunc(time.Second, func() {
					g.trip(time.Minute)
					after(g)
				})
				err := g.Do(t.Context(), func(context.Context) error { attempts++; return errDown })
				if !errors.Is(err, recloser.ErrOpen) || time.Since(began) != time.Second || attempts != 1 {
					t.Errorf("got %v after %s and %d attempts, want a refusal with the trip", err, time.Since(began), attempts)
				}
			})
		})
	}
}

// Who gave up before the trip is not told that he was refused.
func TestTripOfACallGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := Config{Breaker: tripping(), Retry: thrice()}
		cfg.Breaker.CancelOnTrip = true
		g := newTest(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		err := g.Do(ctx, func(ctx context.Context) error {
			cancel()
			g.trip(time.Minute)
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, recloser.ErrOpen) {
			t.Errorf("got %v, want the caller's own cancellation", err)
		}
	})
}

// Who has begun to read an answer would get another one in its middle.
func TestAnsweredCallIsNotMadeAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tolerant(), Retry: thrice()})
		c, err := g.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Again(errDown); err != nil {
			t.Fatalf("an attempt that failed before its answer: %v", err)
		}
		c.Answered()
		if err := c.Again(errDown); !errors.Is(err, errDown) {
			t.Errorf("got %v, want no other attempt", err)
		}
		c.Done(errDown)
		g.mustCount(0, 1, 0)
	})
}
