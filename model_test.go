package recloser

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// model is a breaker done the naive way: it keeps whole lists of calls and walks
// them for every question. From the engine it takes only what that documents as
// its exactness: running calls become overdue by slices of a power of two from a
// sixteenth to an eighth of SlowCall, the window is made of eleven slices, and a
// call that the slow rule does not judge counts as on the way for two seconds.
type model struct {
	Config
	random float64 // what jitter draws

	state                State // Closed, Open, HalfOpen or Isolated
	reason               Reason
	since, until         int64
	held                 bool
	heldSince, heldUntil int64
	period               int          // number of the stay
	calls                []*modelCall // all that run
	openFor              int64

	step, leases         int
	tripped              bool
	longest, lastLongest int64 // good call of this closed period, of the one before

	early                  bool // of the half-open period
	goodTrials, throttled  int
	lastGood, slowestTrial int64

	slices             []modelSlice // of the closed period
	lookAt             int64
	run                []int64 // admissions of the bad calls in a row
	runAt              int64
	badBefore, before  int
	goodStart, goodEnd int64 // of the latest good calls
	good               int
	lastOverdue, asked int64
	ramp               *modelRamp

	shown                                State
	events                               []Transition // without At, Cause and Name
	at                                   []int64      // of the events
	admitted, takenBack                  uint64
	success, failed, slow, ignored, late uint64
	refused                              map[Reason]uint64
}

type modelCall struct {
	period                    int
	start, clock              int64 // admitted; when the slow clock started
	answered, deadline        int64
	trial, slowClock, free    bool // free: let through though the rules said no
	sending, bad, left, ended bool // bad: it was while it ran; left: not on the way any more
	released                  bool
}

type modelSlice struct {
	start int64
	calls []modelVerdict
}

type modelVerdict struct {
	admitted             int64
	failed, slow, gaveUp bool
}

type modelRamp struct {
	limit, doubled, inSecond int
	refused                  bool
	second, slow             int64
}

// modelEnd is how a call ends.
type modelEnd struct {
	outcome        Outcome
	gaveUp, unmade bool
	wait           time.Duration
	throttled      bool
}

func newModel(cfg Config, now int64, random float64) *model {
	m := &model{Config: cfg.WithDefaults(), random: random, refused: map[Reason]uint64{}}
	m.close(now, Transition{})
	m.events, m.at = nil, nil
	return m
}

func (m *model) slowOn() bool { return m.SlowCall > 0 }

func (m *model) ringSlice() int64 {
	limit := int64(2 * time.Second)
	if m.slowOn() {
		limit = int64(m.SlowCall)
	}
	return 1 << (bits.Len64(uint64(limit/8)) - 1)
}

// leaves returns when an unanswered call is out of time.
func (m *model) leaves(c *modelCall) int64 {
	limit := int64(2 * time.Second)
	if m.slowOn() {
		limit = int64(m.SlowCall)
	}
	return (c.clock/m.ringSlice()+1)*m.ringSlice() + limit
}

func (m *model) count(is func(*modelCall) bool) (n int) {
	for _, c := range m.calls {
		if is(c) {
			n++
		}
	}
	return n
}

func (m *model) mine(c *modelCall) bool { return c.period == m.period && !c.free && !c.ended }

// onTheWay: nothing is known of the call yet.
func (m *model) onTheWay(c *modelCall) bool {
	return m.mine(c) && !c.trial && c.answered == 0 && !c.sending && !c.left
}

// undecidedYet: the same for the slow start, which knows no two seconds.
func (m *model) undecidedYet(c *modelCall) bool {
	return m.mine(c) && !c.trial && c.answered == 0 && !c.sending && !c.bad
}

func (m *model) overdue(c *modelCall) bool { return m.mine(c) && !c.trial && c.bad && c.answered == 0 }
func (m *model) leased(c *modelCall) bool  { return m.mine(c) && c.trial }

// next returns the moment at which something happens by itself, and what.
func (m *model) next() (at int64, do func(at int64)) {
	at = never
	sooner := func(t int64, f func(int64)) {
		if t < at {
			at, do = t, f
		}
	}
	if m.held {
		sooner(m.heldUntil, func(at int64) { m.held = false; m.event(at, m.state, Transition{Reason: ReasonExpired}) })
	}
	if m.state == Open || m.state == Isolated {
		reason := map[State]Reason{Open: ReasonTime, Isolated: ReasonExpired}[m.state]
		sooner(m.until, func(at int64) { m.halfOpen(at, reason) })
	}
	for _, c := range m.calls {
		if m.leased(c) {
			sooner(c.deadline, func(at int64) { m.leaseOver(c, at) })
		}
		if m.onTheWay(c) {
			sooner(m.leaves(c), m.outOfTime)
		}
	}
	if m.state == Closed && m.Spread > 0 && m.count(m.overdue) > 0 {
		for _, bad := range [][]int64{m.run, m.badAdmitted(m.asked)} {
			if len(bad) > 0 && slices.Min(bad)+int64(m.Spread+m.SlowCall) > m.asked {
				sooner(slices.Min(bad)+int64(m.Spread+m.SlowCall), m.ask)
			}
		}
	}
	if m.ramp != nil {
		sooner(m.since+int64(m.Ramp), func(int64) { m.ramp = nil })
	}
	return at, do
}

