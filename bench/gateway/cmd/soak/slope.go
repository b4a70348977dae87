package main

import (
	"math"
	"slices"
)

// sample is a value at a time in seconds.
type sample struct{ at, value float64 }

// trend is a straight line through samples.
type trend struct {
	first, last float64 // the line's values at the first and the last sample
	doubt       float64 // standard error of last - first
}

const (
	// windows is into how many parts the samples are cut. Of each the lowest value
	// counts: what is above it comes and goes with faults and the collector.
	windows = 20
	// tolerated is a growth that is none, as a share of the line's first value.
	tolerated = 0.1
	// surely is how many standard errors a growth must be above to be one.
	surely = 3
)

// flat reports whether it does not grow: not by more than a tenth, or by no more
// than chance.
func (t trend) flat() bool {
	growth := t.last - t.first
	return growth <= tolerated*t.first || growth <= surely*t.doubt
}

// growth is that of the line in percent.
func (t trend) growth() float64 { return 100 * (t.last - t.first) / t.first }

// trendOf draws the line of least squares through the lowest values.
func trendOf(all []sample) trend {
	points := lowest(all)
	n := float64(len(points))
	if n < 3 {
		return trend{doubt: math.Inf(1)}
	}
	var meanAt, meanValue float64
	for _, p := range points {
		meanAt += p.at / n
		meanValue += p.value / n
	}
	var spread, together float64
	for _, p := range points {
		spread += (p.at - meanAt) * (p.at - meanAt)
		together += (p.at - meanAt) * (p.value - meanValue)
	}
	slope := together / spread
	var off float64
	for _, p := range points {
		d := p.value - meanValue - slope*(p.at-meanAt)
		off += d * d
	}
	first, last := points[0].at, points[len(points)-1].at
	return trend{
		first: meanValue + slope*(first-meanAt),
		last:  meanValue + slope*(last-meanAt),
		doubt: math.Sqrt(off/(n-2)/spread) * (last - first),
	}
}

// lowest are the lowest samples of equal parts.
func lowest(all []sample) []sample {
	if len(all) < windows {
		return all
	}
	var points []sample
	for i := range windows {
		part := all[i*len(all)/windows : (i+1)*len(all)/windows]
		points = append(points, slices.MinFunc(part, func(a, b sample) int {
			switch {
			case a.value < b.value:
				return -1
			case a.value > b.value:
				return 1
			}
			return 0
		}))
	}
	return points
}
