package recloser

import "time"

// sending stops the slow clock of a call, unless it is slow already.
func (b *Breaker) sending(c *call, now int64) {
	b.act(now, func(now int64) {
		if now-c.clock >= c.limit {
			return
		}
		p := c.period
		c.sending = true
		switch {
		case c.kind == onTrial:
			b.clockTrial(c.trial, now)
			c.trial.clock, c.trial.sending = c.clock, true // answered before Sent, it took since then
		case c.kind == unjudged:
		case c.ring.leave(c.clock):
			b.adrift.Add(1)
			b.reapplyRules(p, now)
		default:
			if b.takeOut(c) == wasSuspect {
				b.reapplyRules(p, now)
			}
		}
	})
}

// sent starts the slow clock of a call anew.
func (b *Breaker) sent(c *call, now int64) {
	b.act(now, func(now int64) {
		p := c.period
		c.sending, c.clock, c.limit = false, now, b.rules().slowAfter()
		switch {
		case c.kind == onTrial:
			b.clockTrial(c.trial, now)
		case c.kind == tracked && b.cur.Load() == p:
			if r := p.ring(); r.enter(now) {
				c.ring, c.limit = r, r.limit
				b.adrift.Add(-1)
			}
		}
	})
}

// answer notes that the call is answered.
func (b *Breaker) answer(c *call, now int64) {
	p := c.period
	if now >= p.due.Load() {
		b.look(now)
	}
	c.answered = max(now, 1)
	switch {
	case c.kind == onTrial:
		b.act(now, func(now int64) { b.answerTrial(c.trial, now) })
	case c.kind == unjudged || c.sending:
	case c.ring.leave(c.clock):
		b.adrift.Add(1)
		if slow := now-c.clock >= c.limit; slow || now >= p.quiet.Load() {
			b.act(now, func(now int64) { b.judgeAnswer(c, now, slow) })
		}
	default:
		slow := now-c.clock >= c.limit
		b.act(now, func(now int64) {
			switch b.takeOut(c) {
			case wasOverdue:
				c.judged = true
			case wasSuspect:
				b.judgeAnswer(c, now, slow)
			case wasOut:
			}
		})
	}
}

// judgeAnswer asks the rules what they say to an answer, which may be slow.
func (b *Breaker) judgeAnswer(c *call, now int64, slow bool) {
	c.judged = slow
	if slow && b.cur.Load() == c.period {
		b.cause = slowError{time.Duration(c.limit)}
		b.badCalls(c.period, now, c.start, 1, false)
		return
	}
	b.reapplyRules(c.period, now)
}

// was is what a call was that found itself adrift.
type was uint8

const (
	wasOut     was = iota // its period is over, or nobody judges it
	wasSuspect            // nothing is decided yet
	wasOverdue            // it is bad
)

// takeOut takes a call that found itself adrift off those that are.
func (b *Breaker) takeOut(c *call) was {
	switch p := c.period; {
	case b.cur.Load() != p:
	case c.limit == never:
		p.out--
	case p.absolve(c):
		return wasSuspect
	default:
		p.overdue--
		return wasOverdue
	}
	return wasOut
}
