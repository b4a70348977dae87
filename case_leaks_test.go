package recloser

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestC70_BreakersLeaveNothingBehind(t *testing.T) {
	const breakers = 10_000
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	use := func() {
		synctest.Test(t, func(t *testing.T) { // a goroutine or a timer left behind ends it
			before := runtime.NumGoroutine()
			for i := range breakers {
				cfg := strict()
				cfg.SlowCall, cfg.CancelOnTrip = time.Second, i%2 == 0
				b, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if i%4 < 2 {
					b.Subscribe(func(Transition) {})
				}
				_ = b.Do(t.Context(), func(context.Context) error { return nil })
				lost, _ := b.Allow(t.Context()) // never reported
				_ = lost.Released()
				if i%3 > 0 {
					_ = b.Do(t.Context(), func(context.Context) error { return errDown })
				}
			}
			synctest.Wait()
			if after := runtime.NumGoroutine(); after > before {
				t.Errorf("%d goroutines, %d before", after, before)
			}
		})
	}
	use()
	before := heap()
	use()
	if after := heap(); after > before+breakers*16 {
		t.Errorf("%d breakers left %d bytes behind", breakers, after-before)
	}
}
