package model

import (
	"time"

	"github.com/recloser-go/recloser"
)

func (m *model) isolate(now, until int64, end time.Time) {
	m.settle(now)
	m.held, m.given = nil, end
	m.enter(recloser.Isolated, now, until, recloser.Transition{Reason: recloser.ReasonIsolated})
	m.settle(now)
}

func (m *model) holdClosed(now, until int64, end time.Time) {
	m.settle(now)
	m.held = &hold{now, until, end}
	t := recloser.Transition{Reason: recloser.ReasonHeldClosed}
	if m.state == recloser.Isolated || m.state == recloser.HalfOpen { // running trials get no verdict
		m.early = m.early && m.state == recloser.HalfOpen
		m.enter(recloser.HalfOpen, now, never, t)
		return
	}
	m.event(now, recloser.HeldClosed, t)
}

func (m *model) release(now int64) bool {
	m.settle(now)
	switch {
	case m.held != nil:
		m.held = nil
		m.event(now, m.state, recloser.Transition{Reason: recloser.ReasonReleased})
	case m.state == recloser.Isolated:
		m.halfOpen(now, recloser.ReasonReleased)
	default:
		return false
	}
	return true
}

func (m *model) reset(now int64) {
	m.settle(now)
	m.step, m.tripped, m.leases = 0, false, 0
	if m.state != recloser.Isolated {
		m.close(now, recloser.Transition{Reason: recloser.ReasonReset})
	}
}

func (m *model) tripFor(now int64, d time.Duration) bool {
	m.settle(now)
	if m.state == recloser.Isolated {
		return false
	}
	m.enter(recloser.Open, now, now+int64(d), recloser.Transition{Reason: recloser.ReasonTripped})
	return true
}

// tripNow trips as a rule would.
func (m *model) tripNow(now int64) bool {
	m.settle(now)
	if m.state != recloser.Closed {
		return false
	}
	m.tripClosed(now, recloser.Transition{Reason: recloser.ReasonProbe, Counts: m.counts(now)})
	return true
}

// holdTrials has an open time last on.
func (m *model) holdTrials(now int64, d time.Duration) bool {
	m.settle(now)
	if m.state != recloser.Open {
		return false
	}
	if until := now + int64(min(d, 24*time.Hour)); until > m.until {
		m.until, m.openFor = until, until-m.since
		if m.led {
			m.own = until
		}
	}
	return true
}

func (m *model) tryNow(now int64) bool {
	m.settle(now)
	if m.state != recloser.Open {
		return false
	}
	m.halfOpen(now, recloser.ReasonEarly)
	return true
}

// update puts other settings in force. The rules are asked with the next end.
func (m *model) update(now int64, cfg recloser.Config) {
	m.settle(now)
	m.Config = cfg.WithDefaults()
	if m.state == recloser.Closed {
		m.fit(now)
	}
	m.step = m.inReach(m.step)
	if m.state == recloser.Closed {
		m.lookAt = max(now, m.slices[len(m.slices)-1].start+int64(m.Window)/10)
		m.asked = now
	}
	if m.ramp != nil {
		m.ramp.limit, m.ramp.slow = max(m.ramp.limit, m.Trials), m.rampSlow()
		if m.Ramp < 0 {
			m.ramp = nil
		}
	}
	m.settle(now)
}

// inReach returns the step, or the first that reaches the longest open time.
func (m *model) inReach(step int) int {
	for step > 0 && m.OpenFor<<(step-1) >= m.MaxOpenFor {
		step--
	}
	return step
}

// timeOf returns a moment as a time of day, given what time it is now.
func timeOf(at, now int64, wall time.Time) time.Time {
	if at == never {
		return time.Time{}
	}
	return wall.Add(time.Duration(at - now))
}

// save returns what outlives a restart. wall is the time of day now.
func (m *model) save(now int64, wall time.Time) recloser.Saved {
	m.settle(now)
	s := recloser.Saved{
		At: wall, State: m.state, Since: timeOf(m.since, now, wall), OpenFor: time.Duration(m.openFor),
		Trip: m.opened, Step: m.step, Tripped: m.tripped, Longest: time.Duration(m.lastLongest), Leases: m.leases, Seq: m.seq,
	}
	if m.out {
		s.OutSince = timeOf(m.outSince, now, wall)
	}
	if m.state == recloser.Open {
		s.Until = timeOf(m.until, now, wall)
	}
	if m.calm(now) {
		s.Step, s.Tripped = 0, false
	}
	if m.state == recloser.Closed && m.longest > 0 {
		s.Longest = time.Duration(m.longest)
	}
	switch {
	case m.held != nil:
		s.Override = &recloser.Override{State: recloser.HeldClosed, Since: timeOf(m.held.since, now, wall), Until: m.held.end}
	case m.state == recloser.Isolated:
		s.State = recloser.HalfOpen
		s.Override = &recloser.Override{State: recloser.Isolated, Since: s.Since, Until: m.given}
	}
	return s
}

// restore does what save's result says. None of its times lasts longer than it
// would have from its start.
func (m *model) restore(s recloser.Saved, now int64, wall time.Time) {
	m.settle(now)
	since := func(t time.Time) int64 { return min(now, now+int64(t.Sub(wall))) }
	until := func(t time.Time, whole time.Duration) int64 {
		if t.IsZero() {
			return never
		}
		left := t.Sub(wall)
		if whole > 0 {
			left = min(left, whole)
		}
		return max(now, now+int64(left))
	}
	held := m.held
	m.held = nil
	state, from, to, end := s.State, since(s.Since), int64(never), time.Time{}
	switch state {
	case recloser.Open:
		to = until(s.Until, s.OpenFor)
	case recloser.Closed:
		from = now
	case recloser.HalfOpen, recloser.Isolated, recloser.HeldClosed:
	}
	if o := s.Override; o != nil {
		put := &hold{since(o.Since), until(o.Until, o.Until.Sub(o.Since)), o.Until}
		if put.until != never {
			put.end = timeOf(put.until, now, wall)
		}
		switch {
		case put.until > now && o.State == recloser.HeldClosed:
			m.held = put
		case put.until > now:
			state, from, to, end = recloser.Isolated, put.since, put.until, put.end
		case o.State == recloser.Isolated:
			state, from = recloser.HalfOpen, now
		}
	}
	if m.out = !s.OutSince.IsZero(); m.out {
		m.outSince = since(s.OutSince)
	}
	m.seq = max(m.seq, s.Seq)
	m.step, m.tripped, m.leases = m.inReach(s.Step), s.Tripped, s.Leases
	m.opened, m.openFor = s.Trip, int64(s.OpenFor)
	if state != recloser.Closed || m.state != recloser.Closed || held != nil || m.held != nil {
		m.good = 0 // no calm of what went before counts
		t := recloser.Transition{Reason: recloser.ReasonRestored}
		if state == recloser.Closed {
			m.close(now, t)
		} else {
			m.early, m.slowestTrial = false, 0
			m.enter(state, now, to, t)
		}
		m.since, m.given = from, end
	}
	m.lastLongest = int64(s.Longest)
	m.settle(now)
}
