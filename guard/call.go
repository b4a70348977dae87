package guard

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/safely"
)

// A Call is one call that the guard has let in and that its caller makes himself,
// see Guard.Allow. Its methods are for one goroutine at a time; only Done, End
// and Cancel may be called by several at once.
type Call struct {
	g        *Guard
	permit   recloser.Permit
	seen     lastSeen      // the caller's context
	attempts int           // how many are left, with the one that runs
	deadline time.Duration // of the call with all its attempts, as Guard.now; 0: none
	began    time.Duration // when the attempt that runs did
	answered time.Duration // 0: not yet
	ended    atomic.Bool
	first    timed // the first attempt's context: most calls need no other
}

// Allow lets in one call that the caller makes himself, for calls whose end comes
// after that of a function: a stream, a body to read. If the error is nil the
// call may be made, and its end must be reported by Done, End or Cancel; till
// then it takes a slot of the bulkhead. Otherwise it must not be made, and the error is
// one that Do gives when it does not call the function.
//
// The caller asks Again when an attempt has failed. He also sees to
// Config.AttemptTimeout and to Deadline himself.
func (g *Guard) Allow(ctx context.Context, marks ...Mark) (*Call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := g.now()
	if wait, ok := g.limit.Take(now); !ok {
		g.breaker.Check() // who is refused here does not get to the breaker, which judges by being asked
		return nil, &LimitError{Name: g.breaker.Name(), After: wait}
	}
	c := &Call{g: g, began: now}
	c.seen.Context = ctx
	if g.cfg.Timeout > 0 {
		c.deadline = now + g.cfg.Timeout
	}
	if err := c.enter(); err != nil {
		g.limit.Put(1)
		return nil, err
	}
	g.budget.Put(max(0, g.cfg.Retry.Budget))
	c.attempts = 1
	if g.retries(marks) && (!c.permit.Trial() || g.breaker.Config().Shadow) {
		c.attempts = g.cfg.Retry.Attempts
	}
	return c, nil
}

// enter takes a slot of the bulkhead and a permit of the breaker.
func (c *Call) enter() (err error) {
	g, ctx := c.g, c.seen.Context
	if !g.bulkhead.tryEnter() {
		g.breaker.Check()
		wait := g.cfg.Bulkhead.Wait
		if c.deadline != 0 {
			wait = min(wait, c.deadline-g.now())
		}
		if !g.bulkhead.enter(ctx, wait) {
			if err := ctx.Err(); err != nil {
				return err
			}
			return &BulkheadError{Name: g.breaker.Name(), Max: g.bulkhead.size()}
		}
		c.began = g.now()
	}
	if c.permit, err = g.breaker.Allow(&c.seen); err != nil {
		g.bulkhead.leave(sample{}, 0)
	}
	return err
}

// Permit is the call's permit of the breaker: to tell it when a request is being
// sent, to hear when a trip releases the call. The Call ends it. Who ends it before
// has the breaker know early how the call ends, and must end the Call all the same.
func (c *Call) Permit() *recloser.Permit { return &c.permit }

// Deadline returns when Config.Timeout is over for the call; false if it is off.
func (c *Call) Deadline() (deadline time.Time, ok bool) {
	if ok = c.deadline != 0; ok {
		deadline = c.g.base.Add(c.deadline)
	}
	return deadline, ok
}

// Again is asked about an attempt that failed with err. It waits for as long as
// it should and then returns nil if there is to be another attempt. Otherwise it
// returns what the call failed with: err, or a *BudgetError around it. A call that
// has Answered is not made again: its caller has seen a part of the answer.
func (c *Call) Again(err error) error {
	g, ctx := c.g, c.seen.Context
	if c.attempts <= 1 || c.answered != 0 || ctx.Err() != nil || !g.worthRetrying(err) {
		return err
	}
	c.attempts--
	wait, ok := g.backoff(g.cfg.Retry.Attempts-c.attempts, told(err))
	if !ok || !c.fits(wait) || !c.passing() {
		return err
	}
	if _, ok := g.budget.Take(g.now()); !ok {
		return &BudgetError{Name: g.breaker.Name(), Err: err}
	}
	c.permit.Sending() // a wait is not slow: the slow clock stands still
	g.clock.Wait(ctx, wait, c.permit.Released().Done())
	if ctx.Err() != nil || !c.passing() {
		g.budget.Put(1)
		c.seen.before = true
		return err
	}
	c.permit.Sent()
	c.began = g.now()
	return nil
}

