package recloser

import (
	"slices"
	"time"
)

// enter starts a stay in a state.
func (m *model) enter(s State, at, until int64, t Transition) {
	if m.calm(at) && t.Reason != ReasonRate && t.Reason != ReasonRun { // these have looked at the step
		m.step, m.tripped = 0, false
	}
	if m.state == Closed && m.longest > 0 {
		m.lastLongest = m.longest
	}
	if s == Open && !m.held && m.CancelOnTrip {
		for _, c := range m.calls {
			c.released = c.released || c.period == m.period && (m.state == Closed || m.state == HalfOpen)
		}
	}
	m.period++
	m.state, m.reason, m.since, m.until, m.ramp = s, t.Reason, at, until, nil
	m.goodTrials, m.throttled, m.run = 0, 0, nil
	if s == Open {
		m.openFor = until - at
	}
	m.event(at, s, t)
}

func (m *model) event(at int64, to State, t Transition) {
	t.Seq, t.From, t.To, t.Automatic = uint64(len(m.events)+1), m.shown, to, m.state
	if m.held {
		t.To = HeldClosed
	}
	if m.state == Isolated {
		t.Automatic = HalfOpen
	}
	if m.state == Open && t.Reason != ReasonHeldClosed {
		t.OpenFor, t.Step = time.Duration(m.until-m.since), m.step
	}
	m.shown, m.events, m.at = t.To, append(m.events, t), append(m.at, at)
}

func (m *model) close(at int64, t Transition) {
	m.enter(Closed, at, never, t)
	m.slices, m.lookAt = []modelSlice{{start: at}}, at+int64(m.Window)/10
	m.goodStart, m.goodEnd, m.longest, m.good, m.asked, m.lastOverdue = -1, -1, 0, 0, 0, 0
}

func (m *model) halfOpen(at int64, reason Reason) {
	m.early, m.slowestTrial = reason == ReasonEarly, 0
	m.enter(HalfOpen, at, never, Transition{Reason: reason})
}

// trip opens for as long as the step says.
func (m *model) trip(at int64, step int, t Transition) {
	d := float64(min(m.OpenFor<<step, m.MaxOpenFor))
	if m.Jitter > 0 {
		low, high := d*(1-m.Jitter), min(d*(1+m.Jitter), float64(m.MaxOpenFor))
		d = low + m.random*(high-low)
	}
	m.step, m.tripped = step, true
	m.enter(Open, at, at+int64(d), t)
}

// allow returns the call that is let in, or why it is not.
func (m *model) allow(now int64) (*modelCall, Reason) {
	m.settle(now)
	c := &modelCall{period: m.period, start: now, clock: now}
	var refusal Reason
	switch m.state {
	case Open, Isolated:
		refusal = map[State]Reason{Open: ReasonOpen, Isolated: ReasonIsolated}[m.state]
		if m.reason == ReasonToldToWait {
			refusal = ReasonToldToWait
		}
	case HalfOpen:
		slots := 1
		if m.goodTrials > 0 {
			slots = m.Trials
		}
		c.trial = true
		m.startClock(c, now)
		if m.count(m.leased) >= slots {
			refusal = ReasonTrialSlots
		}
	case Closed, HeldClosed:
		if m.ramp != nil && (m.condemned() || m.count(m.undecidedYet) >= m.ramp.limit) {
			m.ramp.refused = true
			refusal = ReasonRamp
		}
	}
	if refusal != "" && !m.held {
		m.refused[refusal]++
		return nil, refusal
	}
	if refusal != "" {
		c.free, c.trial = true, false
	}
	m.calls = append(m.calls, c)
	m.admitted++
	return c, ""
}

// startClock lets the slow rule judge a trial from now on, or gives it its lease.
func (m *model) startClock(c *modelCall, now int64) {
	c.slowClock, c.deadline = m.slowOn(), now+m.lease()
	if m.slowOn() {
		c.deadline = now + int64(m.SlowCall)
	}
}

func (m *model) lease() int64 {
	if m.TrialTimeout > 0 {
		return int64(m.TrialTimeout)
	}
	lease := max(int64(10*time.Second), 2*m.lastLongest)
	for range m.leases {
		lease = min(2*lease, int64(24*time.Hour))
	}
	return lease
}

