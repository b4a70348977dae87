package fleet

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// trial is the lease of one trial of the fleet that this node holds. It is there
// before the caller comes, so that he does not wait for it.
type trial struct {
	lease     Lease
	good, bad uint64    // trials of the breaker before
	taken     uint64    // with this one
	waits     time.Time // until then for a caller
	ends      time.Time // by its holder's clock, before the lease does
}

// ended is a lease that is to be finished.
type ended struct {
	member *member // nil: it has left, and what comes of it is for others to see
	lease  Lease
	result Result
}

const (
	// trialWait is how long a node keeps a lease for which nobody comes.
	trialWait = 3 * time.Second
	// leaseMargin is how much sooner than the store its holder takes a trial for over.
	leaseMargin = time.Second
)

// allowed returns how many trials the breaker may have taken.
func (t *trial) allowed() uint64 {
	if t == nil {
		return 0
	}
	return t.taken
}

// mayTry reports whether this node may begin a trial: it has refused callers, so that
// there will be somebody to try with, and its verdict is worth something. Whose last
// caller was long ago leaves it to others for a while.
func (m *member) mayTry(c *coordinator, now time.Time) bool {
	wish := m.wishAt.After(m.held.made) || m.wishAt.Add(c.cfg.Rule.Window).After(now)
	patience := now.Sub(m.wishAt) / 8
	if cfg := m.b.Config(); cfg.Shadow { // it refuses nobody
		wish, patience = true, 0
	}
	if !wish || m.last.Own || now.Before(m.tryAt.Add(patience)) {
		return false
	}
	// What a node thinks of a call that doubts its network, or has older settings, is
	// asked for only if nobody else tries.
	return !c.doubtful && !c.beat.outdated(c) || m.held.age(now)-m.held.Lasts > grace
}

// wantsTrial asks for a lease.
func (m *member) wantsTrial(c *coordinator, now time.Time) *op {
	if m.trial != nil || !m.mayTry(c, now) {
		return nil
	}
	return &op{kind: opAcquire, key: breakerKey + m.name, expect: m.held.Rev, ttl: trialWait + m.last.TrialTime + leaseMargin}
}

// acquired takes in whether there was one.
func (m *member) acquired(c *coordinator, o *op, now time.Time) {
	// In a large fleet somebody else has it soon.
	most := min(grace, time.Duration(c.beat.live())*(200*time.Millisecond))
	m.tryAt = now.Add(time.Second/2 + time.Duration(c.random.Int64N(int64(most)+1)))
	if o.expect != m.held.Rev {
		return // the lease ended with that version
	}
	if errors.Is(o.err, ErrConflict) {
		if c.reload.IsZero() {
			c.reload = now.Add(time.Second) // until then it is heard, as a rule
		}
		return
	}
	if m.counted(o.tally); m.write == nil && o.err == nil {
		ends := o.asked.Add(o.ttl - leaseMargin)
		m.trial = &trial{lease: o.lease, good: m.last.TrialsGood, bad: m.last.TrialsBad, taken: m.last.Taken + 1, waits: o.asked.Add(trialWait), ends: ends}
		m.obey(now, grace)
	} else if o.err == nil {
		c.ended = append(c.ended, ended{m, o.lease, Unused})
	}
}

// tend looks what became of the trial.
func (m *member) tend(c *coordinator, now time.Time) {
	t, r := m.trial, m.last
	switch {
	case r.TrialsBad > t.bad:
		m.end(c, Bad, now)
	case r.TrialsGood > t.good:
		m.end(c, Good, now)
	case r.Running > 0:
		if !now.Before(t.ends) {
			m.end(c, Bad, now)
		}
	case !r.Led || r.Automatic != recloser.HalfOpen: // somebody here has set it otherwise
		m.end(c, Unused, now)
	case now.Before(t.waits):
		if r.Taken == t.taken { // it ended without a verdict: for the next caller
			t.taken++
			m.obey(now, grace)
		}
	default:
		m.follow(recloser.Order{State: recloser.HalfOpen, Grace: grace, Note: m.held.Note})
		if m.last = m.b.Report(); m.last.Running == 0 {
			m.end(c, Unused, now)
			m.tryAt = now.Add(time.Second + time.Duration(c.random.Int64N(int64(time.Second))))
		}
	}
}

func (m *member) end(c *coordinator, r Result, now time.Time) {
	c.ended = append(c.ended, ended{m, m.trial.lease, r})
	m.trial, m.renewAt = nil, now.Add(refresh) // the next record will say what follows
	if r == Good {
		m.tryAt = now // here are callers
	}
}

// finish returns the operation that finishes a lease, if there is one to finish.
func (c *coordinator) finish() *op {
	if len(c.ended) == 0 {
		return nil
	}
	e := c.ended[0]
	return &op{kind: opFinish, member: e.member, lease: e.lease, result: e.result}
}

// finished takes in what the store made of a result.
func (c *coordinator) finished(o *op) {
	c.ended = slices.DeleteFunc(c.ended, func(e ended) bool { return e.lease.Token == o.lease.Token })
	if m := o.member; m != nil && o.lease.Rev == m.held.Rev {
		m.counted(o.tally)
	}
}

// giveBack ends the trial of a member that leaves, so that the fleet does not wait for it
// until it counts as bad.
func (m *member) giveBack(c *coordinator, now time.Time) {
	if m.trial == nil {
		return
	}
	m.last = m.b.Report()
	if m.tend(c, now); m.trial != nil && m.last.Running == 0 {
		m.end(c, Unused, now)
	}
}

// counted writes what follows from the trials there were, if that is clear.
func (m *member) counted(t Tally) {
	v, cfg := &m.held, m.b.Config()
	n := &next{Record: v.Record, expect: v.Rev}
	n.By, n.Need = "", 0
	switch {
	case t.Bad > 0:
		if t.Good == 0 {
			n.Step = stepUp(&cfg, v.Step)
		}
		n.State, n.Reason, n.Lasts, n.Note = recloser.Open, recloser.ReasonTrialFailed, openTime(&cfg, n.Step), "a trial failed"
		if cause := m.b.Brief().Cause; cause != nil {
			n.Cause = fmt.Sprint(cause)
		}
	case t.Good >= v.Need:
		n.State, n.Reason, n.Note = recloser.Closed, recloser.ReasonTrialsGood, "trials of the fleet were good"
	default:
		return
	}
	m.write = n
}
