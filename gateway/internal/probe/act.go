package probe

import "time"

// act is what a watch wants done to its breaker.
type act struct {
	do  deed
	why string
	d   time.Duration // hold: from now
}

type deed int

const (
	nothing deed = iota
	try          // start trials
	trip
	hold // no trials by time for a while
)

// tripper is what a breaker that probes can trip has besides TryNow.
type tripper interface {
	TripNow(by, why string) bool
	HoldTrials(d time.Duration) bool
}

// do does to a breaker what its watch wants.
func (p *Prober) do(now time.Time, w *watch, a act) {
	b := w.dep.Breaker
	more, ok := any(b).(tripper)
	switch {
	case a.do == try && b.TryNow(Who, a.why):
		w.say(now, ReasonEarly, a.why)
	case a.do == trip && ok && more.TripNow(Who, a.why):
		w.say(now, ReasonTrip, a.why)
	case a.do == hold && ok:
		more.HoldTrials(a.d)
	}
}
