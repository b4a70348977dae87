package model

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// suspicion is what the model knows of calls that run longer than usual.
type suspicion struct {
	suspect       int64 // the limit that was set; 0: none
	holds         bool  // HoldSuspicion says so
	suspicionHeld bool  // a trip by suspicion was held in this closed period
	askAt, seen   int64 // when to ask again; the latest time that was settled
	suspected     int   // calls, so far
	lastGoodCall  int64 // when it ended; -1: none has

	width     int64 // of slices of running calls that come now
	ringLimit int64 // SlowCall when that was settled; -1: not yet
	ringLets  bool  // CancelOnTrip then
	whole     *let
	hearing   *hearing
}

// let is how a trip lets go of callers.
type let struct {
	end int64 // no later call has it
	due int64 // when it comes; 0: no trip yet
}

type hearing struct {
	closed, open, left int
	from, until        int64
}

func hasStep(r recloser.Reason) bool {
	return slices.Contains([]recloser.Reason{
		recloser.ReasonRate, recloser.ReasonRun, recloser.ReasonSuspected, recloser.ReasonUs, recloser.ReasonProbe,
	}, r)
}

// suspectAfter returns the limit in force; 0: none.
func (m *model) suspectAfter() int64 {
	if m.suspect >= m.slowCall() {
		return 0
	}
	return m.suspect
}

func (m *model) setSuspect(now int64, d time.Duration) {
	m.settle(now)
	limit := int64(0)
	if d > 0 {
		limit = int64(max(d, time.Millisecond))
	}
	if limit != m.suspect {
		m.suspect = limit
		if m.state == recloser.Closed {
			m.fit(now)
		}
	}
	m.settle(now)
}

// fit makes slices of another width if those there are do not fit the limits.
func (m *model) fit(now int64) {
	limit := m.horizon(m.slowCall())
	if m.ringLimit != m.slowCall() || m.ringLets != m.CancelOnTrip || limit/m.width < 6 || limit/m.width >= 30 {
		m.limits++
		m.ringLimit, m.ringLets, m.width = m.slowCall(), m.CancelOnTrip, 1<<(bits.Len64(uint64(limit/8))-1)
	}
	if m.suspectAfter() > 0 && m.whole != nil {
		m.whole.end = min(m.whole.end, now)
	}
}

// letOf returns how a trip lets go of a call that is let in now.
func (m *model) letOf(now int64) *let {
	switch {
	case !m.CancelOnTrip || m.state != recloser.Closed && m.state != recloser.HalfOpen:
		return nil
	case m.state == recloser.HalfOpen:
		return &let{end: never}
	case m.suspectAfter() > 0:
		return &let{end: now/m.width*m.width + m.width}
	case m.whole == nil:
		m.whole = &let{}
	}
	m.whole.end = never
	return m.whole
}

// isSuspect: the call is past the suspect limit, and nothing is decided yet.
func (m *model) isSuspect(c *call) bool { return m.mine(c) && c.suspect }

func (m *model) suspects() (all []*call) {
	for _, c := range m.calls {
		if m.isSuspect(c) {
			all = append(all, c)
		}
	}
	return all
}

// suspectCalls counts them by the limit in force.
func (m *model) suspectCalls(at int64) int {
	e := evidence{after: m.suspectAfter()}
	return m.count(func(c *call) bool { return m.isSuspect(c) && e.includes(c, at) })
}

// firstOverdue returns the suspect that is past SlowCall first; of several, the one
// that was suspected first.
func (m *model) firstOverdue() (first *call) {
	for _, c := range m.suspects() {
		due := c.sliceEnd() + c.limit
		if first == nil || due < first.sliceEnd()+first.limit || due == first.sliceEnd()+first.limit && c.since < first.since {
			first = c
		}
	}
	return first
}

// condemn makes suspects bad for good.
func (m *model) condemn(first *call, at int64) {
	for _, c := range m.suspects() {
		if c.limit == first.limit && c.width == first.width && c.began() == first.began() {
			m.overdueCall(c, at)
		}
	}
	m.ask(at)
}

