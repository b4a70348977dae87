package httpbreaker

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"sync/atomic"
)

// answered is what became of a request that was sent on a goroutine of its own.
type answered struct {
	resp     *http.Response
	err      error
	returned bool // else it panicked, or called runtime.Goexit
	panicked any
}

// hand does on the caller's goroutine what happened on the other one.
func (a answered) hand() (*http.Response, error) {
	if a.returned {
		return a.resp, a.err
	}
	if a.panicked == nil {
		runtime.Goexit()
	}
	panic(a.panicked)
}

// sendDetached is sendOut on a goroutine of its own: a caller whom a trip releases
// leaves it behind, see Transport.Detach.
func (t *Transport) sendDetached(x *exchange, out *http.Request) (*http.Response, error) {
	released := x.wait.permit.Released()
	answer := make(chan answered, 1) // for one who may have gone
	go func() {
		var a answered
		defer func() {
			if !a.returned {
				a.panicked = recover()
			}
			answer <- a
		}()
		a.resp, a.err = t.sendOut(x, out) //nolint:bodyclose // it is the caller's
		a.returned = true
	}()
	select {
	case a := <-answer:
		return a.hand()
	case <-released.Done():
	}
	if err := context.Cause(released); x.wait.release(err) {
		return nil, err
	}
	return (<-answer).hand()
}

// detachedContext is the context of a request whose caller may leave. As long as he
// has not, it ends as his does.
type detachedContext struct {
	context.Context // without the caller's end
	caller          context.Context
	followed        atomic.Bool // it ended with the caller's
}

// Err implements context.Context.
func (c *detachedContext) Err() error {
	err := c.Context.Err()
	if err != nil && c.followed.Load() {
		return c.caller.Err() // a deadline says other than a cancel
	}
	return err
}

// unfollow has a detached request not end with its caller's context any more; false if
// it has. It is the Caller of such a request.
type unfollow func() bool

// Leave implements Caller.
func (u unfollow) Leave(error) bool { return u() }

// detach returns the request to send, which follows its caller until he leaves.
func (w *wait) detach(req *http.Request) *http.Request {
	ctx := &detachedContext{Context: w.ctx, caller: req.Context()}
	w.unfollow = context.AfterFunc(ctx.caller, func() {
		ctx.followed.Store(true)
		w.cancel(context.Cause(ctx.caller))
	})
	w.caller = w.unfollow
	out := req.WithContext(ctx)
	out.Header = maps.Clone(req.Header) // the caller may go and use his own again
	return out
}
