package recloser

import (
	"cmp"
	"context"
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

// act does f under the lock, with everything due done before and planned after.
// f gets the time: the clock was read before the lock was there, and what
// happened meanwhile must not be later than what happens now.
func (b *Breaker) act(now int64, f func(now int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.settle(now)
	f(now)
	b.settle(now)
}

// admitSome decides on a call that does not simply pass. The period may have
// changed since it was read; then the new one decides.
func (b *Breaker) admitSome(p *period, now int64, c *call) (ok bool) {
	if p.state == Open || p.state == Isolated {
		return false
	}
	b.act(now, func(now int64) {
		p := b.cur.Load()
		switch r := p.ramp.Load(); {
		case p.state == HalfOpen:
			ok = b.takeTrial(p, now, c)
		case r != nil:
			ok = b.takeRamped(p, r, now)
		case p.state == Closed:
			ok = p.running.enter(now)
		}
		c.begin(p, now)
	})
	return ok
}

// finish books the end of a call.
func (b *Breaker) finish(c *call, now int64, e ending) {
	b.act(now, func(now int64) {
		p := c.period
		inPeriod := b.cur.Load() == p && c.kind != unjudged
		switch {
		case c.kind == onTrial:
			if inPeriod = p.takeBack(c.trial); !inPeriod {
				b.adrift.Add(-1)
			}
		case c.kind == unjudged || c.answered != 0 || c.sending:
			b.adrift.Add(-1)
		case !p.running.leave(c.clock):
			b.adrift.Add(-1)
			c.judged = b.takeOut(p)
		}
		if e.unmade {
			b.mindLeft(p, now)
			return
		}
		answered := c.answered
		if answered == 0 {
			answered = now
		}
		took := answered - c.clock
		slow := c.judged || took >= b.slowAfter && !c.sending
		b.count(e.outcome, inPeriod && !slow, slow, took)
		switch {
		case c.kind == unjudged:
		case !inPeriod:
			b.late++
			if c.answered == 0 && e.outcome != Success && p.released != nil && p.released.Err() != nil {
				b.refused[refusalIndex(ReasonReleased)].Add(1)
			}
		case c.judged:
			if !b.toldToWait(p, now, e) {
				b.mindLeft(p, now)
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

// judge gives the verdict on a call of a closed period.
func (b *Breaker) judge(p *period, c *call, now, took int64, slow bool, e ending) {
	switch {
	case b.toldToWait(p, now, e):
	case slow:
		b.cause = slowError{b.SlowCall}
		b.badCalls(p, now, c.start, 1, false)
	case e.outcome == Failure:
		b.badCalls(p, now, c.start, 1, true)
	case e.outcome == Ignored:
		if b.impatient(c, now, e) && p.goodEnd.Load() < c.start {
			b.cause = errGaveUp
			b.extendRun(p, now, c.start, 1)
			p.window.slices[p.window.head].gaveUp++
		}
		b.mindLeft(p, now)
	default:
		raise(&p.goodStart, c.start)
		raise(&p.goodEnd, now)
		raise(&p.longest, took)
		p.run, p.throttled = run{}, 0
		if r := p.ramp.Load(); r != nil && r.good(b, now, took) {
			p.ramp.Store(nil)
		}
		b.mind(p, now)
	}
}

// mindLeft asks the rules after an end that counts nowhere: it may be the one
// they were waiting for.
func (b *Breaker) mindLeft(p *period, now int64) {
	if b.cur.Load() == p && p.state == Closed {
		b.mind(p, now)
	}
}

// impatient reports whether the caller gave up late enough for it to say
// something about the dependency.
func (b *Breaker) impatient(c *call, now int64, e ending) bool {
	return e.gaveUp && b.slow > 0 && c.answered == 0 && !c.sending && now-c.clock >= b.slow/2
}

// toldToWait opens the breaker for as long as the dependency asks, if it does.
func (b *Breaker) toldToWait(p *period, now int64, e ending) bool {
	if e.wait == nil || e.wait.After <= 0 || b.RetryAfterMax <= 0 {
		return false
	}
	if e.wait.Throttled {
		if p.throttled++; p.throttled < 2 {
			return false
		}
	}
	b.cause = e.err
	b.open(now, now+int64(min(e.wait.After, b.RetryAfterMax)), ReasonToldToWait, Transition{Counts: b.countsAt(p, now)})
	return true
}

// doReleasable is the rest of Do for calls that a trip cancels.
func (b *Breaker) doReleasable(ctx context.Context, c *call, fn func(context.Context) error) (err error) {
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if released := c.period.released; released != nil {
		stop := context.AfterFunc(released, func() { cancel(context.Cause(released)) })
		defer stop()
	}
	returned := false
	defer func() {
		if !returned {
			b.finish(c, b.now(), ending{outcome: Failure, err: errPanicked})
		}
	}()
	err = fn(callCtx)
	returned = true
	// Asked before the end is booked: that may trip the breaker, but releases others.
	var released *OpenError
	if err != nil && ctx.Err() == nil {
		errors.As(context.Cause(callCtx), &released)
	}
	now := b.now()
	b.finish(c, now, b.classify(ctx, c, now, err))
	if released != nil {
		return released
	}
	return err
}
