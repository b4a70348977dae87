package recloser

import "time"

// ramp is the slow start of a closed period that follows trials: a server that
// comes back cold would be knocked over again by full traffic. It limits how
// many calls run at once. The breaker's lock guards it.
type ramp struct {
	limit       int   // calls that may run at once
	doubled     int   // limit at the last doubling
	refused     bool  // somebody, since then
	second      int64 // start of the running second
	secondLimit int   // limit at its start
	slowAfter   int64 // a good call slower than that lowers the limit
	notBefore   int64 // it does not end
}

func newRamp(b *Breaker, at int64) *ramp {
	// refused: the first doubling has none before it, and must not end the slow start.
	return &ramp{limit: b.cfg().Trials, doubled: b.cfg().Trials, refused: true, second: at, secondLimit: b.cfg().Trials, slowAfter: b.rampSlowAfter()}
}

func (b *Breaker) rampSlowAfter() int64 {
	slowAfter := int64(time.Second / 2)
	if b.rules().slow() > 0 {
		slowAfter = b.rules().slow() / 4
	}
	return max(slowAfter, 2*b.slowestTrial)
}

// takeRamped lets a call in as long as the limit allows it, and nobody while a
// run is long enough to trip: only the calls on the way can still break it.
func (b *Breaker) takeRamped(p *period, r *ramp, now int64, c *call) bool {
	if n := b.onTheWay(p); n >= int64(r.limit) || n > 0 && r.condemned(b, p) {
		r.refused = true
		return false
	}
	return c.enter(p, now)
}

// onTheWay returns how many calls of p are undecided. A call is, until it is
// answered, or overdue by the slow rule.
func (b *Breaker) onTheWay(p *period) int64 {
	n := p.running()
	if p.trouble != nil {
		n += p.out
		for i := range p.suspects {
			n += p.suspects[i].n
		}
	}
	return n
}

// condemned reports whether so many calls in a row were bad that the breaker
// trips, once the calls on the way are decided.
func (r *ramp) condemned(b *Breaker, p *period) bool {
	return b.cfg().Consecutive > 0 && p.run.length >= min(b.cfg().Consecutive, r.limit)
}

// good notes a good call and reports whether the slow start is over: the limit
// has doubled and nobody was refused for it.
func (r *ramp) good(b *Breaker, now, took int64) (over bool) {
	if took > r.slowAfter {
		r.limit = max(r.limit-1, b.cfg().Trials)
		return false
	}
	if now-r.second >= int64(time.Second) {
		r.second, r.secondLimit = now, r.limit
	}
	if r.limit < 2*r.secondLimit {
		r.limit++
	}
	if r.limit < 2*r.doubled {
		return false
	}
	over = !r.refused
	r.doubled, r.refused = r.limit, false
	return over
}

// endRamp ends the slow start when its time is up, unless it has not served its
// purpose: where calls take longer than that, it ends with nothing known.
func (b *Breaker) endRamp(p *period, at, _ int64) {
	r, w := p.ramp.Load(), b.sum(p, at)
	switch {
	case r.condemned(b, p): // the calls on the way had their time to break the run
		at = max(at, p.ruledAt)
		b.tripByRule(p, at, ReasonRun, w.counts(p.run.length))
	case b.goodIn(p) == 0 && w.bad() == 0 && b.onTheWay(p) > 0: // nobody has come back yet
		r.notBefore = at + max(at-p.since, int64(time.Second))
	default:
		p.ramp.Store(nil)
		b.setBusy(p, at)
	}
}