func (m *model) answer(c *modelCall, now int64) {
	m.settle(now)
	if c.answered != 0 {
		return
	}
	onTheWay := m.onTheWay(c)
	c.answered = now
	switch {
	case m.leased(c):
		c.slowClock, c.deadline = false, max(c.start+m.lease(), now)
	case onTheWay:
		if m.slowOn() && now-c.clock >= int64(m.SlowCall) {
			c.bad = true
			m.bad(now, modelVerdict{admitted: c.start, slow: true})
		}
		m.ask(now)
	}
	m.settle(now)
}

// sending stops the slow clock, sent starts it anew.
func (m *model) sending(c *modelCall, now int64) {
	m.settle(now)
	if c.answered != 0 || m.slowOn() && now-c.clock >= int64(m.SlowCall) { // it is slow already
		return
	}
	onTheWay := m.onTheWay(c)
	c.sending = true
	if m.leased(c) {
		m.startClock(c, now)
	}
	if onTheWay {
		m.ask(now)
	}
	m.settle(now)
}

func (m *model) sent(c *modelCall, now int64) {
	m.settle(now)
	if !c.sending || c.answered != 0 {
		return
	}
	c.sending, c.clock, c.left = false, now, false
	if m.leased(c) {
		m.startClock(c, now)
	}
	m.settle(now)
}

// end ends a call.
func (m *model) end(c *modelCall, now int64, e modelEnd) {
	m.settle(now)
	mine := m.mine(c)
	m.calls = slices.DeleteFunc(m.calls, func(o *modelCall) bool { return o == c })
	if e.unmade {
		m.takenBack++
		m.ask(now)
		return
	}
	answered := now
	if c.answered != 0 {
		answered = c.answered
	}
	took := answered - c.clock
	slow := m.slowOn() && took >= int64(m.SlowCall) && !c.sending
	switch {
	case slow:
		m.slow++
	case e.outcome == Failure:
		m.failed++
	case e.outcome == Ignored:
		m.ignored++
	default:
		m.success++
	}
	impatient := e.gaveUp && m.slowOn() && c.answered == 0 && !c.sending && now-c.clock >= int64(m.SlowCall)/2
	switch {
	case c.free:
	case !mine:
		m.late++
		if c.released && c.answered == 0 && e.outcome != Success {
			m.refused[ReasonReleased]++
		}
	case m.toldToWait(now, e):
	case c.trial:
		m.endTrial(c, now, took, impatient, e)
	case c.bad:
	case slow:
		m.bad(now, modelVerdict{admitted: c.start, slow: true})
	case e.outcome == Failure:
		m.bad(now, modelVerdict{admitted: c.start, failed: true})
	case e.outcome == Success:
		m.goodCall(c, now, took)
	case impatient && m.goodEnd < c.start:
		m.extendRun(now, c.start)
		m.book(modelVerdict{gaveUp: true})
	}
	if mine {
		m.ask(now)
	}
	m.settle(now)
}

func (m *model) goodCall(c *modelCall, now, took int64) {
	m.goodStart, m.goodEnd = max(m.goodStart, c.start), max(m.goodEnd, now)
	m.longest = max(m.longest, took)
	m.good++
	m.run, m.throttled = nil, 0
	m.book(modelVerdict{})
	if m.ramp != nil && m.ramp.good(now, took, m.Trials) {
		m.ramp = nil
	}
}

// toldToWait opens for as long as the dependency asks, if it does.
func (m *model) toldToWait(now int64, e modelEnd) bool {
	if e.wait <= 0 || m.RetryAfterMax < 0 {
		return false
	}
	if e.throttled {
		if m.throttled++; m.throttled < 2 {
			return false
		}
	}
	m.enter(Open, now, now+int64(min(e.wait, m.RetryAfterMax)), Transition{Reason: ReasonToldToWait, Counts: m.counts(now)})
	return true
}

