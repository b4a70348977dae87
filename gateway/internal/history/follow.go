package history

import (
	"context"
	"slices"
)

// behind is how many events a reader may be behind.
const behind = 256

// reader is somebody who follows.
type reader struct{ live chan Event }

// Follow returns the events with an ID above after, oldest first, and a channel
// on which every later one comes, without a gap between. After 0 there is no
// backlog; it never is more than the newest 10 000. The channel is closed by
// stop, by Close, and if its reader is 256 events behind: he follows again
// from the last ID that he got.
func (h *History) Follow(after int64) (backlog []Event, live <-chan Event, stop func()) {
	r := &reader{live: make(chan Event, behind)}
	h.mu.Lock()
	next := h.last + 1
	if h.closed {
		close(r.live)
	} else {
		h.readers[r] = struct{}{}
	}
	h.mu.Unlock()
	stop = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drop(r)
	}
	if after <= 0 {
		return nil, r.live, stop
	}
	backlog, err := h.Events(context.Background(), EventQuery{After: after, Before: next, Limit: most, newest: true})
	if err != nil {
		h.o.Log.Error("history: who follows gets no backlog", "fault", err)
		return nil, r.live, stop
	}
	slices.Reverse(backlog)
	return backlog, r.live, stop
}

// drop ends a reader's channel, once. It needs mu.
func (h *History) drop(r *reader) {
	if _, ok := h.readers[r]; ok {
		delete(h.readers, r)
		close(r.live)
	}
}
