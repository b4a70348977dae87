package prooftest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"go.uber.org/goleak"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/eventually"
)

var errDown = errors.New("down")

// C70: a breaker owns no goroutine and no timer, and nothing else keeps it, so
// one that is dropped is gone, whatever state it was in.
func TestDroppedBreakersLeaveNothing(t *testing.T) {
	const breakers = 10_000
	running := goleak.IgnoreCurrent()
	dropped := make([]weak.Pointer[recloser.Breaker], breakers)
	for i := range dropped {
		dropped[i] = weak.Make(usedBreaker(t, i))
	}

	goleak.VerifyNone(t, running)
	left := 0
	eventually.True(t, 10*time.Second, func() bool {
		runtime.GC()
		left = 0
		for _, p := range dropped {
			if p.Value() != nil {
				left++
			}
		}
		return left == 0
	}, "all dropped breakers to be collected")
}

// usedBreaker returns a breaker that went, by i, through every state there is.
func usedBreaker(t *testing.T, i int) *recloser.Breaker {
	t.Helper()
	b, err := recloser.New(recloser.Config{
		Name:         fmt.Sprint("hotel-", i),
		Consecutive:  2,
		SlowCall:     time.Minute,
		CancelOnTrip: i%2 == 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Subscribe(func(recloser.Transition) {})
	call := func(result error) {
		err := b.Do(t.Context(), func(context.Context) error { return result })
		if !errors.Is(err, result) {
			t.Fatalf("Do returned %v, want %v", err, result)
		}
	}

	call(nil)
	want := recloser.Closed
	switch i % 5 {
	case 1, 2:
		call(errDown)
		call(errDown)
		want = recloser.Open
		if i%5 == 2 {
			b.TryNow("test", "trial")
			want = recloser.HalfOpen
		}
	case 3:
		err = b.Isolate("test", "works", time.Now().Add(time.Hour))
		want = recloser.Isolated
	case 4:
		err = b.HoldClosed("test", "known", time.Time{})
		want = recloser.HeldClosed
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := b.State(); got != want {
		t.Fatalf("breaker %d is %v, want %v", i, got, want)
	}
	return b
}
