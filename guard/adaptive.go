package guard

import (
	"math"
	"time"
)

// adaptive moves a bulkhead's limit by what calls take. It goes round by round: a
// round is as many calls as may run at once, and at least leastRound. Only calls
// that began in it count, so that each round shows what its own limit does. With
// m for the mean of the logarithms of their times, e for twice its standard error,
// and base for the lowest m + e of all rounds, the time that a call takes where none
// has to queue, a round in which all slots were taken at some time ends with
//
//	m - e > base + slack:  limit *= exp(base + slack - m), at least 1/2
//	m + e < base - slack:  limit /= 2
//	else:                  limit += sqrt(limit)
//
// and any round with a share f of bad calls with
//
//	limit *= 1 - f/2
//
// Logarithms, as one call of ten seconds is not worth a hundred of 0.1 s; and the
// error, as a round of few calls says little. A dependency that has become slower
// for good looks like one with a queue that does not go away: the limit falls to
// its least, where there is no queue, and there base is learned anew. One that has
// become much faster may do so with a queue, so base is looked for further down.
type adaptive struct {
	least, most float64
	limit       float64
	base        float64 // +Inf: not known yet

	// The round.
	since       time.Duration // as Guard.now
	good, bad   float64
	sum, square float64 // of the logarithms of what good calls took
	full        bool    // all slots were taken at some time
}

const leastRound = 10

// slack is how much longer than base a call may take, as a logarithm: half as
// long again.
const slack = 0.405

func newAdaptive(least, most int) *adaptive {
	return &adaptive{least: float64(least), most: float64(most), limit: float64(least), base: math.Inf(1)}
}

// sample is what the end of a call says about the limit.
type sample struct {
	began, took time.Duration
	kind        sampleKind
}

type sampleKind uint8

const (
	silent  sampleKind = iota // nothing: the call did not run, or nobody knows how it would have ended
	good                      // it took that long
	bad                       // it failed
	givenUp                   // nobody waited for its end: it would have taken at least that long
)

// see takes in a call that ended at now, and returns the limit.
func (a *adaptive) see(s sample, now time.Duration) int {
	took := math.Log(max(1e-9, s.took.Seconds()))
	switch {
	case s.began < a.since:
		return int(a.limit)
	case s.kind == bad:
		a.bad++
	case s.kind == good, s.kind == givenUp && took > a.base:
		a.good++
		a.sum += took
		a.square += took * took
	}
	if a.good+a.bad >= max(leastRound, math.Floor(a.limit)) {
		a.turn()
		a.since, a.good, a.bad, a.sum, a.square, a.full = now, 0, 0, 0, 0, false
	}
	return int(a.limit)
}

// turn draws the conclusions of a round.
func (a *adaptive) turn() {
	limit := a.limit
	if a.good > 0 && a.full { // what takes long with free slots is not our queue
		mean := a.sum / a.good
		err := 2 * math.Sqrt(max(0, a.square/a.good-mean*mean)/a.good)
		if a.limit <= a.least {
			a.base = mean + err
		}
		switch {
		case mean-err > a.base+slack:
			limit *= max(0.5, math.Exp(a.base+slack-mean))
		case mean+err < a.base-slack:
			limit /= 2
		default:
			limit += math.Sqrt(limit)
		}
		a.base = min(a.base, mean+err)
	}
	limit *= 1 - a.bad/(a.good+a.bad)/2
	a.limit = min(max(limit, a.least), a.most)
}
