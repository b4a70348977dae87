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

// do does to a breaker what its watch wants.
func (p *Prober) do(now time.Time, w *watch, a act) {
	b := w.dep.Operator()
	switch {
	case a.do == try && b.TryNow(Who, a.why):
		w.say(now, ReasonEarly, a.why)
	case a.do == trip && b.TripNow(Who, a.why):
		w.say(now, ReasonTrip, a.why)
	case a.do == hold:
		b.HoldTrials(a.d)
	}
}
