package bench

import (
	"errors"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// eachPeer runs f for every peer of every group.
func eachPeer(t *testing.T, f func(t *testing.T, p Peer)) {
	t.Helper()
	for _, g := range Groups(coarse(t)) {
		for _, p := range g.Peers {
			t.Run(g.Name+"/"+p.Name, func(t *testing.T) { f(t, p) })
		}
	}
}

func coarse(tb testing.TB) *recloser.Clock {
	tb.Helper()
	clock, err := recloser.StartClock(2 * time.Millisecond)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(clock.Stop)
	return clock
}

// 1 % failures must open no breaker but eapache's, which does not see that calls
// end well: so they are counted.
func TestPeersLetThroughAndCount(t *testing.T) {
	eachPeer(t, func(t *testing.T, p Peer) {
		b := p.New()
		for i := range 5000 {
			if err := b.Succeed(); err != nil {
				t.Fatalf("success %d: %v", i, err)
			}
			if i%100 == 99 && (p.Name != "eapache" || i == 99) {
				if err := b.Fail(); !errors.Is(err, ErrWork) || p.Refusal != nil && errors.Is(err, p.Refusal) {
					t.Fatalf("failure after %d successes: %v", i+1, err)
				}
			}
		}
	})
}

func TestPeersOpenAndRefuse(t *testing.T) {
	eachPeer(t, func(t *testing.T, p Peer) {
		if p.Refusal == nil {
			b := p.New()
			for range 100 {
				if err := b.Fail(); !errors.Is(err, ErrWork) {
					t.Fatalf("no breaker, but a call gives %v", err)
				}
			}
			return
		}
		b, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		calls, refused := max(1000, p.Keys), 0
		for range calls {
			if err := b.Succeed(); errors.Is(err, p.Refusal) {
				refused++
			} else if err != nil {
				t.Fatalf("open, but a call gives %v", err)
			}
		}
		switch {
		case p.Keys > 0 && p.Sheds:
			if refused > 1 {
				t.Errorf("one key of %d is open, and %d calls were refused", p.Keys, refused)
			}
		case p.Keys > 0:
			if refused != 1 {
				t.Errorf("one key of %d is open, and %d calls were refused", p.Keys, refused)
			}
		case !p.behaves(true, calls, refused):
			t.Errorf("open, and %d of %d calls were refused", refused, calls)
		}
	})
}

// Every second call fails: the share is seen, and not only failures in a row.
func TestPeersWithARateWindowSeeTheRate(t *testing.T) {
	for _, p := range Single(coarse(t)).Peers {
		if !p.RateWindow && !errors.Is(p.Refusal, recloser.ErrOpen) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			b := p.New()
			deadline := time.Now().Add(5 * time.Second)
			for n := 1; ; n++ {
				for _, call := range []func() error{b.Succeed, b.Fail} {
					if err := call(); errors.Is(err, p.Refusal) {
						if !p.Sheds && n < minCalls/2 {
							t.Errorf("opens after %d pairs of calls, before there were %d calls", n, minCalls)
						}
						return
					}
				}
				if time.Now().After(deadline) {
					t.Fatalf("every second of %d calls failed, and it stays closed", 2*n)
				}
			}
		})
	}
}

func TestPeersCountInARow(t *testing.T) {
	for _, p := range InARow(coarse(t)).Peers {
		t.Run(p.Name, func(t *testing.T) {
			b := p.New()
			fail := func(n int) {
				t.Helper()
				for i := range n {
					if err := b.Fail(); !errors.Is(err, ErrWork) {
						t.Fatalf("failure %d: %v", i+1, err)
					}
				}
			}
			if p.Name != "eapache" {
				fail(inARow - 1)
				if err := b.Succeed(); err != nil {
					t.Fatal(err)
				}
			}
			fail(inARow)
			if err := b.Succeed(); !errors.Is(err, p.Refusal) {
				t.Errorf("after %d failures in a row: %v", inARow, err)
			}
		})
	}
}

// No line of a table may time a breaker that does something else.
func TestSpellRefusesToTimeTheWrongState(t *testing.T) {
	p := rateGobreaker()
	open, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		b    Breaker
		open bool
		ok   bool
	}{
		{"closed", p.New(), false, true},
		{"open", open, true, true},
		{"closed, and should be open", p.New(), true, false},
		{"open, and should be closed", open, false, false},
	} {
		for _, procs := range []int{1, 2} {
			cost, err := p.Spell(c.b, c.open, procs, time.Millisecond)
			if (err == nil) != c.ok || c.ok && cost.Time <= 0 {
				t.Errorf("%s, %d processors: cost %v, error %v", c.name, procs, cost, err)
			}
		}
	}
}
