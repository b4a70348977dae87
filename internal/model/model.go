// Package model holds a breaker done the naive way, and a Pair that drives it
// beside a real one and says where they differ: for tests only. It keeps whole
// lists of calls and walks them for every question. From the engine it takes only
// what that documents as its exactness: running calls become suspect or overdue by
// slices of a power of two, from a sixteenth to an eighth of the limit for which they
// were made, and used as long as it is from six to thirty of them; the window is made of
// eleven slices, and a call that the slow rule does not judge counts as on the way
// for two seconds.
package model

import (
	"math"
	"time"

	"github.com/recloser-go/recloser"
)

// never is later than any time of the clock. Times are in ns since it began.
const never = math.MaxInt64

// model is the breaker.
type model struct {
	recloser.Config
	// drawn tells which open time the engine drew for the transition with that
	// number: from low to high.
	drawn func(seq uint64, low, high time.Duration) time.Duration

	state        recloser.State  // Closed, Open, HalfOpen or Isolated
	refusal      recloser.Reason // of who is not let in, and what opened it last then
	refusalTrip  recloser.Reason
	since, until int64
	given        time.Time // the end of an isolation
	held         *hold
	period       int     // number of the stay
	calls        []*call // all that run
	openFor      int64
	opened       recloser.Reason // it last

	step, leases         int
	tripped              bool
	longest, lastLongest int64 // good call of this closed period, of the one before

	early                  bool // of the half-open period
	goodTrials, throttled  int
	lastGood, slowestTrial int64

	slices             []slice // of the closed period
	lookAt             int64
	run                row
	goodStart, goodEnd int64 // of the latest good calls
	good               int
	lastOverdue, asked int64
	limits             int // how many limits of calls there were
	ramp               *ramp
	out                bool  // cut off by the rules since it was last closed or isolated,
	outSince           int64 // and first then
	suspicion
	following

	shown                                recloser.State
	seq                                  uint64
	events                               []event
	admitted, takenBack                  uint64
	success, failed, slow, ignored, late uint64
	refused                              map[recloser.Reason]uint64
}

// event is a transition without At, Cause and Name.
type event struct {
	recloser.Transition
	at int64
}

type hold struct {
	since, until int64
	end          time.Time // as it was given
}

type call struct {
	period                    int
	start, clock              int64 // admitted; when the slow clock started
	limit                     int64 // SlowCall then; 0: off
	limits                    int   // which ring that was
	width                     int64 // of its slices
	let                       *let  // how a trip lets go of its caller; nil: not at all
	answered, deadline        int64
	trial, slowClock, free    bool // free: let through though the rules said no
	sending, bad, left, ended bool // bad: it was while it ran; left: not on the way any more
	released, witness         bool
	suspect                   bool // left past the suspect limit, and nothing is decided yet
	since                     int  // number of the suspect
}

// row is a run of bad calls.
type row struct {
	admitted []int64
	at       int64 // when the last one was judged
	bad, of  int   // the window before
}

type slice struct {
	start int64
	calls []verdict
}

type verdict struct {
	admitted             int64
	failed, slow, gaveUp bool
}

func newModel(cfg recloser.Config, now int64) *model {
	m := &model{Config: cfg.WithDefaults(), refused: map[recloser.Reason]uint64{}, suspicion: suspicion{lastGoodCall: -1}}
	m.close(now, recloser.Transition{})
	m.events, m.seq = nil, 0
	return m
}

// slowCall returns the limit in force; 0: off.
func (m *model) slowCall() int64 { return max(int64(m.SlowCall), 0) }

// horizon is how long after the end of its slice a call with that SlowCall is on
// the way at most.
func (m *model) horizon(limit int64) int64 {
	if limit == 0 {
		return int64(2 * time.Second)
	}
	if s := m.suspectAfter(); s > 0 {
		return min(limit, s)
	}
	return limit
}

// began returns when the slice of running calls began that the call is in.
func (c *call) began() int64 { return c.clock / c.width * c.width }

// sliceEnd returns when that slice ends.
func (c *call) sliceEnd() int64 { return c.began() + c.width }

// leaves returns when the call is off the way, if it is not answered.
func (m *model) leaves(c *call) int64 { return c.sliceEnd() + m.horizon(c.limit) }