// tripByRule trips as a rule says that needs no suspects.
func (m *model) tripByRule(at int64, rule recloser.Reason) {
	t := recloser.Transition{Reason: rule, Counts: m.counts(at)}
	step := m.nextStep(at)
	if m.suspicionHeld && m.holds {
		t.Reason, t.Rule = recloser.ReasonUs, rule
		if step = 0; m.tripped && !m.calm(at) {
			step = m.step
		}
	}
	m.trip(at, step, t)
}

// tripBySuspicion trips as a rule says that does need suspects, unless that is
// held.
func (m *model) tripBySuspicion(at int64, rule recloser.Reason, e *evidence) {
	if m.holds {
		m.suspicionHeld, m.askAt = true, m.seen+int64(50*time.Millisecond)
		return
	}
	t := recloser.Transition{
		Reason: recloser.ReasonSuspected, Counts: e.counts(), Rule: rule, Suspects: e.suspects, Suspect: time.Duration(e.after),
	}
	if rule == recloser.ReasonRun {
		t.Suspects = e.inRun
	}
	m.tripClosed(at, t)
}

// hear is for when the period is left for another: who is let go, and when, and who
// may testify.
func (m *model) hear(next recloser.State, at int64, reason recloser.Reason) {
	m.hearing = nil
	bySuspicion := reason == recloser.ReasonSuspected
	if bySuspicion {
		h := &hearing{closed: m.period, open: m.period + 1, left: 2}
		e, n := evidence{after: m.suspectAfter()}, 0
		suspects := slices.DeleteFunc(m.suspects(), func(c *call) bool { return !e.includes(c, at) })
		slices.SortFunc(suspects, func(a, b *call) int { return cmp.Compare(a.began(), b.began()) })
		for i, c := range suspects {
			if i == 0 {
				h.from = c.began()
			}
			if n >= 2 && (c.began() != suspects[i-1].began() || c.width != suspects[i-1].width) {
				break
			}
			n++
			h.until = max(h.until, c.sliceEnd())
		}
		m.hearing = h
	}
	if next != recloser.Open || m.held != nil || m.Shadow {
		return
	}
	for _, c := range m.calls {
		if c.let == nil || c.period != m.period || c.let.due != 0 {
			continue
		}
		c.let.due = at
		if bySuspicion {
			c.let.due = c.let.end + m.suspectAfter()
		}
	}
	m.letGo(at)
}

// nextRelease returns when the next callers of a period that is over are let go.
func (m *model) nextRelease() int64 {
	at := int64(never)
	for _, c := range m.calls {
		if c.let != nil && c.let.due != 0 && !c.released {
			at = min(at, c.let.due)
		}
	}
	return at
}

func (m *model) letGo(at int64) {
	for _, c := range m.calls {
		c.released = c.released || c.let != nil && c.let.due != 0 && c.let.due <= at
	}
}

func (m *model) mayTestify(c *call) bool {
	h := m.hearing
	return h != nil && m.period == h.open && !m.led && c.period == h.closed && !c.free && c.clock >= h.from && c.clock < h.until
}

// callWitness reports whether a released call runs on as a witness.
func (m *model) callWitness(c *call, now int64) bool {
	m.settle(now)
	if c.released && !c.witness && !c.trial && c.answered == 0 && !c.sending && m.mayTestify(c) && m.hearing.left > 0 {
		m.hearing.left--
		c.witness = true
	}
	return c.witness
}

// testify starts trials if a call that ended well shows that the suspicion was
// wrong.
func (m *model) testify(c *call, now, took int64) {
	if m.mayTestify(c) && (c.witness || !c.released) {
		m.lastGoodCall = now
		m.startTrials(now, recloser.Transition{Reason: recloser.ReasonWitness, Lifted: time.Duration(took)})
	}
}
