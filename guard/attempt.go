package guard

import (
	"context"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/safely"
)

// run makes the call: one outcome, whatever the number of attempts.
func (c *Call) run(fn func(context.Context) error) error {
	defer c.End(recloser.Failure) // of a panic or runtime.Goexit; else it has ended before
	for t := &c.first; ; t = new(timed) {
		err, verdict := c.attempt(t, fn)
		if err != nil {
			if err = c.Again(err); err == nil {
				continue
			}
			if released := context.Cause(c.permit.Released()); released != nil && c.seen.Context.Err() == nil {
				err = released
			}
		}
		c.Done(verdict)
		return err
	}
}

// attempt calls the function once. It returns the error for the caller and the
// one for the breaker: a timeout of the guard is a failure for the breaker even if
// the function did not heed it and ended well.
func (c *Call) attempt(t *timed, fn func(context.Context) error) (err, verdict error) {
	g, callers := c.g, c.seen.Context
	released := c.permit.Released()
	if released.Done() == nil && g.cfg.Timeout < 0 && g.cfg.AttemptTimeout < 0 {
		err = fn(callers)
		return err, err
	}
	t.Context, t.released, t.g, t.deadline = callers, released, g, c.deadline
	after, mine := g.cfg.Timeout, false
	if d := g.cfg.AttemptTimeout; d > 0 {
		if end := c.began + d; t.deadline == 0 || end < t.deadline {
			t.deadline, after, mine = end, d, true
		}
	}
	defer t.end()
	err = fn(t)
	if !t.expired() || callers.Err() != nil {
		return err, err
	}
	timeout := &TimeoutError{Name: g.breaker.Name(), After: after, Attempt: mine}
	if err == nil {
		return nil, timeout
	}
	if safely.Is(err, context.DeadlineExceeded, context.Canceled) {
		return timeout, timeout
	}
	return err, err
}

// worthRetrying reports whether err is of a kind that another attempt may mend.
func (g *Guard) worthRetrying(err error) bool {
	switch {
	case isRefusal(err), safely.Is(err, recloser.ErrOpen, ErrBudget, context.Canceled):
		return false
	default:
		return g.cfg.Retry.If == nil || g.cfg.Retry.If(err)
	}
}