func (m *model) endTrial(c *modelCall, now, took int64, impatient bool, e modelEnd) {
	switch {
	case e.outcome == Success:
		m.goodTrial(now, took)
	case e.outcome == Failure:
		m.badTrial(now, Counts{Failed: 1})
	case impatient && (m.goodTrials == 0 || m.lastGood < c.start):
		m.badTrial(now, Counts{Slow: 1})
	}
}

// leaseOver gives the verdict on a trial whose time is up.
func (m *model) leaseOver(c *modelCall, at int64) {
	if c.answered != 0 {
		c.ended = true
		m.goodTrial(at, c.answered-c.clock)
		return
	}
	if c.sending { // its slot is free, with no verdict
		c.ended = true
		return
	}
	if !c.slowClock {
		m.leases++
	}
	m.badTrial(at, Counts{Slow: 1})
}

func (m *model) goodTrial(at, took int64) {
	m.goodTrials++
	m.lastGood, m.leases, m.throttled = at, 0, 0
	m.slowestTrial, m.lastLongest = max(m.slowestTrial, took), max(m.lastLongest, took)
	if m.goodTrials < m.Trials {
		return
	}
	m.close(at, Transition{Reason: ReasonTrialsGood, Counts: Counts{Good: uint64(m.goodTrials)}})
	if m.Ramp > 0 {
		slow := int64(time.Second / 2)
		if m.slowOn() {
			slow = int64(m.SlowCall) / 4
		}
		m.ramp = &modelRamp{refused: true, limit: m.Trials, doubled: m.Trials, inSecond: m.Trials, second: at, slow: max(slow, 2*m.slowestTrial)}
	}
}

func (m *model) badTrial(at int64, c Counts) {
	step := m.step
	if m.goodTrials == 0 && !m.early {
		step = m.stepUp()
	}
	c.Good = uint64(m.goodTrials)
	m.trip(at, step, Transition{Reason: ReasonTrialFailed, Counts: c})
}

// condemned: the slow start refuses everybody until the calls on the way are
// decided, and trips then.
func (m *model) condemned() bool {
	return m.ramp != nil && m.Consecutive > 0 && len(m.run) >= min(m.Consecutive, m.ramp.limit)
}

// good moves the limit of the slow start and reports whether it is over.
func (r *modelRamp) good(now, took int64, trials int) bool {
	if took > r.slow {
		r.limit = max(r.limit-1, trials)
		return false
	}
	if now-r.second >= int64(time.Second) {
		r.second, r.inSecond = now, r.limit
	}
	r.limit = min(r.limit+1, 2*r.inSecond)
	if r.limit < 2*r.doubled {
		return false
	}
	calm := !r.refused
	r.doubled, r.refused = r.limit, false
	return calm
}

func (m *model) isolate(now, until int64) {
	m.settle(now)
	m.held = false
	m.enter(Isolated, now, until, Transition{Reason: ReasonIsolated})
	m.settle(now)
}

func (m *model) holdClosed(now, until int64) {
	m.settle(now)
	m.held, m.heldSince, m.heldUntil = true, now, until
	t := Transition{Reason: ReasonHeldClosed}
	if m.state == Isolated || m.state == HalfOpen { // running trials get no verdict
		m.early = m.early && m.state == HalfOpen
		m.enter(HalfOpen, now, never, t)
		return
	}
	m.event(now, HeldClosed, t)
}

func (m *model) release(now int64) bool {
	m.settle(now)
	switch {
	case m.held:
		m.held = false
		m.event(now, m.state, Transition{Reason: ReasonReleased})
	case m.state == Isolated:
		m.halfOpen(now, ReasonReleased)
	default:
		return false
	}
	return true
}

func (m *model) reset(now int64) {
	m.settle(now)
	m.step, m.tripped, m.leases = 0, false, 0
	if m.state != Isolated {
		m.close(now, Transition{Reason: ReasonReset})
	}
}

func (m *model) tripFor(now int64, d time.Duration) bool {
	m.settle(now)
	if m.state == Isolated {
		return false
	}
	m.enter(Open, now, now+int64(d), Transition{Reason: ReasonTripped})
	return true
}

func (m *model) tryNow(now int64) bool {
	m.settle(now)
	if m.state != Open {
		return false
	}
	m.halfOpen(now, ReasonEarly)
	return true
}
