package suspect

import (
	"sync/atomic"
	"time"
)

// meanwhile is how long ago a good answer still shows that the way out is open.
const meanwhile = 300 * time.Millisecond

// Seen is one dependency at the moment, to an Uplink.
type Seen struct {
	Active      bool      // it has had calls lately
	Overdue     bool      // calls to it run past its suspect limit
	JustTripped bool      // it was cut off a moment ago
	LastGood    time.Time // when a call to it last ended well
}

// Uplink tells whether many dependencies hang at once and none answers: then it is
// rather our own way out that is broken, and none of them is to be cut off on mere
// suspicion. Its zero value blames nobody. It is safe for concurrent use.
type Uplink struct{ us atomic.Bool }

// Observe looks at all dependencies there are. It is to be called every 50 ms or so.
func (u *Uplink) Observe(now time.Time, all []Seen) {
	var active, troubled int
	answers := false
	for _, s := range all {
		switch {
		case !s.Active:
		case s.Overdue || s.JustTripped:
			active++
			troubled++
		default:
			active++
			answers = answers || now.Sub(s.LastGood) <= meanwhile
		}
	}
	u.us.Store(troubled >= 3 && 2*troubled >= active && !answers)
}

// Us reports whether it is us. A breaker may ask it under its lock.
func (u *Uplink) Us() bool { return u.us.Load() }
