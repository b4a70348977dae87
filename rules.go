package recloser

import (
	"math"
	"math/bits"
	"time"
)

// never is later than any time of the clock.
const never = math.MaxInt64

// coarse is how exactly the start and the end of the latest good call are
// kept: finer would make every good call write them.
const coarse = int64(4 * time.Millisecond)

// runPause is how long a run of bad calls may pause before a new one starts.
const runPause = int64(30 * time.Minute)

// rules are the settings in the form the engine uses.
type rules struct {
	cfg Config

	slow      int64  // SlowCall; 0: off
	slowAfter int64  // a call that took that long is slow; never if off
	spread    int64  // 0: off
	ratePPM   uint64 // FailureRate in millionths; 0: off
	shift     uint8  // of the ring
	slice     int64  // the shortest slice of the window
	oldSlice  int64  // the longest
	perSlice  uint64 // judged calls it takes to end a slice before it is oldSlice old
	maxAge    int64  // of a slice that counts
}

func newRules(c Config) *rules {
	r := &rules{cfg: c, slowAfter: never, slice: int64(c.Window) / 10}
	if c.SlowCall > 0 {
		r.slow, r.slowAfter = int64(c.SlowCall), int64(c.SlowCall)
	}
	if c.Spread > 0 {
		r.spread = int64(c.Spread)
	}
	if c.FailureRate > 0 {
		r.ratePPM = uint64(math.Round(c.FailureRate * 1e6))
	}
	// Slices of a power of two cost a shift instead of a division. The ring
	// holds 32 of them, and a call is out of it after 17 at most.
	r.shift = uint8(bits.Len64(uint64(ringLimit(r.slowAfter))/8) - 1)
	r.perSlice = uint64(c.MinCalls+9) / 10
	r.maxAge = max(int64(maxWindowAge), int64(c.Window)+r.slice)
	r.oldSlice = max(int64(maxWindowAge)/10, r.slice)
	return r
}

// on returns the rules for a breaker with that clock.
func (r *rules) on(clock *Clock) *rules {
	if r.cfg.Clock == clock {
		return r
	}
	other := *r
	other.cfg.Clock = clock
	return &other
}

// openTime returns how long an opening with this step lasts, for a random
// number from [0, 1).
func (r *rules) openTime(step int, random float64) int64 {
	longest := int64(r.cfg.MaxOpenFor)
	d := min(int64(r.cfg.OpenFor)<<step, longest)
	if r.cfg.Jitter <= 0 {
		return d
	}
	low := float64(d) * (1 - r.cfg.Jitter)
	high := min(float64(d)*(1+r.cfg.Jitter), float64(longest))
	return int64(low + random*(high-low))
}

// inReach returns the step, or the highest that makes the open time longer.
func (r *rules) inReach(step int) int {
	for i := range step {
		if r.stepUp(i) == i {
			return i
		}
	}
	return step
}

// stepUp returns the next step, as long as a step makes the open time longer.
func (r *rules) stepUp(step int) int {
	if int64(r.cfg.OpenFor)<<step < int64(r.cfg.MaxOpenFor) {
		return step + 1
	}
	return step
}
