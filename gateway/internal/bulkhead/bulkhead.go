// Package bulkhead keeps calls that hang from taking up everything: how many may
// run at once.
package bulkhead

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/queue"
	"github.com/recloser-go/recloser/internal/refusal"
	"github.com/recloser-go/recloser/internal/vtime"
)

const (
	longestWait = 100 * time.Millisecond // for a slot; then the call is refused
	badInARow   = 3                      // that many bad calls in a row put the limit in force
	leastLimit  = 8
	memory      = 10 * time.Minute // how long a peak of healthy calls counts
	peaks       = 10               // that memory is kept in
)

// Bulkhead has a slot for each call that may run. As long as its dependency is
// healthy that is Max: any limit near what is usual would refuse good calls in
// a burst. While calls are bad, one after the other, it is twice as many as
// ran at once when all was well. Methods are safe for concurrent use.
type Bulkhead struct {
	clock vtime.Clock
	base  time.Time

	mu      sync.Mutex
	max     int
	running int
	bad     bool // calls are, one after the other
	waiting queue.Queue
	refused uint64
	highest int            // of running since the last Observe
	peak    [peaks + 1]int // highest while healthy, in turn for a part of memory each
	part    int            // of memory that runs, counted from base
}

// FullError is a call that found no slot in time. It is a refusal of ours: to a
// breaker it says nothing.
type FullError struct {
	Limit int // how many calls may run at once, just now
}

// Error says how many run.
func (e *FullError) Error() string {
	return fmt.Sprintf("bulkhead: as many calls run at once as may (%d)", e.Limit)
}

// Is reports whether target is the mark of a refusal.
func (e *FullError) Is(target error) bool { return target == refusal.Err }

// RetryAfter returns how long a call waits for a slot. Nobody knows when one is free.
func (e *FullError) RetryAfter() time.Duration { return longestWait }

// New returns a bulkhead of at most most calls at once; 0 or less is no bound.
func New(most int, clock vtime.Clock) *Bulkhead {
	b := &Bulkhead{clock: clock, base: clock.Now()}
	b.SetMax(most)
	return b
}

// SetMax changes how many calls run at once at most. Those that run go on.
func (b *Bulkhead) SetMax(most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.max = most; most <= 0 {
		b.max = math.MaxInt
	}
	b.hand()
}

// Enter takes a slot, and waits for one for a moment if there is none. Its error
// is a *FullError, or ctx's. Whoever has entered must Leave.
func (b *Bulkhead) Enter(ctx context.Context) error {
	if b.TryEnter() {
		return nil
	}
	return b.wait(ctx)
}

// TryEnter takes a slot if there is one.
func (b *Bulkhead) TryEnter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting.Len() > 0 || b.running >= b.limit() {
		return false
	}
	b.take()
	return true
}

// Leave gives a slot back.
func (b *Bulkhead) Leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	b.hand()
}

func (b *Bulkhead) wait(ctx context.Context) error {
	b.mu.Lock()
	if b.waiting.Len() >= b.limit() {
		defer b.mu.Unlock()
		return b.refuse()
	}
	turn := b.waiting.Join()
	b.hand()
	b.mu.Unlock()
	if b.clock.Wait(ctx, longestWait, turn) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.waiting.Leave(turn):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return b.refuse()
}

func (b *Bulkhead) refuse() error {
	b.refused++
	return &FullError{Limit: b.limit()}
}

func (b *Bulkhead) take() {
	b.running++
	b.highest = max(b.highest, b.running)
}

// hand gives the free slots to those who wait.
func (b *Bulkhead) hand() {
	for b.running < b.limit() && b.waiting.Next() {
		b.take()
	}
}

// limit is how many may run at once. It may fall below what runs.
func (b *Bulkhead) limit() int {
	if !b.bad {
		return b.max
	}
	return min(b.max, max(leastLimit, 2*slices.Max(b.peak[:])))
}

// Observe tells how the dependency is: how many calls in a row were bad, and
// whether it is healthy, which is closed and without such a run. It is to be
// called often.
func (b *Bulkhead) Observe(run int, healthy bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for now := int(b.clock.Since(b.base) / (memory / peaks)); b.part < now; b.part++ {
		if now-b.part > len(b.peak) {
			b.part = now - len(b.peak)
		}
		b.peak[(b.part+1)%len(b.peak)] = 0
	}
	if healthy {
		p := &b.peak[b.part%len(b.peak)]
		*p = max(*p, b.highest)
	}
	b.highest = b.running
	b.bad = run >= badInARow
	b.hand()
}

// InFlight returns how many calls run.
func (b *Bulkhead) InFlight() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

// Limit returns how many may run at once just now.
func (b *Bulkhead) Limit() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit()
}

// Refused returns how many calls were.
func (b *Bulkhead) Refused() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Admit enters a dependency's bulkhead and that of the process. A call that its
// breaker b would refuse does not wait for a slot: the error is b's then.
func Admit(ctx context.Context, b *recloser.Breaker, own, process *Bulkhead) error {
	if own.TryEnter() {
		if process.TryEnter() {
			return nil
		}
		own.Leave()
	}
	permit, err := b.Allow(ctx)
	if err != nil {
		return err
	}
	permit.Cancel()
	if err := own.Enter(ctx); err != nil {
		return err
	}
	if err := process.Enter(ctx); err != nil {
		own.Leave()
		return err
	}
	return nil
}
