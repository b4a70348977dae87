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
			b.takeOut(c)
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
				if was := c.release(); was != r.release {
					c.trial = &trial{release: was}
				}
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
	case !c.ring.leave(c.clock):
		b.act(now, func(int64) { c.judged = b.takeOut(c) })
	default:
		b.adrift.Add(1)
		c.judged = now-c.clock >= c.limit
		if c.judged || now >= p.quiet.Load() {
			b.act(now, func(now int64) {
				if c.judged && b.cur.Load() == p {
					b.cause = slowError{time.Duration(c.limit)}
					b.badCalls(p, now, c.start, 1, false)
					return
				}
				b.reapplyRules(p, now)
			})
		}
	}
}

// takeOut takes a call that found itself adrift off those that are out, and
// reports whether it was overdue: not if its period is over, or nobody judges.
func (b *Breaker) takeOut(c *call) (overdue bool) {
	if b.cur.Load() != c.period {
		return false
	}
	if c.limit == never {
		c.period.out--
		return false
	}
	c.period.overdue--
	return true
}
