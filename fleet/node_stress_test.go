package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

// flaky is a store that is slow, and fails now and then, as long as it is ill.
type flaky struct {
	*Memory
	ill *atomic.Bool
}

func (f flaky) way(ctx context.Context) error {
	if !f.ill.Load() {
		return nil
	}
	select {
	case <-time.After(time.Duration(rand.Int64N(int64(300 * time.Millisecond)))):
	case <-ctx.Done():
		return ctx.Err()
	}
	if rand.IntN(10) == 0 {
		return errDown
	}
	return nil
}

func (f flaky) Load(ctx context.Context) ([]Doc, uint64, error) {
	if err := f.way(ctx); err != nil {
		return nil, 0, err
	}
	return f.Memory.Load(ctx)
}

// Put fails before or after it is done.
func (f flaky) Put(ctx context.Context, expect Rev, next Doc) (Doc, error) {
	if err := f.way(ctx); err != nil {
		return Doc{}, err
	}
	d, err := f.Memory.Put(ctx, expect, next)
	return d, errors.Join(err, f.way(ctx))
}

func (f flaky) Said(ctx context.Context, key string) ([]Row, error) {
	if err := f.way(ctx); err != nil {
		return nil, err
	}
	return f.Memory.Said(ctx, key)
}

func (f flaky) Acquire(ctx context.Context, key string, rev Rev, node string, ttl time.Duration) (Lease, Tally, error) {
	l, tally, err := f.Memory.Acquire(ctx, key, rev, node, ttl)
	return l, tally, errors.Join(err, f.way(ctx))
}

// Nodes, callers, operators and readers all at once, on a store that is ill for two
// minutes: then all agree again, and nothing is left running.
func TestNodesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemory()
		defer store.Close()
		var ill, down, over atomic.Bool
		ill.Store(true)
		var nodes []*Node
		var hotels []*recloser.Breaker
		for i := range 4 {
			n, all := startNode(t, Config{Fleet: "town", Node: fmt.Sprint(i)}, flaky{store.Share(), &ill}, "hotel", "inn")
			nodes, hotels = append(nodes, n), append(hotels, all[0])
			n.Leave("inn")
			if err := n.Seek("sender"); err != nil {
				t.Fatal(err)
			}
		}
		var work sync.WaitGroup
		each := func(every time.Duration, f func(i int)) {
			for i := range nodes {
				work.Go(func() {
					for !over.Load() {
						f(i)
						<-time.After(every + time.Duration(rand.Int64N(int64(every))))
					}
				})
			}
		}
		each(300*time.Millisecond, func(i int) {
			if down.Load() {
				_ = fail(t.Context(), hotels[i])
			} else {
				_ = succeed(t.Context(), hotels[i])
			}
		})
		each(time.Second, func(i int) { _ = nodes[i].Status(); _ = nodes[i].Holds("sender") })
		each(9*time.Second, func(i int) {
			switch rand.IntN(5) {
			case 0:
				_ = nodes[i].Isolate("hotel", "ann", "why", time.Now().Add(3*time.Second))
			case 1:
				_ = nodes[i].HoldClosed("hotel", "ann", "why", time.Now().Add(3*time.Second))
			case 2:
				_, _ = nodes[i].Release("hotel", "bob", "why")
			case 3:
				_ = nodes[i].Reset("hotel", "bob", "why")
			case 4:
				_, _ = nodes[i].TryNow("hotel", "bob", "why")
			}
		})
		for range 6 {
			<-time.After(20 * time.Second)
			down.Store(!down.Load())
			if rand.IntN(3) == 0 {
				store.Flush()
			}
		}
		ill.Store(false)
		down.Store(false)
		over.Store(true)
		work.Wait()
		over.Store(false)
		each(300*time.Millisecond, func(i int) { _ = succeed(t.Context(), hotels[i]) })
		<-time.After(2 * time.Minute)
		over.Store(true)
		work.Wait()
		rev := nodes[0].Status().Breakers[0].Rev
		holders := 0
		for i, n := range nodes {
			s := n.Status()
			if b := s.Breakers[0]; s.Mode != Shared || b.NotShared != nil || b.Rev != rev || hotels[i].State() != recloser.Closed || len(s.Nodes) != 4 {
				t.Errorf("%+v, %s", s, hotels[i].Explain())
			}
			if n.Holds("sender") {
				holders++
			}
		}
		if holders != 1 {
			t.Errorf("%d have the role", holders)
		}
	})
}
