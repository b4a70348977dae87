// Package bucket is the token bucket behind every rate limit and budget here. Its
// time is an argument: how long it is since any moment that its owner sticks to.
package bucket

import (
	"math"
	"sync"
	"time"
)

// Bucket holds tokens. Make one with New; a nil one has a token for everyone. It
// is safe for concurrent use.
type Bucket struct {
	rate, size float64 // tokens a second, and how many fit in

	mu     sync.Mutex
	tokens float64
	filled time.Duration // up to when the rate has been added
}

// New returns a bucket that gets rate tokens a second, holds size at most and has
// as many as tokens at time 0.
func New(rate, size, tokens float64) *Bucket {
	return &Bucket{rate: rate, size: size, tokens: min(tokens, size)}
}

// Take takes a token. If there is none, it says how long until there is.
func (b *Bucket) Take(now time.Duration) (wait time.Duration, ok bool) {
	if b == nil {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if past := now - b.filled; past > 0 { // calls read the clock before they have the lock
		b.tokens = min(b.size, b.tokens+past.Seconds()*b.rate)
		b.filled = now
	}
	// A sum of tenths may be a hair below one.
	if missing := 1 - b.tokens; missing > 1e-9 {
		return time.Duration(min(math.Ceil(missing/b.rate*1e9), float64(math.MaxInt64/2))), false
	}
	b.tokens = max(0, b.tokens-1)
	return 0, true
}

// Put adds tokens: earned ones, or one that was not needed after all.
func (b *Bucket) Put(tokens float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.size, b.tokens+tokens)
}

// Tokens returns how many there were at the last Take or Put.
func (b *Bucket) Tokens() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens
}
