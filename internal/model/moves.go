package model

import (
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// enter starts a stay in a state.
func (m *model) enter(s recloser.State, at, until int64, t recloser.Transition) {
	if m.calm(at) && !hasStep(t.Reason) && t.Reason != recloser.ReasonFleet {
		m.step, m.tripped = 0, false
	}
	if m.state == recloser.Closed && m.longest > 0 {
		m.lastLongest = m.longest
	}
	m.hear(s, at, t.Reason)
	m.period++
	m.led = false
	m.state, m.since, m.until, m.ramp = s, at, until, nil
	m.goodTrials, m.throttled, m.run = 0, 0, row{}
	switch s {
	case recloser.Open:
		if t.Reason != recloser.ReasonRestored {
			m.openFor, m.opened = until-at, t.Reason
		}
		if !m.out {
			m.out, m.outSince = true, at
		}
		m.refusal = recloser.ReasonOpen
		if m.opened == recloser.ReasonToldToWait {
			m.refusal = recloser.ReasonToldToWait
		}
	case recloser.HalfOpen:
		m.refusal = recloser.ReasonTrialSlots
	case recloser.Isolated:
		m.out, m.refusal = false, recloser.ReasonIsolated
	case recloser.Closed, recloser.HeldClosed:
		m.out, m.refusal = false, recloser.ReasonRamp
	}
	m.refusalTrip = m.opened
	m.event(at, s, t)
}

func (m *model) event(at int64, to recloser.State, t recloser.Transition) {
	t.Shadow = m.Shadow
	m.seq++
	t.Seq, t.From, t.To, t.Automatic = m.seq, m.shown, to, m.state
	if m.held != nil {
		t.To = recloser.HeldClosed
	}
	if m.state == recloser.Isolated {
		t.Automatic = recloser.HalfOpen
	}
	if m.state == recloser.Open && t.Reason != recloser.ReasonHeldClosed {
		t.OpenFor, t.Step = time.Duration(m.until-m.since), m.step
	}
	m.shown, m.events = t.To, append(m.events, event{t, at})
}

func (m *model) close(at int64, t recloser.Transition) {
	m.enter(recloser.Closed, at, never, t)
	m.slices, m.lookAt = []slice{{start: at}}, at+int64(m.Window)/10
	m.goodStart, m.goodEnd, m.longest, m.good, m.asked, m.lastOverdue = -1, -1, 0, 0, 0, 0
	m.suspicionHeld, m.askAt, m.whole, m.ringLimit = false, 0, nil, -1
	m.fit(at)
}

func (m *model) halfOpen(at int64, reason recloser.Reason) {
	m.startTrials(at, recloser.Transition{Reason: reason})
}

func (m *model) startTrials(at int64, t recloser.Transition) {
	m.early, m.slowestTrial = t.Reason == recloser.ReasonEarly || t.Reason == recloser.ReasonWitness, 0
	m.enter(recloser.HalfOpen, at, never, t)
}

// trip opens for as long as the step says.
func (m *model) trip(at int64, step int, t recloser.Transition) {
	d := min(m.OpenFor<<step, m.MaxOpenFor)
	low, high := d, d
	if m.Jitter > 0 {
		low = time.Duration(float64(d) * (1 - m.Jitter))
		high = min(time.Duration(float64(d)*(1+m.Jitter)), m.MaxOpenFor)
	}
	m.step, m.tripped = step, true
	m.enter(recloser.Open, at, at+int64(m.drawn(m.seq+1, low, high)), t)
}

// allow returns the call that is let in, or why it is not.
func (m *model) allow(now int64) (*call, recloser.Reason) {
	m.settle(now)
	c := &call{period: m.period, start: now, clock: now, limit: m.slowCall(), limits: m.limits, width: m.width}
	refused := false
	switch m.state {
	case recloser.Open, recloser.Isolated:
		refused = true
	case recloser.HalfOpen:
		slots := 1
		if m.goodTrials > 0 {
			slots = m.Trials
		}
		c.trial = true
		m.startClock(c, now)
		if refused = m.count(m.leased) >= slots; m.led {
			if refused = m.taken >= m.allowed; !refused {
				m.taken++
			}
		}
	case recloser.Closed, recloser.HeldClosed:
		if n := m.count(m.undecidedYet); m.ramp != nil && (n >= m.ramp.limit || n > 0 && m.condemned()) {
			m.ramp.refused, refused = true, true
		}
	}
	if refused && !m.passesAll() {
		m.refused[m.refusal]++
		return nil, m.refusal
	}
	if refused {
		c.free, c.trial = true, false
	} else {
		c.let = m.letOf(now)
	}
	m.calls = append(m.calls, c)
	m.admitted++
	return c, ""
}

// startClock lets the slow rule judge a trial from now on, or gives it its lease.
func (m *model) startClock(c *call, now int64) {
	c.slowClock, c.deadline = m.slowCall() > 0, now+m.lease()
	if c.slowClock {
		c.deadline = now + m.slowCall()
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

func (m *model) answer(c *call, now int64) {
	m.settle(now)
	if c.answered != 0 {
		return
	}
	onTheWay := m.onTheWay(c) || m.isSuspect(c)
	c.answered, c.suspect = now, false
	switch {
	case m.leased(c):
		c.slowClock, c.deadline = false, max(c.start+m.lease(), now)
	case onTheWay:
		if c.limit > 0 && now-c.clock >= c.limit {
			c.bad = true
			m.bad(now, verdict{admitted: c.start, slow: true})
		}
		m.ask(now)
	}
	m.settle(now)
}

// sending stops the slow clock, sent starts it anew.
func (m *model) sending(c *call, now int64) {
	m.settle(now)
	if c.answered != 0 || c.sending || c.limit > 0 && now-c.clock >= c.limit { // it is slow already
		return
	}
	onTheWay := m.onTheWay(c) || m.isSuspect(c)
	c.sending, c.suspect = true, false
	if m.leased(c) {
		m.startClock(c, now)
	}
	if onTheWay {
		m.ask(now)
	}
	m.settle(now)
}

func (m *model) sent(c *call, now int64) {
	m.settle(now)
	if !c.sending || c.answered != 0 {
		return
	}
	c.sending, c.clock, c.left = false, now, false
	c.limit, c.limits, c.width = m.slowCall(), m.limits, m.width
	if m.leased(c) {
		m.startClock(c, now)
	}
	m.settle(now)
}

// ending is how a call ends.
type ending struct {
	outcome        recloser.Outcome
	gaveUp, unmade bool
	wait           time.Duration
	throttled      bool
}

// end ends a call.
func (m *model) end(c *call, now int64, e ending) {
	m.settle(now)
	mine := m.mine(c)
	m.calls = slices.DeleteFunc(m.calls, func(o *call) bool { return o == c })
	if e.unmade {
		m.takenBack++
		if mine {
			m.ask(now)
		}
		return
	}
	answered := now
	if c.answered != 0 {
		answered = c.answered
	}
	took := answered - c.clock
	slow := c.limit > 0 && took >= c.limit && !c.sending
	switch {
	case slow:
		m.slow++
	case e.outcome == recloser.Failure:
		m.failed++
	case e.outcome == recloser.Ignored:
		m.ignored++
	default:
		m.success++
	}
	impatient := e.gaveUp && c.limit > 0 && c.answered == 0 && !c.sending && now-c.clock >= c.limit/2
	switch {
	case c.free:
	case !mine:
		m.late++
		if c.witness || c.released && c.answered == 0 && e.outcome != recloser.Success {
			m.refused[recloser.ReasonReleased]++
		}
		if e.outcome == recloser.Success && !slow {
			m.testify(c, now, took)
		}
	case m.toldToWait(now, e):
	case c.trial:
		m.endTrial(c, now, took, impatient, e)
	case c.bad:
	case slow:
		m.bad(now, verdict{admitted: c.start, slow: true})
	case e.outcome == recloser.Failure:
		m.bad(now, verdict{admitted: c.start, failed: true})
	case e.outcome == recloser.Success:
		m.goodCall(c, now, took)
	case impatient && m.goodEnd < c.start:
		m.reported.Bad++
		m.extendRun(now, c.start)
		m.book(verdict{gaveUp: true})
	}
	if mine {
		m.ask(now)
	}
	m.settle(now)
}

func (m *model) goodCall(c *call, now, took int64) {
	m.goodStart, m.goodEnd = max(m.goodStart, c.start), max(m.goodEnd, now)
	m.longest, m.lastGoodCall = max(m.longest, took), now
	m.good++
	m.run, m.throttled = row{}, 0
	m.book(verdict{})
	if m.ramp != nil && m.ramp.good(now, took, m.Trials) {
		m.ramp = nil
	}
}

// toldToWait opens for as long as the dependency asks, if it does.
func (m *model) toldToWait(now int64, e ending) bool {
	if e.wait <= 0 || m.RetryAfterMax < 0 {
		return false
	}
	if e.throttled {
		if m.throttled++; m.throttled < 2 {
			return false
		}
	}
	t := recloser.Transition{Reason: recloser.ReasonToldToWait, Counts: m.counts(now)}
	led := m.led
	m.enter(recloser.Open, now, now+int64(min(e.wait, m.RetryAfterMax)), t)
	m.afterTrial(led, m.until)
	return true
}

func (m *model) endTrial(c *call, now, took int64, impatient bool, e ending) {
	switch {
	case e.outcome == recloser.Success:
		m.goodTrial(now, took)
	case e.outcome == recloser.Failure:
		m.badTrial(now, recloser.Counts{Failed: 1})
	case impatient && (m.goodTrials == 0 || m.lastGood < c.start):
		m.badTrial(now, recloser.Counts{Slow: 1})
	}
}

// leaseOver gives the verdict on a trial whose time is up.
func (m *model) leaseOver(c *call, at int64) {
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
	m.badTrial(at, recloser.Counts{Slow: 1})
}

func (m *model) goodTrial(at, took int64) {
	m.goodTrials++
	m.lastGood, m.leases, m.throttled = at, 0, 0
	m.lastGoodCall = at
	m.slowestTrial, m.lastLongest = max(m.slowestTrial, took), max(m.lastLongest, took)
	if m.led {
		m.reported.TrialsGood++
		return
	}
	if m.goodTrials < m.Trials {
		return
	}
	m.reclose(at, recloser.Transition{Reason: recloser.ReasonTrialsGood, Counts: recloser.Counts{Good: uint64(m.goodTrials)}})
}

// reclose closes with a slow start.
func (m *model) reclose(at int64, t recloser.Transition) {
	m.close(at, t)
	if m.Ramp > 0 {
		m.ramp = &ramp{refused: true, limit: m.Trials, doubled: m.Trials, inSecond: m.Trials, second: at, slow: m.rampSlow()}
	}
}

func (m *model) badTrial(at int64, c recloser.Counts) {
	step := m.step
	if m.goodTrials == 0 && !m.early {
		step = m.stepUp()
	}
	c.Good = uint64(m.goodTrials)
	led := m.led
	m.trip(at, step, recloser.Transition{Reason: recloser.ReasonTrialFailed, Counts: c})
	m.afterTrial(led, 0)
}
