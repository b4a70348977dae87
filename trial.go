package recloser

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recloser-go/recloser/internal/defaults"
)

// trials is what a half-open period knows. The breaker's lock guards it. A
// trial is a lease: its slot is free at its deadline whatever became of the
// caller.
type trials struct {
	leased   []*trial
	good     int   // how many were good
	lastGood int64 // when one ended well
}

type trial struct {
	start, clock, answered, deadline int64 // clock: when the slow clock started
	slowClock                        bool  // the deadline is the slow rule's
	sending                          bool  // so far the caller keeps the dependency waiting
}

// result is how a trial ended.
type result struct {
	at, took int64
	bad      error // nil: it was good
}

// leaseError is the failure of a trial that ran out its lease.
type leaseError struct{ lease time.Duration }

func (e leaseError) Error() string {
	return fmt.Sprintf("trial not answered within %s", defaults.Short(e.lease))
}

var errGaveUp = errors.New("the caller gave up waiting")

const (
	firstLease = int64(10 * time.Second)
	maxLease   = int64(24 * time.Hour)
)

// lease returns how long a trial may take that the slow rule does not judge.
func (b *Breaker) lease() int64 {
	if b.cfg().TrialTimeout > 0 {
		return int64(b.cfg().TrialTimeout)
	}
	lease := max(firstLease, 2*min(b.longest, maxLease))
	for i := 0; i < b.leases && lease < maxLease; i++ {
		lease = min(2*lease, maxLease)
	}
	return lease
}

// takeTrial lets a call in if a slot is free. One trial runs at a time until
// one was good.
func (b *Breaker) takeTrial(p *period, now int64, c *call) bool {
	slots := 1
	if p.good > 0 {
		slots = b.cfg().Trials
	}
	switch {
	case p.led && b.taken >= b.allowed, !p.led && len(p.leased) >= slots:
		return false
	case p.led:
		b.taken++
	}
	c.begin(p, now, b.rules().slowAfter())
	t := &trial{start: now}
	if rs := b.releasesOf(p); rs != nil {
		c.release = rs.take(now)
	}
	b.clockTrial(t, now)
	p.leased = append(p.leased, t)
	c.trial, c.kind = t, onTrial
	return true
}

// clockTrial gives a trial the time of the slow rule from now on, or its lease.
func (b *Breaker) clockTrial(t *trial, now int64) {
	t.clock, t.sending = now, false
	t.deadline, t.slowClock = now+b.rules().slow(), b.rules().slow() > 0
	if !t.slowClock {
		t.deadline = now + b.lease()
	}
}

// answerTrial leaves an answered trial to its lease: the slow rule is done with it.
func (b *Breaker) answerTrial(t *trial, now int64) {
	t.answered, t.deadline, t.slowClock, t.sending = max(now, 1), max(t.start+b.lease(), now), false, false
}

// takeBack ends the lease of a trial, and reports false if it was over.
func (t *trials) takeBack(done *trial) bool {
	i := slices.Index(t.leased, done)
	if i >= 0 {
		t.leased = slices.Delete(t.leased, i, i+1)
	}
	return i >= 0
}

// dropTrials leaves the running trials without a verdict: the period is over.
func (t *trials) dropTrials(b *Breaker) {
	b.adrift.Add(int64(len(t.leased)))
	t.leased = nil
}

func (t *trials) nextLease() int64 {
	if first := t.shortest(); first != nil {
		return first.deadline
	}
	return never
}

// shortest returns the trial whose time is up first, nil if there is none.
func (t *trials) shortest() (first *trial) {
	for _, o := range t.leased {
		if first == nil || o.deadline < first.deadline {
			first = o
		}
	}
	return first
}

// endLease gives the verdict on a trial whose time is up.
func (b *Breaker) endLease(p *period, at, _ int64) {
	t := p.shortest()
	switch {
	case t.sending: // one slow caller must not keep everybody out, nor blame the dependency
		p.takeBack(t)
		b.adrift.Add(1)
	case t.answered != 0:
		p.takeBack(t)
		b.adrift.Add(1)
		b.goodTrial(p, at, t.answered-t.clock)
	case t.slowClock:
		b.cause = slowError{time.Duration(t.deadline - t.clock)}
		b.badTrial(p, at, t.deadline-t.clock, Counts{Slow: 1})
	default:
		b.cause = leaseError{time.Duration(b.lease())}
		b.leases++
		b.badTrial(p, at, at-t.clock, Counts{Slow: 1})
	}
}

// judgeTrial gives the verdict on a trial that ended.
func (b *Breaker) judgeTrial(p *period, c *call, now, took int64, e ending) {
	switch {
	case b.toldToWait(p, now, e):
		b.lastTrial = result{now, took, cmp.Or(e.err, errFailed)}
	case e.outcome == Success:
		b.goodTrial(p, now, took)
	case e.outcome == Failure:
		b.badTrial(p, now, took, Counts{Failed: 1})
	case impatient(c, now, e) && (p.good == 0 || p.lastGood < c.start):
		b.cause = errGaveUp
		b.badTrial(p, now, took, Counts{Slow: 1})
	}
}

func (b *Breaker) goodTrial(p *period, at, took int64) {
	p.good++
	p.lastGood, p.throttled = at, 0
	b.lastTrial = result{at, took, nil}
	b.leases = 0
	b.longest = max(b.longest, took) // also where no closed period has shown how long a call takes
	b.slowestTrial = max(b.slowestTrial, took)
	switch {
	case p.led:
		b.trialsGood++ // what follows is for the fleet to say
	case p.good >= b.cfg().Trials:
		b.reclose(at, Transition{Reason: ReasonTrialsGood, Counts: Counts{Good: uint64(p.good)}})
	}
}

// reclose closes with a slow start.
func (b *Breaker) reclose(at int64, t Transition) {
	next := b.newPeriod(Closed, at, never, t.Reason)
	if b.cfg().Ramp > 0 {
		next.ramp.Store(newRamp(b, at))
		next.busy = true
	}
	b.enter(next, at, t)
}

// badTrial is told how long the trial took. Its failure is the breaker's cause.
func (b *Breaker) badTrial(p *period, at, took int64, c Counts) {
	b.lastTrial = result{at, took, b.cause}
	step := b.step
	if p.good == 0 && !p.early {
		step = b.rules().stepUp(step)
	}
	c.Good = uint64(p.good)
	b.trip(at, step, ReasonTrialFailed, Transition{Counts: c})
	b.staysLed(p)
}
