package model

import (
	"math"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// firstOut returns the call that is off the way first. Of several, it is one of
// the oldest ring.
func (m *model) firstOut() (first *call) {
	for _, c := range m.calls {
		if !m.onTheWay(c) {
			continue
		}
		if first == nil || m.leaves(c) < m.leaves(first) || m.leaves(c) == m.leaves(first) && c.limits < first.limits {
			first = c
		}
	}
	return first
}

// outOfTime takes the calls off the way that are out of time with first.
func (m *model) outOfTime(first *call, at int64) {
	for _, c := range slices.Clone(m.calls) {
		if !m.onTheWay(c) || c.limit != first.limit || c.width != first.width || c.began() != first.began() {
			continue
		}
		c.left = true
		switch {
		case c.limit == 0:
		case m.horizon(c.limit) < c.limit:
			c.suspect, m.suspected = true, m.suspected+1
			c.since = m.suspected
		default:
			m.overdueCall(c, at)
		}
	}
	m.ask(at)
}

func (m *model) overdueCall(c *call, at int64) {
	c.bad, c.suspect = true, false
	m.lastOverdue = max(m.lastOverdue, c.began())
	m.bad(at, verdict{admitted: c.began(), slow: true})
}

// nextVerdict returns when the rules will say otherwise with no further call: one
// that is overdue or suspect has gone on for long enough.
func (m *model) nextVerdict() int64 {
	at := int64(never)
	if m.state != recloser.Closed {
		return at
	}
	consider := func(t int64) {
		if t > m.asked {
			at = min(at, t)
		}
	}
	first := func(e evidence, later int64) {
		for _, bad := range [][]int64{e.run.admitted, e.bad()} {
			if len(bad) > 0 && m.Spread > 0 {
				consider(slices.Min(bad) + int64(m.Spread) + later)
			}
		}
	}
	if m.slowCall() > 0 && m.count(m.overdue) > 0 {
		first(m.evidence(m.asked, 0), m.slowCall())
	}
	after := m.suspectAfter()
	if after == 0 || m.count(m.isSuspect) == 0 {
		return at
	}
	consider(m.askAt)
	for _, c := range m.calls {
		if m.isSuspect(c) {
			consider(c.sliceEnd() + after)
		}
	}
	if e := m.evidence(m.asked, after); e.suspects > 0 {
		first(e, after)
	}
	return at
}

// bad books a bad call and does not ask the rules yet.
func (m *model) bad(at int64, v verdict) {
	m.throttled = 0
	m.reported.Bad++
	if v.admitted >= m.goodStart {
		m.extendRun(at, v.admitted)
	}
	m.book(v)
}

func (m *model) extendRun(at, admitted int64) {
	m.run = m.run.with(m.window(at), at, admitted)
}

// with returns the run with one more call. before is the window without it.
func (r row) with(before []verdict, at, admitted int64) row {
	if len(r.admitted) == 0 || at-r.at >= int64(30*time.Minute) {
		r = row{of: len(before)}
		for _, v := range before {
			if v.failed || v.slow || v.gaveUp {
				r.bad++
			}
		}
	}
	r.admitted, r.at = append(slices.Clone(r.admitted), admitted), at
	return r
}

// evidence is what a verdict rests on.
type evidence struct {
	calls           []verdict
	run             row
	after           int64 // suspects past it are included; 0: none
	suspects, inRun int
}

func (m *model) evidence(at, after int64) evidence {
	e := evidence{calls: m.window(at), run: m.run, after: after}
	before := e.calls
	for _, c := range m.suspects() {
		if !e.includes(c, at) {
			continue
		}
		e.calls = append(slices.Clone(e.calls), verdict{admitted: c.began(), slow: true})
		e.suspects++
		if c.began() >= m.goodStart {
			e.run = e.run.with(before, at, c.began())
			e.inRun++
		}
	}
	return e
}

// includes: the suspect counts as bad.
func (e *evidence) includes(c *call, at int64) bool { return e.after > 0 && at-c.sliceEnd() >= e.after }

// bad returns when the bad calls of the window were admitted.
func (e *evidence) bad() (admitted []int64) {
	for _, v := range e.calls {
		if v.failed || v.slow {
			admitted = append(admitted, v.admitted)
		}
	}
	return admitted
}

func (e *evidence) counts() (c recloser.Counts) {
	for _, v := range e.calls {
		switch {
		case v.failed:
			c.Failed++
		case v.slow:
			c.Slow++
		case !v.gaveUp:
			c.Good++
		}
	}
	c.Run = len(e.run.admitted)
	return c
}

// ask asks the rules whether to trip, with what is certain and then with the
// suspects.
func (m *model) ask(at int64) {
	if m.state != recloser.Closed {
		return
	}
	m.asked = at
	e := m.evidence(at, 0)
	if rule := m.verdict(at, &e); rule != "" {
		m.tripByRule(at, rule)
		return
	}
	after := m.suspectAfter()
	if e = m.evidence(at, after); e.suspects == 0 {
		return
	}
	if rule := m.verdict(at, &e); rule != "" {
		m.tripBySuspicion(at, rule, &e)
	}
}

func (m *model) verdict(at int64, e *evidence) recloser.Reason {
	switch {
	case m.byRate(at, e):
		return recloser.ReasonRate
	case m.byRun(at, e):
		return recloser.ReasonRun
	}
	return ""
}

// tripClosed trips from closed.
func (m *model) tripClosed(at int64, t recloser.Transition) {
	m.trip(at, m.nextStep(at), t)
}

func (m *model) nextStep(at int64) int {
	switch {
	case !m.tripped || m.calm(at):
		return 0
	case m.good < m.MinCalls:
		return m.stepUp()
	}
	return max(m.step-1, 0)
}

func (m *model) byRate(at int64, e *evidence) bool {
	bad, judged := e.bad(), e.counts().Judged()
	if m.FailureRate < 0 || judged < uint64(m.MinCalls) || len(bad) == 0 || !m.spreadOver(at, e, bad, e.suspects) {
		return false
	}
	return float64(len(bad)) >= m.FailureRate*float64(int(judged)+m.undecided(at, e, bad))-1e-9
}

func (m *model) byRun(at int64, e *evidence) bool {
	n := len(e.run.admitted)
	if m.Consecutive < 0 || n == 0 {
		return false
	}
	if m.condemned() && m.count(m.undecidedYet) == 0 {
		return true
	}
	f := 0.0
	if m.FailureRate > 0 && e.run.of >= m.MinCalls {
		f = float64(e.run.bad) / float64(e.run.of)
	}
	return n >= m.Consecutive && m.spreadOver(at, e, e.run.admitted, e.inRun) && math.Pow(f, float64(n)) <= 1e-7 && m.undecided(at, e, e.run.admitted) <= n
}

func (m *model) spreadOver(at int64, e *evidence, admitted []int64, suspects int) bool {
	first, last := slices.Min(admitted), slices.Max(admitted)
	if m.slowCall() > 0 && m.count(m.overdue) > 0 && m.lastOverdue >= first {
		last = max(last, at-m.slowCall())
	}
	if suspects > 0 {
		last = max(last, at-e.after)
	}
	return m.Spread < 0 || last-first >= int64(m.Spread)
}

// undecided counts the calls that were admitted before the last of the bad ones, run,
// and are not among these: they may still turn out good.
func (m *model) undecided(at int64, e *evidence, admitted []int64) int {
	last := slices.Max(admitted)
	return m.count(func(c *call) bool {
		running := m.onTheWay(c) || m.isSuspect(c) && !e.includes(c, at)
		return m.Spread > 0 && running && c.clock/c.width < last/c.width
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
		m.tripByRule(max(at, m.asked), recloser.ReasonRun)
	case m.good == 0 && counts.Bad() == 0 && m.count(m.undecidedYet) > 0:
		m.ramp.notBefore = at + max(at-m.since, int64(time.Second))
	default:
		m.ramp = nil
	}
}

// condemned: the slow start refuses everybody until the calls on the way are
// decided, and trips then.
func (m *model) condemned() bool {
	return m.ramp != nil && m.Consecutive > 0 && len(m.run.admitted) >= min(m.Consecutive, m.ramp.limit)
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