func (m *model) count(is func(*call) bool) (n int) {
	for _, c := range m.calls {
		if is(c) {
			n++
		}
	}
	return n
}

func (m *model) mine(c *call) bool { return c.period == m.period && !c.free && !c.ended }

// onTheWay: nothing is known of the call yet.
func (m *model) onTheWay(c *call) bool {
	return m.mine(c) && !c.trial && c.answered == 0 && !c.sending && !c.left
}

// undecidedYet: the same for the slow start, which knows no two seconds.
func (m *model) undecidedYet(c *call) bool {
	return m.mine(c) && !c.trial && c.answered == 0 && !c.sending && !c.bad
}

func (m *model) overdue(c *call) bool { return m.mine(c) && !c.trial && c.bad && c.answered == 0 }
func (m *model) leased(c *call) bool  { return m.mine(c) && c.trial }

// passesAll: calls pass that the rules refuse.
func (m *model) passesAll() bool {
	return m.held != nil || m.Shadow && m.state != recloser.Isolated
}

// next returns the moment at which something happens by itself, and what.
func (m *model) next() (at int64, do func(at int64)) {
	at = never
	sooner := func(t int64, f func(int64)) {
		if t < at {
			at, do = t, f
		}
	}
	if m.held != nil {
		sooner(m.held.until, func(at int64) {
			m.held = nil
			m.event(at, m.state, recloser.Transition{Reason: recloser.ReasonExpired})
		})
	}
	sooner(m.nextRelease(), func(int64) {})
	switch m.state {
	case recloser.Open:
		end := m.until
		if m.led {
			end = max(end, m.leadEnd)
		}
		sooner(end, func(at int64) { m.halfOpen(at, recloser.ReasonTime) })
	case recloser.Isolated:
		sooner(m.until, func(at int64) {
			if m.leadEnd > at {
				m.openLed(at, at, recloser.ReasonExpired)
				return
			}
			m.halfOpen(at, recloser.ReasonExpired)
		})
	case recloser.Closed, recloser.HalfOpen, recloser.HeldClosed:
	}
	for _, c := range m.calls {
		if m.leased(c) {
			sooner(c.deadline, func(at int64) { m.leaseOver(c, at) })
		}
	}
	if m.led && m.state == recloser.HalfOpen {
		sooner(m.leadEnd, func(int64) { m.led = false })
	}
	if c := m.firstOut(); c != nil {
		sooner(m.leaves(c), func(at int64) { m.outOfTime(c, at) })
	}
	if c := m.firstOverdue(); c != nil {
		sooner(c.sliceEnd()+c.limit, func(at int64) { m.condemn(c, at) })
	}
	sooner(m.nextVerdict(), m.ask)
	if m.ramp != nil {
		sooner(max(m.since+int64(m.Ramp), m.ramp.notBefore), m.rampOver)
	}
	return at, do
}

// settle lets happen what is due.
func (m *model) settle(now int64) {
	before := m.seen
	m.seen = max(m.seen, now)
	m.settleFrom(before, now)
}

// settleFrom dates nothing before the last time at which somebody looked.
func (m *model) settleFrom(before, now int64) {
	for {
		at, do := m.next()
		if at > now {
			break
		}
		at = max(at, before)
		m.letGo(at)
		do(at)
	}
	if m.state != recloser.Closed || now < m.lookAt {
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
		m.slices, m.lookAt = append(m.slices, slice{start: now}), now+length
		m.settleFrom(before, now) // of a window that has lost its oldest slice the rules may think otherwise
		return
	}
	m.lookAt = min(now+length/8, head.start+oldest)
}

// window returns the verdicts that count at at.
func (m *model) window(at int64) (all []verdict) {
	for i := len(m.slices) - 1; i >= max(0, len(m.slices)-11); i-- {
		if m.slices[i].start < at-max(int64(30*time.Minute), int64(m.Window)*11/10) {
			break
		}
		all = append(all, m.slices[i].calls...)
	}
	return all
}

func (m *model) counts(at int64) (c recloser.Counts) {
	if m.state != recloser.Closed {
		return recloser.Counts{Good: uint64(m.goodTrials)}
	}
	e := m.evidence(at, 0)
	return e.counts()
}

func (m *model) book(v verdict) {
	head := &m.slices[len(m.slices)-1]
	head.calls = append(head.calls, v)
}
