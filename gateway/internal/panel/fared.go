package panel

import (
	"slices"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
)

// fared sums up the states of a dependency over a time. What people have set says
// nothing about how available it was, and neither does what nobody knows.
type fared struct {
	Known         time.Duration // the rules alone decided, and it is known what
	CutOff        time.Duration // of it: open or half-open
	WouldBe       time.Duration // of it: the same in shadow mode, so calls passed
	ByHand        time.Duration // isolated, held closed or in maintenance, and until a call came after that
	Trips         int           // that cut off
	Median, Worst time.Duration // from such a trip to the closing after it
}

// Share is that of the known time in which calls passed.
func (f fared) Share() float64 {
	if f.Known <= 0 {
		return 0
	}
	return 1 - f.CutOff.Seconds()/f.Known.Seconds()
}

// felt is what a state means for callers, and who has decided that.
type felt int

const (
	nobodyKnows felt = iota
	passing
	cutOff        // by the rules
	wouldBeCutOff // by the rules, but calls pass
	byHand
)

// felt says that of a time of a dependency. One that has breakers by key, or is in shadow
// mode, passes calls as soon as an isolation is over; any other waits for one on trial.
func (s segment) felt(d *admin.Dependency) felt {
	switch s.S.Key {
	case unknown:
		return nobodyKnows
	case isolated, heldClosed, inMaintenance:
		return byHand
	case open, halfOpen:
		switch {
		case !s.untried:
			return cutOff
		case d.Keys == nil:
			return byHand
		}
	case shadowed:
		if !s.untried {
			return wouldBeCutOff
		}
	}
	return passing
}

func (p *past) fared(d *admin.Dependency, from, to time.Time) (f fared) {
	var recoveries []time.Duration
	var tripped time.Time // zero: it is not
	for _, s := range p.segments(d, from, to) {
		length := s.To.Sub(s.From)
		was := tripped
		tripped = time.Time{} // else how long it would have taken is not known
		switch s.felt(d) {
		case nobodyKnows:
		case byHand:
			f.ByHand += length
		case wouldBeCutOff:
			f.Known += length
			f.WouldBe += length
		case cutOff:
			f.Known += length
			f.CutOff += length
			if tripped = was; s.S.Key == open && tripped.IsZero() {
				tripped = s.From
				if s.From.After(from) {
					f.Trips++
				}
			}
		case passing:
			f.Known += length
			if !was.IsZero() {
				recoveries = append(recoveries, s.From.Sub(was))
			}
		}
	}
	if len(recoveries) > 0 {
		slices.Sort(recoveries)
		middle := len(recoveries) / 2
		f.Median = recoveries[middle]
		if len(recoveries)%2 == 0 {
			f.Median = (recoveries[middle-1] + recoveries[middle]) / 2
		}
		f.Worst = recoveries[len(recoveries)-1]
	}
	return f
}
