package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// With a store that never answers a call costs what it costs without a fleet.
func BenchmarkAdmission(b *testing.B) {
	for _, fleet := range []bool{false, true} {
		b.Run(fmt.Sprintf("fleet=%t", fleet), func(b *testing.B) {
			breaker := newBreaker(b, "hotel")
			if fleet {
				blockedNode(b, breaker)
			}
			ctx, call := b.Context(), func(context.Context) error { return nil }
			b.ReportAllocs()
			for b.Loop() {
				if err := breaker.Do(ctx, call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// blockedNode has a breaker follow a fleet whose store never answers.
func blockedNode(t testing.TB, b *recloser.Breaker) {
	t.Helper()
	store := blocked{make(chan struct{})}
	n, err := New(Config{Fleet: "town", Node: "a"}, store)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Join(b); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(store.forEver)
		n.Close()
	})
}

// The same as a test: the quickest of many short rounds, with and without taking turns.
func TestAdmissionCostsTheSame(t *testing.T) {
	with, without := newBreaker(t, "hotel"), newBreaker(t, "hotel")
	blockedNode(t, with)
	ctx, call := t.Context(), func(context.Context) error { return nil }
	round := func(b *recloser.Breaker) time.Duration {
		began := time.Now()
		for range 2000 {
			if err := b.Do(ctx, call); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(began)
	}
	least := [2]time.Duration{time.Hour, time.Hour}
	for range 300 {
		least[0], least[1] = min(least[0], round(with)), min(least[1], round(without))
	}
	if ratio := float64(least[0]) / float64(least[1]); ratio > 1.3 {
		t.Errorf("a call takes %.2f times as long with a store that never answers", ratio)
	} else {
		t.Logf("ratio %.2f", ratio)
	}
	if n := testing.AllocsPerRun(1000, func() { _ = with.Do(ctx, call) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkStep is what a node does ten times a second, for idle breakers.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("breakers=%d", n), func(b *testing.B) {
			now := time.Now()
			c := newCoordinator(Config{Fleet: "town", Node: "a"}, rand.New(rand.NewPCG(1, 1)), now)
			for i := range n {
				c.join(newBreaker(b, fmt.Sprint(i)), now)
			}
			c.synced, c.reload, c.aboutRev = true, time.Time{}, Rev{1, 1}
			c.beat.sayAt, c.beat.lookedAt = now.Add(time.Hour), now.Add(time.Hour)
			b.ReportAllocs()
			for b.Loop() {
				c.step(now)
				if o := c.next(now); o != nil {
					b.Fatal(o.kind)
				}
			}
		})
	}
}