// settle lets happen what is due.
func (m *model) settle(now int64) {
	for {
		at, do := m.next()
		if at > now {
			break
		}
		do(at)
	}
	if m.state != Closed || now < m.lookAt {
		return
	}
	head, length := &m.slices[len(m.slices)-1], int64(m.Window)/10
	oldest := max(int64(3*time.Minute), length)
	judged := 0
	for _, v := range head.calls {
		if !v.gaveUp {
			judged++
		}
	}
	if judged >= (m.MinCalls+9)/10 || now-head.start >= oldest {
		m.slices, m.lookAt = append(m.slices, modelSlice{start: now}), now+length
		return
	}
	m.lookAt = min(now+length/8, head.start+oldest)
}

// window returns the verdicts that count at at.
func (m *model) window(at int64) (all []modelVerdict) {
	for i := len(m.slices) - 1; i >= max(0, len(m.slices)-11); i-- {
		if m.slices[i].start < at-max(int64(30*time.Minute), int64(m.Window)*11/10) {
			break
		}
		all = append(all, m.slices[i].calls...)
	}
	return all
}

// badAdmitted returns when the bad calls of the window were admitted.
func (m *model) badAdmitted(at int64) (admitted []int64) {
	for _, v := range m.window(at) {
		if v.failed || v.slow {
			admitted = append(admitted, v.admitted)
		}
	}
	return admitted
}

func (m *model) counts(at int64) (c Counts) {
	if m.state != Closed {
		return Counts{Good: uint64(m.goodTrials)}
	}
	for _, v := range m.window(at) {
		switch {
		case v.failed:
			c.Failed++
		case v.slow:
			c.Slow++
		case !v.gaveUp:
			c.Good++
		}
	}
	c.Run = len(m.run)
	return c
}

func (m *model) book(v modelVerdict) {
	head := &m.slices[len(m.slices)-1]
	head.calls = append(head.calls, v)
}

// outOfTime takes the calls off the way whose time is up at at.
func (m *model) outOfTime(at int64) {
	for _, c := range slices.Clone(m.calls) {
		if !m.onTheWay(c) || m.leaves(c) != at {
			continue
		}
		c.left = true
		if m.slowOn() {
			c.bad = true
			m.lastOverdue = c.clock / m.ringSlice() * m.ringSlice()
			m.bad(at, modelVerdict{admitted: m.lastOverdue, slow: true})
		}
	}
	m.ask(at)
}

// bad books a bad call and does not ask the rules yet.
func (m *model) bad(at int64, v modelVerdict) {
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
	if m.state != Closed {
		return
	}
	m.asked = at
	counts := m.counts(at)
	var reason Reason
	switch {
	case m.byRate(at, counts):
		reason = ReasonRate
	case m.byRun(at):
		reason = ReasonRun
	default:
		return
	}
	step := max(m.step-1, 0)
	switch {
	case !m.tripped || m.calm(at):
		step = 0
	case m.good < m.MinCalls:
		step = m.stepUp()
	}
	m.trip(at, step, Transition{Reason: reason, Counts: counts})
}

func (m *model) byRate(at int64, c Counts) bool {
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
	if m.count(m.overdue) > 0 && m.lastOverdue >= first {
		last = max(last, at-int64(m.SlowCall))
	}
	return m.Spread < 0 || last-first >= int64(m.Spread)
}

// undecided counts the calls on the way that were admitted before the last of
// the bad ones: they may still turn out good.
func (m *model) undecided(admitted []int64) int {
	slice := slices.Max(admitted) / m.ringSlice()
	return m.count(func(c *modelCall) bool { return m.Spread > 0 && m.onTheWay(c) && c.clock/m.ringSlice() < slice })
}

func (m *model) calm(at int64) bool {
	return m.state == Closed && at-m.since >= int64(m.ResetAfter) && m.good > 0
}

func (m *model) stepUp() int {
	if m.OpenFor<<m.step < m.MaxOpenFor {
		return m.step + 1
	}
	return m.step
}
