package gobreaker

import (
	"slices"
	"sync"
	"time"
)

// breaker is the state machine of both types. Its life is a row of generations:
// one begins with every change of state and, without buckets, with every
// Interval. A call reports to the generation that admitted it, so a result that
// comes later decides nothing.
type breaker struct {
	Settings           // with every default filled in
	base     time.Time // the clock counts from here

	mu         sync.Mutex // guards everything below; no hook is called under it
	state      State
	generation uint64
	start      time.Duration // when the generation began
	window     window
	leases     []time.Duration // when the calls on trial began that still keep a slot, oldest first
	changes    changes
	flags      *[64]bool // for call.ended
	flagsUsed  int
}

// call is one that was admitted.
type call struct {
	generation uint64
	age        uint64        // its bucket
	start      time.Duration // when it began, if on trial
	ended      *bool         // nil if its end cannot be told twice
}

func newBreaker(st Settings) *breaker {
	b := &breaker{Settings: st, base: time.Now()}
	b.MaxRequests = max(st.MaxRequests, 1)
	if st.Timeout <= 0 {
		b.Timeout = time.Minute
	}
	b.Interval = max(st.Interval, 0)
	b.window.length = 1
	if b.Interval > 0 && st.BucketPeriod > 0 {
		b.window.length = uint64((b.Interval-1)/st.BucketPeriod) + 1
		b.Interval = max(b.Interval, st.BucketPeriod) // rounded up as far as it matters: to one bucket
	}
	return b
}

func (b *breaker) now() time.Duration { return time.Since(b.base) }

func (b *breaker) allow() (done func(error), err error) {
	c, err := b.admit(true)
	if err != nil {
		return nil, err
	}
	return func(err error) { b.end(c, err) }, nil
}

// admit lets a call pass or says why not. twoStep means that the program tells
// of the end, and may do so twice.
func (b *breaker) admit(twoStep bool) (c call, err error) {
	b.mu.Lock()
	b.settle()
	switch {
	case b.state == StateOpen:
		err = ErrOpenState
	case b.state == StateHalfOpen && !b.takeSlot(&c):
		err = ErrTooManyRequests
	default:
		c.generation, c.age = b.generation, b.window.age
		b.window.admit()
		if twoStep {
			c.ended = b.flag()
		}
	}
	b.unlock()
	return c, err
}

// flag returns a new false. They are made many at a time: one allocation for
// each would be a quarter of the cost of a call.
func (b *breaker) flag() *bool {
	if b.flags == nil || b.flagsUsed == len(b.flags) {
		b.flags, b.flagsUsed = new([64]bool), 0
	}
	b.flagsUsed++
	return &b.flags[b.flagsUsed-1]
}

// takeSlot lets a call in on trial if fewer than MaxRequests were good or are
// running. One that runs longer than Timeout keeps its slot no longer: calls
// that never end would else keep everybody out for ever. If it ends after all, it counts.
func (b *breaker) takeSlot(c *call) bool {
	c.start = b.now()
	lapsed := 0
	for lapsed < len(b.leases) && c.start-b.leases[lapsed] > b.Timeout {
		lapsed++
	}
	b.leases = slices.Delete(b.leases, 0, lapsed)
	if b.window.ended[success]+uint64(len(b.leases)) >= uint64(b.MaxRequests) {
		return false
	}
	b.leases = append(b.leases, c.start)
	return true
}

// end books how a call ended, when it is told so first.
func (b *breaker) end(c call, err error) {
	b.mu.Lock()
	b.settle()
	again := c.ended != nil && *c.ended
	if c.ended != nil {
		*c.ended = true
	}
	if again || c.generation != b.generation {
		b.unlock()
		return
	}
	o := success
	if b.IsExcluded != nil || b.IsSuccessful != nil {
		b.unlock() // for the hooks
		o = b.outcomeOf(err)
		b.mu.Lock()
		if b.settle(); c.generation != b.generation {
			b.unlock()
			return
		}
	} else if err != nil {
		o = failure
	}
	b.window.book(c.age, o)
	if b.state == StateHalfOpen {
		b.endTrial(c, o)
	}
	if b.state != StateClosed || o != failure {
		b.unlock()
		return
	}
	counts := b.window.counts()
	b.unlock()
	if !ask(b.ReadyToTrip, counts, counts.ConsecutiveFailures > 5) {
		return
	}
	b.mu.Lock()
	if c.generation == b.generation { // else somebody was faster
		b.enter(StateOpen)
	}
	b.unlock()
}

func (b *breaker) endTrial(c call, o outcome) {
	if i, found := slices.BinarySearch(b.leases, c.start); found {
		b.leases = slices.Delete(b.leases, i, i+1)
	}
	switch {
	case o == failure:
		b.enter(StateOpen)
	case b.window.ended[success] >= uint64(b.MaxRequests):
		b.enter(StateClosed)
	}
}

// settle does what is due because time has passed.
func (b *breaker) settle() {
	switch {
	case b.state == StateOpen:
		if b.now()-b.start > b.Timeout {
			b.enter(StateHalfOpen)
		}
	case b.state == StateHalfOpen || b.Interval == 0: // the clock is half of a call's cost
	case b.window.length > 1:
		b.window.slide(uint64((b.now() - b.start) / b.BucketPeriod))
	case b.now()-b.start > b.Interval:
		b.begin()
	}
}

// enter changes the state.
func (b *breaker) enter(to State) {
	if b.OnStateChange != nil {
		b.changes.add(change{b.state, to})
	}
	b.state = to
	b.begin()
}

// begin starts a new generation.
func (b *breaker) begin() {
	b.generation++
	b.start = b.now()
	b.window.clear()
	b.leases = b.leases[:0]
}

func (b *breaker) currentState() State {
	b.mu.Lock()
	b.settle()
	state := b.state
	b.unlock()
	return state
}

func (b *breaker) currentCounts() Counts {
	b.mu.Lock()
	b.settle()
	counts := b.window.counts()
	b.unlock()
	return counts
}
