package vtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The two clocks must not be told apart.
func onBoth(t *testing.T, test func(t *testing.T, clock Clock, start func(func()))) {
	t.Run("real", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(t, Real{}, func(f func()) { go f() })
			<-time.After(time.Hour)
		})
	})
	t.Run("virtual", func(t *testing.T) {
		v := NewVirtual(time.Unix(1e9, 0))
		test(t, v, v.Go)
		v.Run(time.Hour)
	})
}

func TestWait(t *testing.T) {
	onBoth(t, func(t *testing.T, clock Clock, start func(func())) {
		began := clock.Now()
		passed := func(want time.Duration) {
			if got := clock.Now().Sub(began); got != want {
				t.Errorf("%s passed, want %s", got, want)
			}
			began = clock.Now()
		}
		start(func() {
			if clock.Wait(t.Context(), time.Second, nil) {
				t.Error("a sleep received something")
			}
			passed(time.Second)

			wake := make(chan struct{}, 1)
			wake <- struct{}{}
			if !clock.Wait(t.Context(), 0, wake) {
				t.Error("what was there was not received")
			}
			if clock.Wait(t.Context(), 0, wake) || clock.Wait(t.Context(), -1, nil) {
				t.Error("received what is not there")
			}
			passed(0)

			start(func() {
				clock.Wait(t.Context(), time.Second, nil)
				wake <- struct{}{}
			})
			if !clock.Wait(t.Context(), time.Minute, wake) {
				t.Error("it was not woken")
			}
			passed(time.Second)

			ctx, cancel := context.WithCancel(t.Context())
			start(func() {
				clock.Wait(t.Context(), time.Second, nil)
				cancel()
			})
			for range 2 {
				if clock.Wait(ctx, time.Minute, nil) {
					t.Error("received nothing from nobody")
				}
			}
			passed(time.Second)
		})
	})
}

func TestWithTimeout(t *testing.T) {
	onBoth(t, func(t *testing.T, clock Clock, start func(func())) {
		start(func() {
			began := clock.Now()
			outer, cancel := clock.WithTimeout(t.Context(), time.Second)
			defer cancel()
			inner, cancelInner := clock.WithTimeout(outer, time.Minute)
			defer cancelInner()
			other, cancelOther := clock.WithTimeout(outer, time.Minute)
			cancelOther()
			if err := other.Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled, and says %v", err)
			}
			if d, ok := inner.Deadline(); !ok || d.Sub(began) != time.Second {
				t.Errorf("the deadline is %s after the start, want that of the outer", d.Sub(began))
			}
			if inner.Err() != nil {
				t.Error(inner.Err())
			}
			clock.Wait(inner, time.Hour, nil)
			if past := clock.Now().Sub(began); past != time.Second {
				t.Errorf("done after %s", past)
			}
			for _, ctx := range []context.Context{outer, inner} {
				if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("timed out, and says %v", err)
				}
			}
		})
	})
}

func TestWithCancelOn(t *testing.T) {
	onBoth(t, func(t *testing.T, clock Clock, start func(func())) {
		start(func() {
			began := clock.Now()
			cause := errors.New("released")
			done, finish := context.WithCancelCause(t.Context())
			joined, cancel := clock.WithCancelOn(t.Context(), done)
			defer cancel()
			other, cancelOther := clock.WithCancelOn(t.Context(), done)
			cancelOther()
			start(func() {
				clock.Wait(t.Context(), time.Second, nil)
				finish(cause)
			})
			clock.Wait(joined, time.Hour, nil)
			if past := clock.Now().Sub(began); past != time.Second {
				t.Errorf("done after %s", past)
			}
			if err := context.Cause(joined); !errors.Is(err, cause) {
				t.Errorf("the cause is %v", err)
			}
			if err := context.Cause(other); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled before, for %v", err)
			}
			late, cancelLate := clock.WithCancelOn(t.Context(), done)
			defer cancelLate()
			clock.Wait(late, time.Hour, nil)
			if past := clock.Now().Sub(began); past != time.Second {
				t.Errorf("of what was done before it is done after %s", past)
			}
		})
	})
}

func TestVirtualTakesTurns(t *testing.T) {
	v := NewVirtual(time.Unix(1e9, 0))
	began := v.Now()
	var said []string
	say := func(what string) { said = append(said, fmt.Sprintf("%s %s", v.Now().Sub(began), what)) }
	for _, name := range []string{"a", "b"} {
		v.Go(func() {
			for range 2 {
				say(name)
				v.Wait(t.Context(), time.Second, nil)
			}
		})
	}
	stop := v.AfterFunc(time.Second, func() { say("stopped") })
	v.AfterFunc(1500*time.Millisecond, func() { say("event") })
	v.Run(0)
	stop()
	stop()
	v.Run(time.Minute)
	want := []string{"0s a", "0s b", "1s a", "1s b", "1.5s event"}
	if !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
	if past := v.Now().Sub(began); past != time.Minute || len(v.events)+len(v.parked) != 0 {
		t.Errorf("%s passed, %d events and %d waiters are left", past, len(v.events), len(v.parked))
	}
}
