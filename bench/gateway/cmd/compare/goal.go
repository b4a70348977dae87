package main

import (
	"math"
	"slices"
)

// goal is what a figure of ours must be.
type goal struct {
	row, figure string
	must        float64
	worst       bool // the worst run is judged, not the median
}

// atLeast reports whether the figure must reach the limit rather than keep below.
func (g goal) atLeast() bool { return isShare(g.figure) }

// goals are what Recloser's defaults must do.
func goals() []goal {
	return []goal{
		{row: "black hole", figure: waited, must: 6},
		{row: "black hole", figure: firstRefusal, must: 0.8},
		{row: "black hole", figure: backToFull, must: 3, worst: true},
		{row: "errors, honest probe", figure: backToFull, must: 3, worst: true},
		{row: "errors, /health lies", figure: reached, must: 12},
		{row: "30 % errors", figure: possible, must: 97},
		{row: "up 2 s, down 2 s", figure: succeeded, must: 30},
		{row: "ask ten", figure: askP99, must: 700},
		{row: "ask ten", figure: named, must: 100},
		{row: "300 ms partner hangs", figure: firstRefusal, must: 1.6},
		{row: "300 ms partner hangs", figure: waited, must: 12},
		{row: "six of ten hang", figure: waited, must: 6},
		{row: "six of ten hang", figure: firstRefusal, must: 0.8},
		{row: "six of ten hang", figure: backToFull, must: 3, worst: true},
		{row: "1000 calls/s", figure: firstRefusal, must: 0.8},
		{row: "1000 calls/s", figure: peak, must: 900},
		{row: "black hole", figure: healthyOK, must: 100},
		{row: "black hole", figure: againstCalm, must: 1.1},
		{row: cpuRow, figure: againstBare, must: 1.2},
	}
}

// verdict is a figure over all runs.
type verdict struct{ median, worst float64 }

// never stands for a figure that never came to be: the worst there is.
func never(share bool) float64 {
	if share {
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// judge gathers a gateway's figure from all runs of a row; false if it took part
// in none.
func judge(all []outcome, row, figure, gateway string) (verdict, bool) {
	share := isShare(figure)
	var values []float64
	for _, o := range all {
		f, ok := o.Gateways[gateway]
		if o.Row != row || !ok {
			continue
		}
		v, ok := f[figure]
		if !ok {
			v = never(share)
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return verdict{}, false
	}
	v := verdict{median: middle(values), worst: slices.Max(values)}
	if share {
		v.worst = slices.Min(values)
	}
	return v, true
}

// middle is the median, and of an even number the lower of the middle two: with
// values that never came to be there is no mean.
func middle(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

// held reports whether the goal is reached.
func (g goal) held(v verdict) bool {
	value := v.median
	if g.worst {
		value = v.worst
	}
	if g.atLeast() {
		return value >= g.must
	}
	return value <= g.must
}
