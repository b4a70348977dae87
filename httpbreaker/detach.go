package httpbreaker

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/recloser-go/recloser"
)

// detached is a request that is sent on a goroutine of its own, see
// Transport.Detach. Either its caller is there when the answer comes and settles
// it, or he was released before and the goroutine does.
type detached struct {
	t      *Transport
	x      *exchange
	permit *recloser.Permit
	out    *http.Request
	answer chan answered // for the caller

	mu      sync.Mutex
	settled bool // it is decided who settles it
}

// answered is what the base transport came to.
type answered struct {
	resp     *http.Response
	err      error
	returned bool // else it panicked, or called runtime.Goexit
	panicked any
}

// detachedContext is the context of a request that its caller may leave. As long as
// he has not, it ends as his does.
type detachedContext struct {
	context.Context // without the caller's end
	caller          context.Context
	followed        atomic.Bool // it ended with the caller's
}

func (c *detachedContext) Err() error {
	err := c.Context.Err()
	if err != nil && c.followed.Load() {
		return c.caller.Err() // a deadline says other than a cancel
	}
	return err
}

func (t *Transport) detaches(caller Caller, permit *recloser.Permit) bool {
	return t.Detach && caller == nil && t.releases(permit)
}

// sendDetached is send for a request that need not wait for the base transport.
func (t *Transport) sendDetached(x *exchange, permit *recloser.Permit) (*http.Response, error) {
	d := &detached{t: t, x: x, permit: permit, answer: make(chan answered, 1)}
	x.wait = &x.waiting
	d.out = t.startWait(x.wait, x.req, permit)
	go d.run()
	released := permit.Released()
	select {
	case a := <-d.answer:
		return d.hand(a)
	case <-released.Done():
	}
	if err := context.Cause(released); d.release(err) {
		return nil, err
	}
	return d.hand(<-d.answer)
}

// run sends the request.
func (d *detached) run() {
	var a answered
	defer func() {
		if !a.returned {
			a.panicked = recover()
		}
		if d.settles() {
			d.answer <- a
			return
		}
		d.close(a)
	}()
	a.resp, a.err = d.t.base().RoundTrip(d.out) //nolint:bodyclose // who settles it sees to that
	a.returned = true
}

// settles reports whether the caller settles it: he is still there.
func (d *detached) settles() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.settled
	d.settled = true
	return !was
}

// hand settles the exchange for the caller, as if he had sent the request himself.
func (d *detached) hand(a answered) (*http.Response, error) {
	if a.returned {
		return d.t.settle(d.x, d.out, a.resp, a.err)
	}
	d.x.broken()
	if a.panicked == nil {
		runtime.Goexit()
	}
	panic(a.panicked)
}

// close settles the exchange where the caller has gone. Nobody sees the answer.
func (d *detached) close(a answered) {
	if !a.returned {
		d.x.broken() // there is nobody to panic at
		return
	}
	if resp, _ := d.t.settle(d.x, d.out, a.resp, a.err); resp != nil {
		_ = resp.Body.Close()
	}
}

// release lets the caller go, unless the answer was faster. A witness runs on
// without him, for as long as it is not slow.
func (d *detached) release(err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.settled {
		return false
	}
	d.settled = true
	w := d.x.wait
	if w.sentWholly() && d.permit.Witness() && w.unfollow() {
		w.watchWitness()
	} else {
		w.cutShort(&Cut{Outcome: recloser.Ignored, Err: err})
	}
	return true
}

// detach returns the request to send, which follows its caller until unfollow.
func (w *wait) detach(req *http.Request) *http.Request {
	ctx := &detachedContext{Context: w.ctx, caller: req.Context()}
	w.follow = context.AfterFunc(ctx.caller, func() {
		ctx.followed.Store(true)
		w.cancel(context.Cause(ctx.caller))
	})
	out := req.WithContext(ctx)
	out.Header = maps.Clone(req.Header) // the caller may go and use his own again
	return out
}

// unfollow has a detached request go on when its caller's context is done; false
// if that is so already.
func (w *wait) unfollow() bool { return w.follow == nil || w.follow() }

func (w *wait) sentWholly() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}
