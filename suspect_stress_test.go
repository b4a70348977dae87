package recloser

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A dependency hangs for half of the time, while many wait for it: who is released,
// who is a witness and who is answered at the same moment are all counted once.
func TestSuspicionUnderLoad(t *testing.T) {
	s := &stress{ticks: newTicks()}
	b, err := New(s.ticks.on(Config{
		SlowCall: 200 * time.Millisecond, Spread: 5 * time.Millisecond, MinCalls: 5, OpenFor: 20 * time.Millisecond, Ramp: Off,
		CancelOnTrip: true, HoldSuspicion: sometimes(),
	}))
	if err != nil {
		t.Fatal(err)
	}
	s.b = b
	events := &chain{t: t}
	b.Subscribe(events.next)
	var done atomic.Bool
	var others sync.WaitGroup
	hangs := func() bool { return s.ticks.Load()/int64(100*time.Millisecond)%2 == 0 }
	until(&done, &others, func(i int) {
		s.ticks.Add(int64(100 * time.Microsecond))
		if i%50 == 0 {
			b.SetSuspect(10*time.Millisecond + time.Duration(i%3500)*time.Microsecond)
		}
		b.Check()
	})
	var callers sync.WaitGroup
	for g := range 8 {
		callers.Go(func() {
			for i := 0; i < 300 || s.witnesses.Load() < 5 && i < 30000; i++ {
				if g%2 == 0 {
					s.call(func() error { return b.Do(t.Context(), s.waits(hangs)) })
				} else {
					s.mayBeWitness(hangs)
				}
			}
		})
	}
	callers.Wait()
	done.Store(true)
	others.Wait()
	s.check(t, events)
	st := b.Stats()
	if n := st.Transitions[TransitionKey{Open, ReasonSuspected}]; n == 0 || s.witnesses.Load() > 2*n || s.witnesses.Load() == 0 {
		t.Errorf("%d trips by suspicion, %d witnesses", n, s.witnesses.Load())
	}
	b.TripNow("ann", "stress") // the last period's contexts, too
	s.ticks.Add(int64(time.Second))
	b.Check()
	if len(b.leaving) != 0 {
		t.Errorf("%d contexts are kept for callers who have gone", len(b.leaving))
	}
}

// waits is a call that ends when the dependency answers, or is released.
func (s *stress) waits(hangs func() bool) func(context.Context) error {
	return func(ctx context.Context) error {
		for hangs() && ctx.Err() == nil {
			runtime.Gosched()
		}
		return ctx.Err()
	}
}

func (s *stress) mayBeWitness(hangs func() bool) {
	s.asked.Add(1)
	p, err := s.b.Allow(context.Background())
	if err != nil {
		s.refused.Add(1)
		return
	}
	err = s.waits(hangs)(p.Released())
	switch {
	case err == nil:
		p.Answered()
		p.Done(nil)
	case p.Witness():
		s.witnesses.Add(1)
		p.Done(s.waits(hangs)(context.Background()))
	case !errors.Is(context.Cause(p.Released()), ErrOpen):
		panic("released, but with no refusal")
	default:
		p.End(Ignored)
	}
}
