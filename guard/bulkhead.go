package guard

import (
	"context"
	"slices"
	"sync"
	"time"

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
	waiting []chan struct{} // who waits longest gets the next slot
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
	turn := make(chan struct{}, 1)
	h.mu.Lock()
	if len(h.waiting) >= h.queue {
		h.mu.Unlock()
		return false
	}
	h.waiting = append(h.waiting, turn)
	h.hand()
	h.mu.Unlock()
	if h.clock.Wait(ctx, wait, turn) {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.waiting, turn)
	if i < 0 {
		return true // it came at the last moment
	}
	h.waiting = slices.Delete(h.waiting, i, i+1)
	return false
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
	for h.running < h.limit && len(h.waiting) > 0 {
		h.take()
		h.waiting[0] <- struct{}{}
		h.waiting = slices.Delete(h.waiting, 0, 1)
	}
}
