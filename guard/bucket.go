package guard

import (
	"math"
	"sync"
	"time"
)

// bucket is a token bucket: the rate limit, and the budget of retries. Its time is
// that of Guard.now. A nil bucket has a token for everyone.
type bucket struct {
	rate, size float64 // tokens a second, and how many fit in

	mu     sync.Mutex
	tokens float64
	filled time.Duration // up to when the rate has been added
}

func newBucket(rate, size, tokens float64) *bucket {
	return &bucket{rate: rate, size: size, tokens: min(tokens, size)}
}

// take takes a token. If there is none, it says how long until there is.
func (b *bucket) take(now time.Duration) (wait time.Duration, ok bool) {
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

// put adds tokens: earned ones, or one that was not needed after all.
func (b *bucket) put(tokens float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.size, b.tokens+tokens)
}
