package town

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Call is what happened to one guest. Times are since the run began.
type Call struct {
	N     uint64        // number of the guest
	Due   time.Duration // when it had to begin
	Late  time.Duration // by how much the generator was late
	Took  time.Duration // from due to the answer's end, or to giving up
	OK    bool          // answered, and well
	Ours  bool          // answered with an error by the gateway, not by the hotel
	Names []string      // of an ask that nobody could answer for sure: who was not heard
}

// End is when the guest was done.
func (c Call) End() time.Duration { return c.Due + c.Took }

// Guests come at evenly spaced times, whatever happened to those before: an open
// loop. One that waits does not hold up the next.
type Guests struct {
	Every  time.Duration // from one guest to the next
	Offset time.Duration // of the first, so that those of several hotels do not come together
	Until  time.Duration // none begins later
	// Call makes guest n's call. It fills in OK, Ours and Names.
	Call func(n uint64) Call
	// Done is told of each call, from many goroutines at once.
	Done func(Call)
}

// Come lets them come, begins at start and returns when the last is done, or
// when ctx has ended and those under way are done.
func (g Guests) Come(ctx context.Context, start time.Time) {
	var under sync.WaitGroup
	defer under.Wait()
	for n := uint64(0); ; n++ {
		due := g.Offset + time.Duration(n)*g.Every
		if due >= g.Until {
			return
		}
		if !Wait(ctx, time.Until(start.Add(due))) {
			return
		}
		under.Go(func() {
			late := time.Since(start) - due
			c := g.Call(n)
			c.N, c.Due, c.Late, c.Took = n, due, late, time.Since(start)-due
			g.Done(c)
		})
	}
}

// Patience is how long a guest waits for an answer before giving up.
const Patience = 10 * time.Second

// NewClient returns a client as the guests of one gateway use it: many
// connections, kept.
func NewClient() *http.Client {
	t := &http.Transport{MaxIdleConnsPerHost: 4096, IdleConnTimeout: 90 * time.Second, DisableCompression: true}
	return &http.Client{Transport: t, Timeout: Patience}
}

// Log gathers calls. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	calls []Call
}

// Add notes a call.
func (l *Log) Add(c Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

// Calls returns them in the order in which they were due.
func (l *Log) Calls() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return inOrder(l.calls)
}
