package demo

import (
	"slices"
	"sync"
	"time"
)

// result is how a guest's visit ended.
type result uint8

// The results. A scan ends answered, refused, released or failed, an ask yes, no or unknown.
const (
	waiting  result = iota // not ended
	answered               // the hotel answered
	refused                // turned away at once, because the hotel is cut off
	released               // turned away after a wait: the hotel was cut off meanwhile
	failed                 // an error, or no answer within clientTimeout
	yes                    // a hotel said so
	no                     // every hotel has answered, none with yes
	unknown                // somebody who could have said yes was not heard
)

// refusal reports whether the guest was turned away because the hotel is cut off.
func (r result) refusal() bool { return r == refused || r == released }

// visit is one guest before a turnstile.
type visit struct {
	hotel      int           // whose guest; 0 if of none of them
	ask        bool          // the turnstile does not know the hotel and asks all
	start, end time.Duration // due, and gone
	sent       time.Duration // when the turnstile began to ask
	result     result
	letIn      bool
}

// wait returns how long the guest has waited by then.
func (v visit) wait(now time.Duration) time.Duration {
	if v.result == waiting || v.end > now {
		return max(0, now-v.start)
	}
	return v.end - v.start
}

// visits is the book of one lane. It is safe for concurrent use.
type visits struct {
	mu  sync.Mutex
	all []visit
}

// begin notes that a guest has come, and returns the number to end it with.
func (b *visits) begin(v visit) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, v)
	return len(b.all) - 1
}

// end notes what became of the guest.
func (b *visits) end(n int, at time.Duration, r result, letIn bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := &b.all[n]
	v.end, v.result, v.letIn = at, r, letIn
}

// list returns a copy of the book as it is now.
func (b *visits) list() []visit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}
