package guard

import (
	"context"
	"errors"
	"time"

	"github.com/recloser-go/recloser"
)

// call is one call that has a slot, on its way through the breaker with all its
// attempts.
type call struct {
	*Guard
	ctx      context.Context // the caller's own: the outcome depends on it
	callCtx  context.Context // the same with the guard's timeout, and done when a trip releases the call
	attempts int
	fn       func(context.Context) error
	seen     lastSeen
}

// run makes the call if the breaker lets it through: one admission and one
// outcome, whatever the number of attempts.
func (c *call) run() error {
	c.seen.Context = c.ctx
	permit, err := c.breaker.Allow(&c.seen)
	if err != nil {
		return err
	}
	defer permit.End(recloser.Failure) // of a panic or runtime.Goexit; else it has ended before
	if released := permit.Released(); released != nil {
		ctx, cancel := context.WithCancelCause(c.callCtx)
		defer cancel(nil)
		go func() { // for want of a way to make one context of two without it
			select {
			case <-released:
				cancel(permit.ReleasedError())
			case <-ctx.Done():
			}
		}()
		c.callCtx = ctx
	}
	if permit.Trial() && !c.cfg.Breaker.Shadow {
		c.attempts = 1
	}
	err, verdict := c.try(&permit)
	var refused *recloser.OpenError
	if err != nil && c.ctx.Err() == nil && errors.As(context.Cause(c.callCtx), &refused) {
		err = refused
	}
	permit.Done(verdict)
	return err
}

// try makes the attempts. It returns the error for the caller and the one for
// the breaker.
func (c *call) try(permit *recloser.Permit) (err, verdict error) {
	for n := 1; ; n++ {
		err, verdict = c.attempt()
		if err == nil || n >= c.attempts || c.callCtx.Err() != nil || !c.worthRetrying(err) {
			return err, verdict
		}
		wait, ok := c.backoff(n, told(err))
		if !ok || !c.fits(wait) || !c.passing() {
			return err, verdict
		}
		if _, ok := c.budget.take(c.clock.Now()); !ok {
			return &BudgetError{Name: c.breaker.Name(), Err: err}, verdict
		}
		permit.Sending() // a wait is not slow: the slow clock stands still
		c.clock.Wait(c.callCtx, wait, nil)
		if c.callCtx.Err() != nil || !c.passing() {
			c.budget.put(1)
			c.seen.before = true
			return err, verdict
		}
		permit.Sent()
	}
}

// attempt calls the function once. A timeout of the guard is a failure for the
// breaker even if the function did not heed it and ended well.
func (c *call) attempt() (err, verdict error) {
	ctx := c.callCtx
	if c.cfg.AttemptTimeout > 0 {
		timed, cancel := c.clock.WithTimeout(ctx, c.cfg.AttemptTimeout)
		defer cancel()
		ctx = timed
	}
	err = c.fn(ctx)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || c.ctx.Err() != nil {
		return err, err
	}
	timeout := &TimeoutError{Name: c.breaker.Name(), After: c.cfg.Timeout}
	if c.callCtx.Err() == nil {
		timeout.Attempt, timeout.After = true, c.cfg.AttemptTimeout
	}
	switch {
	case err == nil:
		return nil, timeout
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return timeout, timeout
	default:
		return err, err
	}
}

// worthRetrying reports whether err is of a kind that another attempt may mend.
func (c *call) worthRetrying(err error) bool {
	switch {
	case isRefusal(err), errors.Is(err, recloser.ErrOpen), errors.Is(err, ErrBudget), errors.Is(err, context.Canceled):
		return false
	default:
		return c.cfg.Retry.If == nil || c.cfg.Retry.If(err)
	}
}

// fits reports whether there is time left for an attempt after the wait.
func (c *call) fits(wait time.Duration) bool {
	deadline, ok := c.callCtx.Deadline()
	return !ok || c.clock.Now().Add(wait).Before(deadline)
}

// passing reports whether the breaker would let more than trials through.
func (c *call) passing() bool {
	s := c.breaker.State()
	return s == recloser.Closed || s == recloser.HeldClosed || c.cfg.Breaker.Shadow && s != recloser.Isolated
}

// told returns the time that the dependency asked to be left alone for.
func told(err error) time.Duration {
	var wait *recloser.WaitError
	if errors.As(err, &wait) {
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
