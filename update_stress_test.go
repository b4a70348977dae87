package recloser

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// flips are settings that differ in whatever calls look at without the lock.
func flips() []Config {
	base := Config{SlowCall: 5 * time.Millisecond, MinCalls: 5, OpenFor: 2 * time.Millisecond, Ramp: 20 * time.Millisecond, CancelOnTrip: true}
	noSlow, slower, strict, wide, shadow := base, base, base, base, base
	noSlow.SlowCall, noSlow.CancelOnTrip, noSlow.TrialTimeout = Off, false, time.Millisecond
	slower.SlowCall, slower.Consecutive, slower.Ramp = 300*time.Millisecond, Off, Off
	strict.Consecutive, strict.Trials, strict.MinCalls = 1, 1, 1
	wide.Window, wide.MinCalls, wide.Trials, wide.MaxOpenFor = time.Hour, 1000, 100, 2*time.Millisecond
	shadow.Shadow, shadow.FailureRate, shadow.RetryAfterMax = true, Off, Off
	return []Config{base, noSlow, slower, strict, wide, shadow}
}

// until does something again and again, as fast as it can, in all's goroutines,
// and counts how often.
func until(done *atomic.Bool, all *sync.WaitGroup, do func(i int)) *atomic.Int64 {
	var n atomic.Int64
	all.Go(func() {
		for i := 0; !done.Load(); i++ {
			do(i)
			n.Add(1)
			runtime.Gosched()
		}
	})
	return &n
}

// keep makes calls in eight goroutines until there was enough of what goes on
// beside them, which stop ends. Each admits one call that it keeps till then:
// exactly those must be running before they end.
func (s *stress) keep(t *testing.T, seed uint64, enough func() bool, stop func()) {
	t.Helper()
	const n, calls = 8, 2000
	var callers sync.WaitGroup
	var kept [n]*Permit
	for g := range kept {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), seed))
			keepAt := r.IntN(calls)
			for i, began := 0, time.Now(); i < calls || !enough() && time.Since(began) < 20*time.Second; i++ {
				s.do(r)
				if i < keepAt || kept[g] != nil {
					continue
				}
				s.asked.Add(1)
				p, err := s.b.Allow(t.Context())
				if err != nil {
					s.refused.Add(1)
					continue
				}
				kept[g] = &p
			}
		})
	}
	callers.Wait()
	stop()
	running := slices.DeleteFunc(kept[:], func(p *Permit) bool { return p == nil })
	if st := s.b.Stats(); st.InFlight != len(running) || len(running) == 0 {
		t.Errorf("%d calls run, %d are counted", len(running), st.InFlight)
	}
	for _, p := range running {
		p.Done(nil)
	}
}

// Settings flip some ten thousand times a second, and the breaker is saved and
// restored, while everything else goes on: no call is lost, nothing counted twice.
func TestSettingsFlipUnderLoad(t *testing.T) {
	before := runtime.NumGoroutine()
	settings := flips()
	s := &stress{ticks: newTicks()}
	var err error
	if s.b, err = New(s.ticks.on(settings[0])); err != nil {
		t.Fatal(err)
	}
	events := &chain{t: t}
	s.b.Subscribe(events.next)

	var done atomic.Bool
	var others sync.WaitGroup
	flipped := until(&done, &others, func(i int) {
		if err := s.b.Update(settings[i%len(settings)]); err != nil {
			t.Error(err)
		}
	})
	restored := until(&done, &others, func(i int) {
		saved := s.b.Save()
		if i%8 == 0 { // else it would never come to anything
			if err := s.b.Restore(saved); err != nil {
				t.Error(err)
			}
		}
	})
	enough := func() bool { return flipped.Load() >= 1000 && restored.Load() >= 1000 }
	s.keep(t, 2, enough, func() { done.Store(true); others.Wait() })
	if !enough() {
		t.Errorf("only %d flips, %d saved", flipped.Load(), restored.Load())
	}
	s.check(t, events)
	eventually.True(t, 10*time.Second, func() bool { return runtime.NumGoroutine() <= before }, "the last goroutine to end")
}

// Rings grow where processors get into each other's way, and are made anew where
// the slow limit changes, with calls in all of them.
func TestRingsGrowUnderLoad(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	cfg := Config{SlowCall: 50 * time.Millisecond, MinCalls: 5, Window: 100 * time.Millisecond, OpenFor: time.Millisecond, Ramp: Off}
	s := &stress{ticks: newTicks()}
	var err error
	if s.b, err = New(s.ticks.on(cfg)); err != nil {
		t.Fatal(err)
	}
	events := &chain{t: t}
	s.b.Subscribe(events.next)

	var done, grown atomic.Bool
	var others sync.WaitGroup
	until(&done, &others, func(i int) {
		p := s.b.cur.Load()
		p.ring().lost.Store(crowded)
		if rs := p.rings.Load(); rs != nil && len(rs.fresh) == 4 {
			grown.Store(true)
		}
		if i%64 == 0 {
			next := cfg
			next.SlowCall += time.Duration(i%256) * time.Millisecond
			if err := s.b.Update(next); err != nil {
				t.Error(err)
			}
		}
	})
	s.keep(t, 3, grown.Load, func() { done.Store(true); others.Wait() })
	if !grown.Load() {
		t.Error("the rings never grew")
	}
	s.check(t, events)
}
