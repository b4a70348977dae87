package recloser

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// trials is what a half-open period knows. The breaker's lock guards it. A
// trial is a lease: its slot is free at its deadline whatever became of the
// caller.
type trials struct {
	leased    []trial
	lastTrial int   // number of the newest
	good      int   // how many were good
	lastGood  int64 // when one ended well
}

type trial struct {
	number                    int
	start, answered, deadline int64
}

// leaseError is the failure of a trial that ran out its lease.
type leaseError struct{ lease time.Duration }

func (e leaseError) Error() string {
	return fmt.Sprintf("trial not answered within %s", short(e.lease))
}

var errGaveUp = errors.New("the caller gave up waiting")

const (
	firstLease = int64(10 * time.Second)
	maxLease   = int64(24 * time.Hour)
)

// lease returns how long a trial may take that the slow rule does not judge.
func (b *Breaker) lease() int64 {
	lease := int64(b.TrialTimeout)
	if lease == 0 {
		lease = max(firstLease, 2*b.longest)
	}
	for range b.leases {
		lease = min(2*lease, maxLease)
	}
	return lease
}

// takeTrial lets a call in if a slot is free. One trial runs at a time until
// one was good.
func (b *Breaker) takeTrial(p *period, now int64) (call, bool) {
	slots := 1
	if p.good > 0 {
		slots = b.Trials
	}
	if len(p.leased) >= slots {
		return call{}, false
	}
	t := trial{number: p.lastTrial + 1, start: now, deadline: now + b.lease()}
	if b.slow > 0 {
		t.deadline = now + b.slow
	}
	p.lastTrial = t.number
	p.leased = append(p.leased, t)
	return call{period: p, start: now, trial: t.number, kind: onTrial}, true
}

func (t *trials) find(number int) int {
	return slices.IndexFunc(t.leased, func(t trial) bool { return t.number == number })
}

// answerTrial notes that a trial is answered: the slow rule is done with it.
func (b *Breaker) answerTrial(p *period, number int, now int64) {
	if i := p.find(number); i >= 0 {
		t := &p.leased[i]
		t.answered, t.deadline = now, max(now, t.start+b.lease())
	}
}

// takeBack ends the lease of a trial, and reports false if it was over.
func (t *trials) takeBack(number int) bool {
	i := t.find(number)
	if i >= 0 {
		t.leased = slices.Delete(t.leased, i, i+1)
	}
	return i >= 0
}

// dropTrials leaves the running trials without a verdict, since the period is
// over, and returns how many wait for an answer.
func (t *trials) dropTrials(b *Breaker) (waiting int64) {
	for _, t := range t.leased {
		if t.answered == 0 {
			waiting++
		}
	}
	b.adrift.Add(int64(len(t.leased)))
	t.leased = nil
	return waiting
}

func (t *trials) nextLease() int64 {
	at := int64(never)
	for _, t := range t.leased {
		at = min(at, t.deadline)
	}
	return at
}

// endLease gives the verdict on a trial whose time is up.
func (b *Breaker) endLease(p *period, at, _ int64) {
	i := slices.IndexFunc(p.leased, func(t trial) bool { return t.deadline == at })
	t := p.leased[i]
	switch {
	case t.answered != 0:
		p.leased = slices.Delete(p.leased, i, i+1)
		b.adrift.Add(1)
		b.goodTrial(p, at, t.answered-t.start)
	case b.slow > 0:
		b.cause = slowError{b.SlowCall}
		b.badTrial(p, at, Counts{Slow: 1})
	default:
		b.cause = leaseError{time.Duration(b.lease())}
		b.leases++
		b.badTrial(p, at, Counts{Slow: 1})
	}
}

// judgeTrial gives the verdict on a trial that ended.
func (b *Breaker) judgeTrial(p *period, c *call, now, took int64, e ending) {
	switch {
	case b.toldToWait(p, now, e, Counts{Good: uint64(p.good), Failed: 1}): //nolint:gosec // positive
	case e.outcome == Success:
		b.goodTrial(p, now, took)
	case e.outcome == Failure:
		b.badTrial(p, now, Counts{Failed: 1})
	case b.impatient(c, now, e) && (p.good == 0 || p.lastGood < c.start):
		b.cause = errGaveUp
		b.badTrial(p, now, Counts{Slow: 1})
	}
}

func (b *Breaker) goodTrial(p *period, at, took int64) {
	p.good++
	p.lastGood = at
	b.leases = 0
	b.slowestTrial = max(b.slowestTrial, took)
	if p.good < b.Trials {
		return
	}
	next := b.newPeriod(Closed, at, never, ReasonTrialsGood)
	if b.Ramp > 0 {
		next.ramp.Store(newRamp(b, at))
		next.busy.Store(true)
	}
	b.enter(next, at, Transition{Reason: ReasonTrialsGood, Counts: Counts{Good: uint64(p.good)}}) //nolint:gosec // positive
}

func (b *Breaker) badTrial(p *period, at int64, c Counts) {
	step := b.step
	if p.good == 0 && !p.early {
		step = b.stepUp(step)
	}
	c.Good = uint64(p.good) //nolint:gosec // positive
	b.trip(at, step, ReasonTrialFailed, Transition{Counts: c})
}
