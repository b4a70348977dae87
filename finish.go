package recloser

import (
	"context"
	"errors"
	"time"
)

// totals are the statistics that the closed path does not need. The breaker's
// lock guards them.
type totals struct {
	otherGood, failed, slowCalls, ignored, late uint64
}

// ending is what is known of a call's end.
type ending struct {
	outcome Outcome // never Default
	err     error
	gaveUp  bool // the caller cancelled, or his own deadline passed
	unmade  bool // the call never reached the dependency
	wait    *WaitError
}

var errPanicked = errors.New("the call panicked")

// ownDeadline is how long a call must have run for its caller's own deadline
// to be the dependency's failure, where no slow rule says it.
const ownDeadline = int64(time.Second)

// classify says what err means for a call that began at start.
func (b *Breaker) classify(ctx context.Context, start, now int64, err error) ending {
	if err == nil {
		return ending{outcome: Success}
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ending{outcome: Ignored, err: err, gaveUp: true}
	case deadlinePassed(ctx, err):
		limit := ownDeadline
		if b.slow > 0 {
			limit = b.slow
		}
		if now-start >= limit {
			return ending{outcome: Failure, err: err}
		}
		return ending{outcome: Ignored, err: err, gaveUp: true}
	case errors.Is(err, context.Canceled), errors.Is(err, ErrOpen):
		return ending{outcome: Ignored, err: err}
	}
	var wait *WaitError
	if errors.As(err, &wait) {
		if wait.Throttled {
			return ending{outcome: Ignored, err: err, wait: wait}
		}
		return ending{outcome: Failure, err: err, wait: wait}
	}
	return ending{outcome: b.ask(err), err: err}
}

// deadlinePassed reports whether the caller's own deadline has passed. A call
// may say so before the context's timer does.
func deadlinePassed(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	d, ok := ctx.Deadline()
	return ok && errors.Is(err, context.DeadlineExceeded) && time.Until(d) <= 0
}

// ask asks Config.Classify.
func (b *Breaker) ask(err error) (o Outcome) {
	if b.Classify == nil {
		return Failure
	}
	defer func() {
		if recover() != nil || o == Default || o > Ignored {
			o = Failure
		}
	}()
	return b.Classify(err)
}

// act does f under the lock, with everything due done before and planned after.
func (b *Breaker) act(now int64, f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle(now)
	f()
	b.settle(now)
}

// admitSome decides on a call that does not simply pass. The period may have
// changed since it was read; then the new one decides.
func (b *Breaker) admitSome(p *period, now int64, c *call) (ok bool) {
	if p.state == Open || p.state == Isolated {
		return false
	}
	b.act(now, func() {
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

// sending stops the slow clock of a call.
func (b *Breaker) sending(c *call, now int64) {
	p := c.period
	b.act(now, func() {
		switch {
		case c.kind == onTrial:
			c.sending = b.leaseTrial(p, c.trial, 0)
		case c.kind == tracked && p.running.leave(c.clock):
			b.adrift.Add(1)
			c.sending = true
			b.mindLeft(p, now)
		}
	})
}

// sent starts the slow clock of a call anew.
func (b *Breaker) sent(c *call, now int64) {
	p := c.period
	b.act(now, func() {
		c.sending, c.clock = false, now
		switch {
		case c.kind == onTrial:
			b.clockTrial(p, c.trial, now)
		case p.running.enter(now):
			b.adrift.Add(-1)
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
		b.act(now, func() { b.leaseTrial(p, c.trial, c.answered) })
	case c.kind == unjudged || c.sending:
	case !p.running.leave(c.clock):
		b.act(now, func() { c.judged = b.wasOverdue(p) })
	default:
		b.adrift.Add(1)
		c.judged = now-c.clock >= b.slowAfter
		if c.judged || p.busy.Load() {
			b.act(now, func() { b.minded(p, c, now) })
		}
	}
}

// wasOverdue takes a call that found itself adrift off those that are out, and
// reports whether it was overdue: not if its period is over, or nobody judges.
func (b *Breaker) wasOverdue(p *period) bool {
	if b.cur.Load() != p {
		return false
	}
	p.out--
	return b.slow > 0
}

// minded has the rules look at a call that was answered just now.
func (b *Breaker) minded(p *period, c *call, now int64) {
	switch {
	case !c.judged:
		b.mindLeft(p, now)
	case b.cur.Load() == p:
		b.cause = slowError{b.SlowCall}
		b.badCalls(p, now, c.start, 1, false)
	}
}

// finish books the end of a call.
func (b *Breaker) finish(c *call, now int64, e ending) {
	b.act(now, func() {
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
			c.judged = b.wasOverdue(p)
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
		case c.judged:
			if !b.toldToWait(p, now, e) {
				b.mindLeft(p, now)
			}
		default:
			if e.outcome == Failure {
				b.cause = e.err
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
	case o == Failure:
		b.failed++
	case slow:
		b.slowCalls++
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
	case e.outcome == Failure:
		b.badCalls(p, now, c.start, 1, true)
	case slow:
		b.cause = slowError{b.SlowCall}
		b.badCalls(p, now, c.start, 1, false)
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
	now := b.now()
	b.finish(c, now, b.classify(ctx, c.start, now, err))
	var open *OpenError
	if err != nil && ctx.Err() == nil && errors.As(context.Cause(callCtx), &open) {
		return open
	}
	return err
}
