package guard

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser/internal/vtime"
)

// bulkhead has a slot for each call that may run. A nil bulkhead has room for all.
type bulkhead struct {
	clock   vtime.Clock
	slots   chan struct{} // the free ones; who waits longest gets the next
	wait    time.Duration
	queue   int64
	waiting atomic.Int64
}

func newBulkhead(cfg Bulkhead, clock vtime.Clock) *bulkhead {
	h := &bulkhead{clock: clock, slots: make(chan struct{}, cfg.Max), wait: cfg.Wait, queue: int64(cfg.Queue)}
	for range cfg.Max {
		h.leave()
	}
	return h
}

// tryEnter takes a slot if one is free.
func (h *bulkhead) tryEnter() bool {
	if h == nil {
		return true
	}
	select {
	case <-h.slots:
		return true
	default:
		return false
	}
}

// enter waits for a slot if that is allowed.
func (h *bulkhead) enter(ctx context.Context) bool {
	if h.wait <= 0 {
		return false
	}
	defer h.waiting.Add(-1)
	return h.waiting.Add(1) <= h.queue && h.clock.Wait(ctx, h.wait, h.slots)
}

func (h *bulkhead) leave() {
	if h != nil {
		h.slots <- struct{}{}
	}
}
