package recloser

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// A set with far more keys than room drops and makes breakers while its settings
// and its limit flip: no call is lost with the breaker that let it in.
func TestSetChurn(t *testing.T) {
	before := runtime.NumGoroutine()
	settings := flips()
	ticks := newTicks()
	for i := range settings {
		settings[i] = ticks.on(settings[i])
	}
	set, err := NewSet(settings[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.SetLimit(8); err != nil {
		t.Fatal(err)
	}
	var heard atomic.Int64
	unsubscribe := set.Subscribe(func(Transition) { heard.Add(1) })

	var done atomic.Bool
	var seen sync.Map // every breaker that was ever given out
	var callers, others sync.WaitGroup
	until(&done, &others, func(i int) {
		if err := set.Update(settings[i%len(settings)], map[string]Config{"hotel-1": settings[0]}); err != nil {
			t.Error(err)
		}
		if err := set.SetLimit(8 + i%8); err != nil {
			t.Error(err)
		}
	})
	until(&done, &others, func(int) {
		ticks.Advance(time.Millisecond)
		set.Check()
		set.Subscribe(func(Transition) { heard.Add(1) })()
		for key, b := range set.All() {
			if b.Name() != key {
				t.Errorf("%s is under %s", b.Name(), key)
			}
		}
		_ = set.Len()
	})
	for g := range uint64(8) {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(g, 4))
			for i := range 300 {
				key := fmt.Sprint("hotel-", r.IntN(50))
				b := set.Get(key)
				seen.Store(b, true)
				if b.Name() != key && b.Name() != OverflowKey {
					t.Errorf("%s for %s", b.Name(), key)
				}
				err := b.Do(t.Context(), func(context.Context) error {
					inSet := b.Name() == key && set.Get(key) == b
					runtime.Gosched()
					if inSet && set.Get(key) != b {
						t.Errorf("%s was dropped while a call ran", key)
					}
					if i >= 100 && r.IntN(10) == 0 { // at first there are idle ones to drop
						return errDown
					}
					return nil
				})
				if err != nil && !errors.Is(err, errDown) && !errors.Is(err, ErrOpen) {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	done.Store(true)
	others.Wait()
	unsubscribe()

	gone, transitions := 0, uint64(0)
	for key := range seen.Range {
		b := key.(*Breaker)
		st := b.Stats()
		transitions += st.Seq
		if st.InFlight != 0 || st.Overdue != 0 {
			t.Errorf("%s: no call runs, but %d are counted", b.Name(), st.InFlight)
		}
		if b.place.Load() == dropped {
			gone++
		}
	}
	if gone == 0 || transitions == 0 {
		t.Errorf("%d dropped, %d transitions: that was no test", gone, transitions)
	}
	if n := set.Len(); n > 16 {
		t.Errorf("%d breakers, and the limit was never above 15 and the overflow", n)
	}
	eventually.True(t, 10*time.Second, func() bool { return runtime.NumGoroutine() <= before }, "the last goroutine to end")
}
