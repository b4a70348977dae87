package expiry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// guest notes when he expires.
type guest struct {
	Entry
	mu  sync.Mutex
	at  []time.Duration // since base
	was time.Time       // base
}

func (g *guest) Expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = append(g.at, time.Since(g.was))
}

// Whatever is added, moved and removed: everybody expires when he is due and at no
// other time.
func TestQueueIsAsGoodAsTimers(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			r, base := rand.New(rand.NewPCG(seed, 0)), time.Now()
			var q Queue
			guests, want := make([]*guest, 8), make([][]time.Duration, 8)
			due := make([]time.Duration, 8) // 0: never
			for i := range guests {
				guests[i] = &guest{was: base}
			}
			for step := range 60 {
				now := time.Since(base)
				switch i := r.IntN(len(guests)); r.IntN(3) {
				case 0, 1:
					within := time.Duration(1+r.IntN(40)) * time.Millisecond
					if r.IntN(10) == 0 {
						within = -time.Millisecond // at once
					}
					q.Add(&guests[i].Entry, guests[i], within)
					due[i] = now + max(within, 1)
				default:
					q.Remove(&guests[i].Entry)
					due[i] = 0
				}
				pause := time.Duration(r.IntN(20))*time.Millisecond + time.Duration(step)*time.Nanosecond
				<-time.After(pause) // by the test's own clock
				synctest.Wait()
				for i, d := range due {
					if d > 0 && d <= now+pause {
						want[i], due[i] = append(want[i], d), 0
					}
				}
			}
			<-time.After(time.Second)
			synctest.Wait()
			for i, g := range guests {
				if due[i] > 0 {
					want[i] = append(want[i], due[i])
				}
				if fmt.Sprint(g.at) != fmt.Sprint(want[i]) {
					t.Errorf("seed %d: guest %d expired at %v, want %v", seed, i, g.at, want[i])
				}
			}
			if q.first != nil || q.last != nil || q.due != 0 {
				t.Errorf("seed %d: the queue is not empty: %+v", seed, &q)
			}
		})
	}
}

// counted counts.
type counted struct {
	Entry
	n atomic.Int64
}

func (c *counted) Expire() { c.n.Add(1) }

func TestQueueOfManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			q        Queue
			all      [50]counted
			together sync.WaitGroup
		)
		for i := range all {
			together.Go(func() {
				for range 100 {
					q.Add(&all[i].Entry, &all[i], time.Minute)
					q.Remove(&all[i].Entry)
				}
				if i%2 == 0 {
					q.Add(&all[i].Entry, &all[i], time.Minute)
				}
			})
		}
		together.Wait()
		<-time.After(time.Minute)
		synctest.Wait()
		for i := range all {
			if n := all[i].n.Load(); n != int64(1-i%2) {
				t.Errorf("number %d expired %d times", i, n)
			}
		}
	})
}

// A time that is as good as none is none, and in nobody's way.
func TestQueueOfOneWhoWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			q              Queue
			other, eternal counted
		)
		for n := range int64(3) {
			q.Add(&eternal.Entry, &eternal, math.MaxInt64)
			q.Add(&other.Entry, &other, time.Second)
			<-time.After(time.Second)
			synctest.Wait()
			if other.n.Load() != n+1 || eternal.n.Load() != 0 {
				t.Errorf("after %d s they expired %d and %d times", n+1, other.n.Load(), eternal.n.Load())
			}
		}
		q.Remove(&eternal.Entry)
	})
}

func TestQueueAllocatesNothing(t *testing.T) {
	var (
		q Queue
		c counted
	)
	q.Add(&c.Entry, &c, time.Hour)
	if n := testing.AllocsPerRun(100, func() {
		q.Add(&c.Entry, &c, time.Hour)
		q.Remove(&c.Entry)
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkExpiry(b *testing.B) {
	b.Run("queue", func(b *testing.B) {
		var (
			q Queue
			c counted
		)
		for b.Loop() {
			q.Add(&c.Entry, &c, time.Hour)
			q.Remove(&c.Entry)
		}
	})
	b.Run("timer", func(b *testing.B) {
		var c counted
		for b.Loop() {
			time.AfterFunc(time.Hour, c.Expire).Stop()
		}
	})
}
