package recloser

import (
	"context"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// settings in which every call is judged by all rules.
func allRules() Config { return Config{Name: "hotel-7", SlowCall: 2 * time.Second} }

func TestCallsDoNotAllocate(t *testing.T) {
	closed := newSim(t, allRules()).b
	open := newSim(t, allRules()).b
	if err := open.TripFor(time.Hour, "", ""); err != nil {
		t.Fatal(err)
	}
	halfOpen := newHalfOpen(t, strict())
	halfOpen.trial()

	ctx := t.Context()
	good := func(context.Context) error { return nil }
	bad := func(context.Context) error { return errDown }
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Do", func() { _ = closed.Do(ctx, good) }},
		{"Do of a value", func() {
			_, _ = Do(ctx, closed, func(context.Context) (int, error) { return 7, nil })
		}},
		{"Do of a value, with a closure", func() {
			var seen int
			_, _ = Do(ctx, closed, func(context.Context) (string, error) { seen++; return "room", nil })
		}},
		{"Allow and Done", func() {
			if p, err := closed.Allow(ctx); err == nil {
				p.Done(nil)
			}
		}},
		{"Allow, Answered and Done", func() {
			if p, err := closed.Allow(ctx); err == nil {
				p.Answered()
				p.Done(nil)
			}
		}},
		{"refused by Do", func() { _ = open.Do(ctx, good) }},
		{"refused by Allow", func() { _, _ = open.Allow(ctx) }},
		{"refused, trial slots taken", func() { _ = halfOpen.b.Do(ctx, bad) }},
		{"State", func() { closed.State() }},
		{"Check", func() { closed.Check() }},
	} {
		if n := testing.AllocsPerRun(1000, c.call); n != 0 {
			t.Errorf("%s allocates %g times", c.name, n)
		}
	}
	if st := closed.Stats(); st.Success == 0 || st.InFlight != 0 {
		t.Fatalf("the calls did not pass: %+v", st)
	}
	if st := open.Stats(); st.Refused[ReasonOpen] == 0 {
		t.Fatalf("the calls were not refused: %+v", st)
	}
}

// A good call finds what it needs in few cache lines of a small object:
// docs/decisions/0003-engine.md.
func TestPlainCallsReadFewCacheLines(t *testing.T) {
	var b Breaker
	for _, c := range []struct {
		name      string
		got, most uintptr
	}{
		{"in a Set", unsafe.Sizeof(b), 896},
		{"made by New", unsafe.Sizeof(struct {
			Breaker
			rules
		}{}), 1024 - 8}, // an object with pointers has a header
		{"its first fields, up to the shortest calls", unsafe.Offsetof(b.good) + unsafe.Sizeof(b.good[0]), 32},
		{"its period's, up to the words of the ring", unsafe.Offsetof(b.first.first) + unsafe.Offsetof(b.first.first.words), 64},
	} {
		if c.got > c.most {
			t.Errorf("%s: %d bytes, want at most %d", c.name, c.got, c.most)
		}
	}
	if unsafe.Sizeof(uintptr(0)) == 8 && unsafe.Offsetof(b.first)%64 != 0 {
		t.Errorf("the period begins at %d, in the middle of a cache line", unsafe.Offsetof(b.first))
	}
}

// A call that passes, and one that is refused by an open breaker, wait for no
// lock: they go on while somebody holds it.
func TestCallsTakeNoLock(t *testing.T) {
	closed := newSim(t, allRules())
	closed.ok()
	open := newTripped(t, strict())
	_ = open.refusal(ReasonOpen)

	closed.b.mu.Lock()
	defer closed.b.mu.Unlock()
	open.b.mu.Lock()
	defer open.b.mu.Unlock()

	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for range 1000 {
				closed.ok()
				p, err := closed.b.Allow(t.Context())
				if err != nil {
					t.Errorf("not admitted: %v", err)
				}
				p.Answered()
				q, err := closed.b.Allow(t.Context())
				if err != nil {
					t.Errorf("not admitted: %v", err)
				}
				q.Done(nil)
				closed.b.State()
				_ = open.refusal(ReasonOpen)
				open.b.State()
			}
		})
	}
	done := make(chan struct{})
	go func() { calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a call waits for the lock")
	}
	if n := closed.b.good.total(); n != 1+4*2*1000 {
		t.Errorf("%d good calls are counted", n)
	}
}
