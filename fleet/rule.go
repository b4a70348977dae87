package fleet

import (
	"math"
	"time"
)

// Rule says when a fleet trips: when its nodes together have seen Failures bad calls
// within Window, and these are at least the share Rate of the calls of the nodes that
// saw any. A node counts for so few of them that it takes Reporters nodes, or as many as
// had calls at all. Where calls are rare the window reaches back to the last twice
// Failures calls, at most 30 min. Once a node has tripped by itself, the last few calls of
// each count too, so that what was good before an outage does not hide it. A fleet that
// has seen calls fail before asks for so many that it is no accident. It also trips when
// half of the nodes that had calls, and at least Reporters, have tripped by themselves.
type Rule struct {
	Window    time.Duration // default 60 s, 1 s to 10 min
	Failures  int           // default 5, 1 to 1 000
	Rate      float64       // default 0.5, above 0 up to 1
	Reporters int           // default 3, 1 to 1 000
}

// longest is how far back the window of a quiet dependency reaches.
const longest = 30 * time.Minute

// improbable is the chance at which bad calls are no accident.
const improbable = 1e-6

// usual is the share of bad calls that is assumed as long as too few calls were seen.
const usual = 0.005

// spans returns the windows for which a node reports its calls.
func (r *Rule) spans() (all []time.Duration) {
	for d := r.Window; d < longest; d *= 2 {
		all = append(all, d)
	}
	return append(all, longest)
}

// count is of calls.
type count struct {
	Good uint64 `json:"good,omitempty"`
	Bad  uint64 `json:"bad,omitempty"`
}

func (c count) calls() uint64      { return c.Good + c.Bad }
func (c count) plus(o count) count { return count{c.Good + o.Good, c.Bad + o.Bad} }

// minus returns c without o, of which c may have forgotten some.
func (c count) minus(o count) count {
	return count{c.Good - min(c.Good, o.Good), c.Bad - min(c.Bad, o.Bad)}
}

// evidence is what a node has seen of a dependency itself: the data of its row.
type evidence struct {
	Epoch    uint64        `json:"epoch"` // of the record under which it was seen
	Window   time.Duration `json:"window"`
	Spans    []count       `json:"spans"`              // by Rule.spans
	Run      uint64        `json:"run,omitempty"`      // bad calls since the last good one
	Was      count         `json:"was"`                // all calls of the process but those that ended in a trip
	Open     bool          `json:"open,omitempty"`     // its own rules say open
	Doubtful bool          `json:"doubtful,omitempty"` // it fails to half of its dependencies
	Probed   string        `json:"probed,omitempty"`   // what its own probe said just now: "good" or "bad"
}

// report is the evidence of a node that lives.
type report struct {
	evidence
	node string
	age  time.Duration
}

func (r *report) in(span int, d time.Duration) count {
	if span >= len(r.Spans) || r.age > d {
		return count{}
	}
	return r.Spans[span]
}

func (r *report) active() bool {
	return r.Open || len(r.Spans) > 0 && r.in(len(r.Spans)-1, longest).calls() > 0
}

// failing reports whether the node has better reasons than a few calls of its own: its
// rules say open, or the dependency fails to its probe.
func (r *report) failing() bool { return r.Open || r.Probed == probedBad }

// verdict is what the reports of all nodes come to.
type verdict struct {
	trip     bool
	ask      bool // it depends on nodes that have not said anything
	bad      uint64
	calls    uint64
	open     int // nodes that have tripped by themselves
	seen     int // nodes that saw bad calls
	openRule bool
	latest   bool // bad and calls are the last ones of each node
}

// judge says whether to trip on the reports of nodes that are not doubtful. live is how
// many nodes there are, asked that those who have said nothing had no calls.
func (r *Rule) judge(reports []report, live int, asked bool) verdict {
	active, seen, open := 0, 0, 0
	confirmed, lately := false, uint64(0)
	for i := range reports {
		rep := &reports[i]
		if rep.active() {
			active++
		}
		if rep.Open {
			open++
		}
		lately += rep.in(0, r.Window).calls()
		confirmed = confirmed || rep.Probed == probedBad
		if rep.Open || len(rep.Spans) > 0 && rep.in(len(rep.Spans)-1, longest).Bad > 0 {
			seen++
		}
	}
	all := asked || len(reports) >= live
	v := verdict{open: open, seen: seen}
	need := r.Reporters
	if all {
		need = min(need, max(active, 1))
	}
	if seen == 0 {
		return v
	}
	lone := active <= 1
	switch {
	case r.enough(reports, need, &v):
		v.trip = !lone || confirmed
		v.ask = !v.trip
	case open > 0 && r.enoughLately(reports, need, lately, &v):
		v.trip, v.ask = all, !all
	case need > seen && r.enough(reports, seen, &v):
		v.ask = !all
	case open >= r.Reporters && 2*open >= active:
		v.trip, v.ask, v.openRule = all, !all, true
	default:
		v.ask = open > 0
	}
	return v
}

