package panel

import (
	"slices"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
)

// fared sums up the states of a dependency over a time. What people isolated says
// nothing about how available it was, and neither does what nobody knows.
type fared struct {
	Known         time.Duration // the rules alone decided, and it is known what
	CutOff        time.Duration // of it: open or half-open
	ByHand        time.Duration // isolated or in maintenance
	Trips         int
	Median, Worst time.Duration // from a trip to the closing after it
}

// Share is that of the known time in which calls passed.
func (f fared) Share() float64 {
	if f.Known <= 0 {
		return 0
	}
	return 1 - f.CutOff.Seconds()/f.Known.Seconds()
}

func (p *past) fared(d *admin.Dependency, from, to time.Time) (f fared) {
	var recoveries []time.Duration
	var tripped time.Time // zero: it is not
	for _, s := range p.segments(d, from, to) {
		length := s.To.Sub(s.From)
		switch s.S.Key {
		case unknown:
			tripped = time.Time{}
		case isolated, inMaintenance:
			f.ByHand += length
			tripped = time.Time{} // how long it would have taken is not known
		case open, halfOpen:
			f.Known += length
			f.CutOff += length
			if s.S.Key == open && tripped.IsZero() {
				tripped = s.From
				if s.From.After(from) {
					f.Trips++
				}
			}
		default:
			f.Known += length
			if !tripped.IsZero() {
				recoveries = append(recoveries, s.From.Sub(tripped))
			}
			tripped = time.Time{}
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
