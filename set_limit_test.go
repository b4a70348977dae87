package recloser

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func newSmallSet(t *testing.T, limit int) *Set {
	t.Helper()
	s := newTestSet(t, nil)
	if err := s.SetLimit(limit); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSetDropsWhatNobodyAsksFor(t *testing.T) {
	s := newSmallSet(t, 3)
	a, b, c := s.Get("a"), s.Get("b"), s.Get("c")
	s.Get("a")
	s.Get("c")
	mustEqual(t, "name", s.Get("d").Name(), "d")
	mustEqual(t, "Len", s.Len(), 3)
	if s.Get("a") != a || s.Get("c") != c {
		t.Error("one was dropped that was asked for")
	}
	if s.Get("b") == b {
		t.Error("the other one was not dropped")
	}
}

func TestSetKeepsWhatIsNotIdle(t *testing.T) {
	var running Permit
	for name, use := range map[string]func(t *testing.T, b *Breaker){
		"open":     func(t *testing.T, b *Breaker) { fail(t, b) },
		"isolated": func(_ *testing.T, b *Breaker) { _ = b.Isolate("ana", "", time.Time{}) },
		"held":     func(_ *testing.T, b *Breaker) { _ = b.HoldClosed("ana", "", time.Time{}) },
		"in use": func(t *testing.T, b *Breaker) {
			var err error
			if running, err = b.Allow(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"with a step to remember": func(t *testing.T, b *Breaker) {
			fail(t, b)
			b.TryNow("ana", "")
			if err := b.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSmallSet(t, 1)
				b := s.Get("a")
				use(t, b)
				over := s.Get("b")
				mustEqual(t, "name", over.Name(), OverflowKey)
				if s.Get("a") != b || s.Get("c") != over {
					t.Error("there must be two breakers")
				}
				mustEqual(t, "Len", s.Len(), 2)
				var keys []string
				for key := range s.All() {
					keys = append(keys, key)
				}
				mustEqual(t, "keys", fmt.Sprint(keys), "[(overflow) a]")

				// It becomes idle: the next new key gets a breaker of its own.
				b.Release("ana", "")
				b.Reset("ana", "")
				running.Cancel()
				<-time.After(time.Minute)
				s.Get("d") // "a" was asked for
				<-time.After(searchPause)
				mustEqual(t, "name", s.Get("e").Name(), "e")
			})
		})
	}
}

func fail(t *testing.T, b *Breaker) {
	t.Helper()
	if err := b.Do(t.Context(), func(context.Context) error { return errDown }); err == nil {
		t.Error("no error")
	}
}

func TestSetLimitNonsense(t *testing.T) {
	for _, limit := range []int{0, -1} {
		if newTestSet(t, nil).SetLimit(limit) == nil {
			t.Errorf("a limit of %d", limit)
		}
	}
}

// What strangers send fills no memory.
func TestSetOfStrangersKeys(t *testing.T) {
	s := newSmallSet(t, 100)
	for i := range 100_000 {
		if err := s.Get(fmt.Sprint("key ", i)).Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	mustEqual(t, "Len", s.Len(), 100)
}

func TestSetDroppedBreakersHaveNoListeners(t *testing.T) {
	s := newSmallSet(t, 1)
	defer s.Subscribe(func(Transition) {})()
	for i := range 10 {
		s.Get(fmt.Sprint(i))
	}
	mustEqual(t, "breakers listened to", len(s.listeners[0].stops), 1)
}

func TestSetUpdate(t *testing.T) {
	s := newTestSet(t, map[string]Config{"hotel-3": {Trials: 3}})
	a, b := s.Get("a"), s.Get("hotel-3")
	if err := s.Update(Config{Trials: 5}, map[string]Config{"hotel-3": {Trials: 1000}}); err == nil {
		t.Error("no error")
	}
	mustEqual(t, "trials of a", a.Config().Trials, 1)
	if err := s.Update(Config{Trials: 5}, map[string]Config{"hotel-4": {Trials: 4}}); err != nil {
		t.Fatal(err)
	}
	for b, want := range map[*Breaker]int{a: 5, b: 5, s.Get("hotel-4"): 4, s.Get("c"): 5} {
		mustEqual(t, "trials of "+b.Name(), b.Config().Trials, want)
		mustEqual(t, "name", b.Config().Name, b.Name())
	}
}

// A breaker that has only seen good calls takes little more than what a call needs.
func TestBreakersAreSmall(t *testing.T) {
	const n = 2000
	s := newTestSet(t, nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		b := s.Get(fmt.Sprint(i))
		for range 20 {
			_ = b.Do(t.Context(), func(context.Context) error { return nil })
		}
		b.Check()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(s)
	each := (after.HeapAlloc - before.HeapAlloc) / n
	t.Logf("%d bytes a breaker, with its place in the set", each)
	if each > 1152 { // 896, and 256 for the set
		t.Errorf("%d bytes a breaker", each)
	}
}

// Keys of strangers do not make it forget a dependency that is failing.
func TestSetRemembersARun(t *testing.T) {
	s := newSmallSet(t, 10)
	if err := s.Update(Config{Consecutive: 5, OpenFor: time.Hour}, nil); err != nil {
		t.Fatal(err)
	}
	reached := 0
	for i := range 100 {
		_ = s.Get("hotel-3").Do(t.Context(), func(context.Context) error { reached++; return errDown })
		for j := range 10 {
			_ = s.Get(fmt.Sprint("stranger", i, j)).Do(t.Context(), func(context.Context) error { return nil })
		}
	}
	mustEqual(t, "calls that reached it", reached, 5)
}

func TestSetDroppedBreakersTellNobody(t *testing.T) {
	s := newSmallSet(t, 1)
	defer s.Subscribe(func(e Transition) { t.Errorf("heard %s", e) })()
	a := s.Get("a")
	s.Get("b")
	mustEqual(t, "listeners", len(a.events().subs), 0)
}

func TestSetKeyOfTheOverflow(t *testing.T) {
	s := newSmallSet(t, 1)
	fail(t, s.Get("a"))
	if s.Get("b") != s.Get(OverflowKey) {
		t.Error("two breakers have that name")
	}
	mustEqual(t, "Len", s.Len(), 2)
}