// enoughLately reports whether the last calls of each node suffice, as many of each as a
// node counts for. A node that is failing for better reasons has no good ones among them.
// Each of the calls of the window was an occasion to find that by accident.
func (r *Rule) enoughLately(reports []report, need int, occasions uint64, v *verdict) bool {
	most := uint64((r.Failures + need - 1) / need) // of one node
	var last, all, worst, was count                // worst: of the node with most bad calls
	seen := 0
	for i := range reports {
		rep := &reports[i]
		c := rep.in(0, r.Window)
		was = was.plus(rep.Was.minus(c))
		run := min(rep.Run, c.Bad)
		calls := min(most, c.calls())
		if rep.failing() {
			run, calls = max(run, uint64(r.Failures)), most
		}
		if run > 0 {
			seen++
		}
		bad := min(run, calls)
		good := calls - bad
		last, all = last.plus(count{good, bad}), all.plus(count{good, run})
		if run > worst.Bad {
			worst = count{good, run}
		}
	}
	if last.Bad < uint64(r.Failures) || float64(last.Bad) < r.Rate*float64(last.calls()) {
		return false
	}
	v.bad, v.calls, v.seen, v.latest = all.Bad, all.calls(), seen, true
	others := all.minus(worst)
	return r.accident(float64(others.Bad), float64(others.calls()), was)*float64(max(1, occasions)) <= improbable
}

// enough reports whether the failures suffice, if need nodes must have seen some.
func (r *Rule) enough(reports []report, need int, v *verdict) bool {
	most := float64((r.Failures + need - 1) / need) // of one node
	for span, d := range r.spans() {
		var bad, calls, worstBad, worstCalls float64 // of all, of the node that counts for most
		var in, was count
		for i := range reports {
			rep := &reports[i]
			c := rep.in(span, d)
			in, was = in.plus(c), was.plus(rep.Was.minus(c))
			weight := 1.0 // a node has its own share of bad calls, whatever it counts for
			if float64(c.Bad) > most {
				weight = most / float64(c.Bad)
			}
			nodeBad, nodeCalls := weight*float64(c.Bad), weight*float64(c.calls())
			bad, calls = bad+nodeBad, calls+nodeCalls
			if nodeBad > worstBad || nodeBad == worstBad && nodeCalls < worstCalls {
				worstBad, worstCalls = nodeBad, nodeCalls
			}
		}
		if v.seen == 1 {
			worstBad, worstCalls = 0, 0
		}
		v.bad, v.calls = in.Bad, in.calls()
		bad += 1e-9 // the weights are not exact
		if bad >= float64(r.Failures) && bad >= r.Rate*calls && r.accident(bad-worstBad, calls-worstCalls, was) <= improbable {
			return true
		}
		if in.calls() >= uint64(2*r.Failures) {
			return false
		}
	}
	return false
}

// accident returns the chance of so many bad calls, of all nodes but one, in a fleet that
// has seen was before: that one may be a node that fails by itself, which makes accidents
// of a few others look like an outage.
func (r *Rule) accident(bad, calls float64, was count) float64 {
	f := usual
	if was.calls() >= uint64(4*r.Failures) {
		f = float64(was.Bad) / float64(was.calls())
	}
	return tail(int(math.Ceil(calls)), int(bad), f)
}

// tail returns the chance that at least k of n calls are bad, each with the chance f.
func tail(n, k int, f float64) float64 {
	switch {
	case k <= 0 || f >= 1:
		return 1
	case f <= 0 || k > n:
		return 0
	}
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	sum := 0.0
	for i := k; i <= n; i++ {
		p := math.Exp(lgamma(n) - lgamma(i) - lgamma(n-i) + float64(i)*math.Log(f) + float64(n-i)*math.Log1p(-f))
		sum += p
		if float64(i) > float64(n)*f && p < sum*1e-9 {
			break
		}
	}
	return min(sum, 1)
}
