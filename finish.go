package recloser

import (
	"cmp"
	"errors"
)

// totals are the statistics that the closed path does not need. The breaker's
// lock guards them.
type totals struct {
	otherGood, failed, slowCalls, ignored, late uint64
}

// The failures of calls that have no error to show.
var (
	errFailed   = errors.New("the call failed")
	errPanicked = errors.New("the call panicked")
)

// finish books the end of a call.
func (b *Breaker) finish(c *call, now int64, e ending) {
	b.act(now, func(now int64) {
		p := c.period
		c.release.drop()
		inPeriod := b.cur.Load() == p && c.kind != unjudged
		switch {
		case c.kind == onTrial:
			if inPeriod = p.takeBack(c.trial); !inPeriod {
				b.adrift.Add(-1)
			}
		case c.kind == unjudged || c.answered != 0 || c.sending:
			b.adrift.Add(-1)
		case !c.ring.leave(c.clock):
			b.adrift.Add(-1)
			c.judged = b.takeOut(c) == wasOverdue
		}
		if e.unmade {
			b.reapplyRules(p, now)
			return
		}
		answered := c.answered
		if answered == 0 {
			answered = now
		}
		took := answered - c.clock
		slow := c.judged || took >= c.limit && !c.sending
		b.count(e.outcome, inPeriod && !slow, slow, took)
		switch {
		case c.kind == unjudged:
		case !inPeriod:
			b.late++
			if c.kind == witnessing || c.release != nil && c.release.Err() != nil && c.answered == 0 && e.outcome != Success {
				b.refused[refusalIndex(ReasonReleased)].Add(1)
			}
			if e.outcome == Success && !slow {
				b.testify(c, now, took)
			}
		case c.judged:
			if !b.toldToWait(p, now, e) {
				b.reapplyRules(p, now)
			}
		default:
			if e.outcome == Failure {
				b.cause = cmp.Or(e.err, errFailed)
			}
			if c.kind == onTrial {
				b.judgeTrial(p, c, now, took, e)
			} else {
				b.judge(p, c, now, took, slow, e)
			}
		}
	})
}

// count adds a call to the statistics. good says that the window counts it.
func (b *Breaker) count(o Outcome, good, slow bool, took int64) {
	switch {
	case slow:
		b.slowCalls++
	case o == Failure:
		b.failed++
	case o == Ignored:
		b.ignored++
		return
	case good:
		b.good.add(took)
		return
	default:
		b.otherGood++
	}
	b.rest.add(took)
}
