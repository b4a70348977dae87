package guard

import (
	"context"
	"sync"
	"time"

	"github.com/recloser-go/recloser/internal/queue"
	"github.com/recloser-go/recloser/internal/vtime"
)

// bulkhead has a slot for each call that may run. A nil bulkhead has room for all.
type bulkhead struct {
	clock vtime.Clock
	queue int

	mu      sync.Mutex
	limit   int       // how many slots there are
	moves   *adaptive // nil: the limit does not
	running int
	waiting queue.Queue
}

func newBulkhead(cfg Bulkhead, clock vtime.Clock) *bulkhead {
	h := &bulkhead{clock: clock, limit: cfg.Min, queue: cfg.Queue}
	if cfg.Min < cfg.Max {
		h.moves = newAdaptive(cfg.Min, cfg.Max)
	}
	return h
}

// adapts reports whether the limit moves.
func (h *bulkhead) adapts() bool { return h != nil && h.moves != nil }

// size returns how many calls may run at once.
func (h *bulkhead) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.limit
}

// tryEnter takes a slot if one is free.
func (h *bulkhead) tryEnter() bool {
	if h == nil {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running >= h.limit {
		return false
	}
	h.take()
	return true
}

// take takes a slot that is free.
func (h *bulkhead) take() {
	h.running++
	if h.adapts() && h.running >= h.limit {
		h.moves.full = true
	}
}

// enter waits for a slot, for as long as is given.
func (h *bulkhead) enter(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return false
	}
	h.mu.Lock()
	if h.waiting.Len() >= h.queue {
		h.mu.Unlock()
		return false
	}
	turn := h.waiting.Join()
	h.hand()
	h.mu.Unlock()
	if h.clock.Wait(ctx, wait, turn) {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.waiting.Leave(turn)
}

// leave gives a slot back at now.
func (h *bulkhead) leave(s sample, now time.Duration) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	if h.adapts() {
		h.limit = h.moves.see(s, now)
	}
	h.hand()
}

// hand gives the free slots to those who wait.
func (h *bulkhead) hand() {
	for h.running < h.limit && h.waiting.Next() {
		h.take()
	}
}
