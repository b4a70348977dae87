package recloser

import (
	"math"
	"math/rand/v2"
	"time"
)

// never is later than any time of the clock.
const never = math.MaxInt64

// coarse is how exactly the start and the end of the latest good call are
// kept: finer would make every good call write them.
const coarse = int64(4 * time.Millisecond)

// runPause is how long a run of bad calls may pause before a new one starts.
const runPause = int64(30 * time.Minute)

// rules are the settings with every default filled in, and the time by which
// they are applied. Breakers share them.
type rules struct {
	cfg  Config
	base time.Time // the machine's clock counts from here
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

// now reads the clock, in nanoseconds since it began.
func (r *rules) now() int64 {
	if r.cfg.Clock != nil {
		return r.cfg.Clock.now()
	}
	return int64(time.Since(r.base))
}

// rules returns those in force.
func (b *Breaker) rules() *rules { return b.inForce.Load() }

// cfg returns the settings in force, with every default filled in. They never
// change.
func (b *Breaker) cfg() *Config { return &b.rules().cfg }

// random returns a number from [0, 1).
func (b *Breaker) random() float64 {
	if b.seed == 0 {
		return rand.Float64()
	}
	return rand.New(rand.NewPCG(uint64(b.seed), b.events().seq)).Float64()
}

// slow returns SlowCall; 0: off.
func (r *rules) slow() int64 { return max(int64(r.cfg.SlowCall), 0) }

// slowAfter returns how long a call takes that is slow; never if none is.
func (r *rules) slowAfter() int64 {
	if r.cfg.SlowCall <= 0 {
		return never
	}
	return int64(r.cfg.SlowCall)
}

// spread returns Spread; 0: off.
func (r *rules) spread() int64 { return max(int64(r.cfg.Spread), 0) }

// ratePPM returns FailureRate in millionths; 0: off.
func (r *rules) ratePPM() uint64 { return uint64(math.Round(max(r.cfg.FailureRate, 0) * 1e6)) }

// slice returns the shortest slice of the window.
func (r *rules) slice() int64 { return int64(r.cfg.Window) / 10 }

// oldSlice returns the longest.
func (r *rules) oldSlice() int64 { return max(int64(maxWindowAge)/10, r.slice()) }

// perSlice returns how many judged calls end a slice before it is oldSlice old.
func (r *rules) perSlice() uint64 { return uint64(r.cfg.MinCalls+9) / 10 }

// maxAge returns how old a slice may be that counts.
func (r *rules) maxAge() int64 {
	return max(int64(maxWindowAge), int64(r.cfg.Window)+r.slice())
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