// fits reports whether there is time left for an attempt after the wait.
func (c *Call) fits(wait time.Duration) bool {
	end := c.g.now() + wait
	callers, ok := c.seen.Deadline()
	return (!ok || c.g.base.Add(end).Before(callers)) && (c.deadline == 0 || end < c.deadline)
}

// passing reports whether the breaker would let more than trials through.
func (c *Call) passing() bool {
	s := c.g.breaker.State()
	return c.permit.Released().Err() == nil &&
		(s == recloser.Closed || s == recloser.HeldClosed || s != recloser.Isolated && c.g.breaker.Config().Shadow)
}

// Answered says that the dependency has begun to answer, as recloser.Permit.Answered
// does: the time that the call took is the time until then.
func (c *Call) Answered() {
	c.permit.Answered()
	c.answered = max(1, c.g.now())
}

// Done ends the call with the error that it gave, judged as Do judges it.
func (c *Call) Done(err error) {
	if !c.ended.Swap(true) {
		c.permit.Done(err)
		c.leave(c.kindOf(err))
	}
}

// End ends the call with an outcome that the caller knows best. Default counts as
// Success.
func (c *Call) End(o recloser.Outcome) {
	if !c.ended.Swap(true) {
		if o == recloser.Default {
			o = recloser.Success
		}
		c.permit.End(o)
		c.leave(kindOf(o))
	}
}

// Cancel takes the call back: it never reached the dependency. Nothing is counted,
// and its token and its slot are free again.
func (c *Call) Cancel() {
	if !c.ended.Swap(true) {
		c.permit.Cancel()
		c.g.limit.Put(1)
		c.leave(silent)
	}
}

// leave gives the slot back, and says what the call's end says about the limit.
func (c *Call) leave(kind sampleKind) {
	h, s, now := c.g.bulkhead, sample{began: c.began, kind: kind}, time.Duration(0)
	if h.adapts() {
		now = c.g.now()
		if s.took = c.answered - c.began; c.answered == 0 {
			s.took = now - c.began
		}
	}
	h.leave(s, now)
}

// kindOf says what a call that ended with err says about the limit.
func (c *Call) kindOf(err error) sampleKind {
	switch {
	case err == nil:
		return good
	case !c.g.bulkhead.adapts():
		return silent
	case c.seen.Err() != nil:
		return givenUp
	}
	if _, ok := safely.As[*recloser.WaitError](err); ok {
		return bad // also where the breaker ignores it: these are too many calls
	}
	return kindOf(c.permit.Outcome())
}

func kindOf(o recloser.Outcome) sampleKind {
	switch o {
	case recloser.Success:
		return good
	case recloser.Ignored:
		return silent
	case recloser.Default, recloser.Failure:
	}
	return bad
}

// told returns the time that the dependency asked to be left alone for.
func told(err error) time.Duration {
	if wait, ok := safely.As[*recloser.WaitError](err); ok && wait != nil {
		return max(0, wait.After)
	}
	return 0
}

// lastSeen is the caller's context as the breaker sees it. A caller who gives
// up while the guard waits for the next attempt does not undo the failure of the
// last one: the breaker then sees him as he was before.
type lastSeen struct {
	context.Context
	before bool
}

// Err returns the context's error.
func (l *lastSeen) Err() error {
	if l.before {
		return nil
	}
	return l.Context.Err()
}
