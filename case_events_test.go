package recloser

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestC50_ListenerUsesTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a deadlock ends it
		b, err := New(strict())
		if err != nil {
			t.Fatal(err)
		}
		var heard []State
		b.Subscribe(func(e Transition) {
			heard = append(heard, e.To)
			_ = b.Stats().Window
			_ = b.Explain()
			_ = b.Do(t.Context(), func(context.Context) error { return nil })
			if e.To == b.State() && e.To == Open {
				if err := b.Isolate("listener", "test", time.Time{}); err != nil {
					t.Error(err)
				}
			}
		})
		_ = b.Do(t.Context(), func(context.Context) error { return errDown })
		synctest.Wait()
		mustEqual(t, "state", b.State(), Isolated)
		mustEqual(t, "transitions heard", len(heard), 2)
		mustEqual(t, "refused", b.Stats().Refused[ReasonOpen]+b.Stats().Refused[ReasonIsolated], 2)
	})
}

func TestC51_EventsAreAChain(t *testing.T) {
	const flips, chunk = 20_000, maxQueue / 4 // a listener that falls further behind than maxQueue loses some
	s := newSim(t, strict())
	for range flips / chunk {
		var wg sync.WaitGroup
		for _, flip := range []func(){
			func() { _ = s.b.TripFor(time.Second, "test", "") },
			func() { s.b.Reset("test", "") },
		} {
			wg.Go(func() {
				for range chunk {
					flip()
				}
			})
		}
		wg.Wait()
		s.transitions()
	}
	all := s.transitions()
	mustEqual(t, "transitions", len(all), flips/chunk*chunk*2)
	last := Closed
	for i, e := range all {
		if e.From != last || e.Seq != uint64(i+1) {
			t.Fatalf("transition %d is %+v, after one to %s", i+1, e, last)
		}
		last = e.To
	}
	mustEqual(t, "state", s.b.State(), last)
}

func TestC52_EventHasTheCountsThatDecided(t *testing.T) {
	cfg := strict()
	cfg.Consecutive, cfg.Trials = 3, 2
	s := newSim(t, cfg)
	s.ok()
	for range 3 {
		s.fail()
	}
	s.advance(openFor)
	s.ok()
	s.fail()
	s.advance(openFor)
	s.ok()
	s.ok()
	got := s.transitions()
	want := []Transition{
		{From: Closed, To: Open, Reason: ReasonRun, Counts: Counts{Good: 1, Failed: 3, Run: 3}, OpenFor: openFor, Cause: errDown},
		{From: Open, To: HalfOpen, Reason: ReasonTime},
		{From: HalfOpen, To: Open, Reason: ReasonTrialFailed, Counts: Counts{Good: 1, Failed: 1}, OpenFor: openFor, Cause: errDown},
		{From: Open, To: HalfOpen, Reason: ReasonTime},
		{From: HalfOpen, To: Closed, Reason: ReasonTrialsGood, Counts: Counts{Good: 2}},
	}
	mustEqual(t, "transitions", len(got), len(want))
	for i := range want {
		want[i].Seq, want[i].Name, want[i].Automatic = uint64(i+1), "hotel-7", want[i].To
		want[i].At = epoch.Add(time.Duration((i+1)/2) * openFor)
		mustEqual(t, "transition", got[i], want[i])
	}
}

func TestC53_TwoListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a goroutine left behind ends it
		b, err := New(strict())
		if err != nil {
			t.Fatal(err)
		}
		var first, second []uint64
		stopFirst := b.Subscribe(func(e Transition) { first = append(first, e.Seq) })
		stopSecond := b.Subscribe(func(e Transition) { second = append(second, e.Seq) })
		b.Reset("test", "")
		synctest.Wait()
		stopFirst()
		stopFirst()
		b.Reset("test", "")
		synctest.Wait()
		mustEqual(t, "heard by the first", len(first), 1)
		mustEqual(t, "heard by the second", len(second), 2)
		stopSecond()

		before := runtime.NumGoroutine()
		for range 10_000 {
			b.Subscribe(func(Transition) {})()
		}
		b.Reset("test", "")
		synctest.Wait()
		mustEqual(t, "listeners left", len(b.events().subs), 0)
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines, %d before", after, before)
		}
		mustEqual(t, "heard by the second", len(second), 2)
	})
}

// A slow listener delays no call and no other listener, a panicking one stops nobody.
func TestC53_ListenersDoNotDisturb(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := New(strict())
		if err != nil {
			t.Fatal(err)
		}
		var slow atomic.Uint64
		var quick, panicking []uint64
		b.Subscribe(func(e Transition) {
			<-time.After(time.Hour)
			if want := slow.Add(1); e.Seq != want {
				t.Errorf("heard %d, want %d", e.Seq, want)
			}
		})
		b.Subscribe(func(e Transition) {
			panicking = append(panicking, e.Seq)
			if e.Seq == 2 {
				runtime.Goexit()
			}
			panic("listener")
		})
		b.Subscribe(func(e Transition) { quick = append(quick, e.Seq) })
		began := time.Now()
		for range 3 {
			b.Reset("test", "")
		}
		synctest.Wait()
		mustEqual(t, "time it took", time.Since(began), 0)
		mustEqual(t, "heard by the quick one", len(quick), 3)
		mustEqual(t, "heard by the one that panics", len(panicking), 3)
		mustEqual(t, "heard by the slow one", slow.Load(), 0)
		<-time.After(3 * time.Hour)
		synctest.Wait()
		mustEqual(t, "heard by the slow one", slow.Load(), 3)
	})
}

func TestC54_ManyFailuresAtOnce(t *testing.T) {
	s := newSim(t, strict())
	var wg sync.WaitGroup
	start := make(chan struct{})
	for _, p := range s.allowed(1000) {
		wg.Go(func() {
			<-start
			p.Done(errDown)
		})
	}
	close(start)
	wg.Wait()
	s.mustTrip(ReasonRun)
	st := s.b.Stats()
	mustEqual(t, "failed", st.Failed, 1000)
	mustEqual(t, "late", st.Late, 999)
	mustEqual(t, "in flight", st.InFlight, 0)
}
