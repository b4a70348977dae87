package model

import (
	"math"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// firstOut returns the call that is out of time first. Of several, it is one
// admitted under the oldest limit.
func (m *model) firstOut() (first *call) {
	for _, c := range m.calls {
		if !m.onTheWay(c) {
			continue
		}
		if first == nil || c.leaves() < first.leaves() || c.leaves() == first.leaves() && c.limits < first.limits {
			first = c
		}
	}
	return first
}

// outOfTime takes the calls off the way that are out of time with first.
func (m *model) outOfTime(first *call, at int64) {
	for _, c := range slices.Clone(m.calls) {
		if !m.onTheWay(c) || c.limit != first.limit || c.began() != first.began() {
			continue
		}
		c.left = true
		if c.limit > 0 {
			c.bad = true
			m.lastOverdue = max(m.lastOverdue, c.began())
			m.bad(at, verdict{admitted: c.began(), slow: true})
		}
	}
	m.ask(at)
}

// nextVerdict returns when the rules will say otherwise with no further call: an
// overdue one has gone on for long enough.
func (m *model) nextVerdict() int64 {
	at := int64(never)
	if m.state != recloser.Closed || m.Spread <= 0 || m.slowCall() == 0 || m.count(m.overdue) == 0 {
		return at
	}
	for _, bad := range [][]int64{m.run, m.badAdmitted(m.asked)} {
		if len(bad) == 0 {
			continue
		}
		if t := slices.Min(bad) + int64(m.Spread) + m.slowCall(); t > m.asked {
			at = min(at, t)
		}
	}
	return at
}

// bad books a bad call and does not ask the rules yet.
func (m *model) bad(at int64, v verdict) {
	m.throttled = 0
	if v.admitted >= m.goodStart {
		m.extendRun(at, v.admitted)
	}
	m.book(v)
}

func (m *model) extendRun(at, admitted int64) {
	if len(m.run) > 0 && at-m.runAt >= int64(30*time.Minute) {
		m.run = nil
	}
	if len(m.run) == 0 {
		all := m.window(at)
		m.badBefore, m.before = 0, len(all)
		for _, v := range all {
			if v.failed || v.slow || v.gaveUp {
				m.badBefore++
			}
		}
	}
	m.run, m.runAt = append(m.run, admitted), at
}

// ask asks the rules whether to trip.
func (m *model) ask(at int64) {
	if m.state != recloser.Closed {
		return
	}
	m.asked = at
	counts := m.counts(at)
	var reason recloser.Reason
	switch {
	case m.byRate(at, counts):
		reason = recloser.ReasonRate
	case m.byRun(at):
		reason = recloser.ReasonRun
	default:
		return
	}
	m.tripClosed(at, recloser.Transition{Reason: reason, Counts: counts})
}

// tripClosed trips from closed.
func (m *model) tripClosed(at int64, t recloser.Transition) {
	step := max(m.step-1, 0)
	switch {
	case !m.tripped || m.calm(at):
		step = 0
	case m.good < m.MinCalls:
		step = m.stepUp()
	}
	m.trip(at, step, t)
}

func (m *model) byRate(at int64, c recloser.Counts) bool {
	bad := m.badAdmitted(at)
	if m.FailureRate < 0 || c.Judged() < uint64(m.MinCalls) || len(bad) == 0 || !m.spreadOver(at, bad) {
		return false
	}
	return float64(len(bad)) >= m.FailureRate*float64(int(c.Judged())+m.undecided(bad))-1e-9
}

func (m *model) byRun(at int64) bool {
	n := len(m.run)
	if m.Consecutive < 0 || n == 0 {
		return false
	}
	if m.condemned() && m.count(m.undecidedYet) == 0 {
		return true
	}
	f := 0.0
	if m.FailureRate > 0 && m.before >= m.MinCalls {
		f = float64(m.badBefore) / float64(m.before)
	}
	return n >= m.Consecutive && m.spreadOver(at, m.run) && math.Pow(f, float64(n)) <= 1e-7 && m.undecided(m.run) <= n
}

func (m *model) spreadOver(at int64, admitted []int64) bool {
	first, last := slices.Min(admitted), slices.Max(admitted)
	if m.slowCall() > 0 && m.count(m.overdue) > 0 && m.lastOverdue >= first {
		last = max(last, at-m.slowCall())
	}
	return m.Spread < 0 || last-first >= int64(m.Spread)
}

// undecided counts the calls on the way that were admitted before the last of
// the bad ones: they may still turn out good.
func (m *model) undecided(admitted []int64) int {
	last := slices.Max(admitted)
	return m.count(func(c *call) bool {
		return m.Spread > 0 && m.onTheWay(c) && c.clock/c.slice() < last/c.slice()
	})
}

func (m *model) calm(at int64) bool {
	return m.state == recloser.Closed && at-m.since >= int64(m.ResetAfter) && m.good > 0
}

func (m *model) stepUp() int {
	if m.OpenFor<<m.step < m.MaxOpenFor {
		return m.step + 1
	}
	return m.step
}

// ramp is the slow start.
type ramp struct {
	limit, doubled, inSecond int
	refused                  bool
	second, slow, notBefore  int64
}

// rampSlow is how long a good call takes that lowers the limit of the slow start.
func (m *model) rampSlow() int64 {
	slow := int64(time.Second / 2)
	if m.slowCall() > 0 {
		slow = m.slowCall() / 4
	}
	return max(slow, 2*m.slowestTrial)
}

// rampOver is called when the slow start has lasted for Ramp.
func (m *model) rampOver(at int64) {
	counts := m.counts(at)
	switch {
	case m.condemned():
		m.tripClosed(max(at, m.asked), recloser.Transition{Reason: recloser.ReasonRun, Counts: counts})
	case m.good == 0 && counts.Bad() == 0 && m.count(m.undecidedYet) > 0:
		m.ramp.notBefore = at + max(at-m.since, int64(time.Second))
	default:
		m.ramp = nil
	}
}

// condemned: the slow start refuses everybody until the calls on the way are
// decided, and trips then.
func (m *model) condemned() bool {
	return m.ramp != nil && m.Consecutive > 0 && len(m.run) >= min(m.Consecutive, m.ramp.limit)
}

// good moves the limit of the slow start and reports whether it is over.
func (r *ramp) good(now, took int64, trials int) bool {
	if took > r.slow {
		r.limit = max(r.limit-1, trials)
		return false
	}
	if now-r.second >= int64(time.Second) {
		r.second, r.inSecond = now, r.limit
	}
	if r.limit < 2*r.inSecond {
		r.limit++
	}
	if r.limit < 2*r.doubled {
		return false
	}
	calm := !r.refused
	r.doubled, r.refused = r.limit, false
	return calm
}
