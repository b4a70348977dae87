package httpbreaker

import (
	"context"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser"
)

// detached is a request that is sent on a goroutine of its own, see
// Transport.Detach. Either its caller is there when the answer comes and settles
// it, or he was released before and the goroutine does.
type detached struct {
	t       *Transport
	x       *exchange
	permit  *recloser.Permit
	out     *http.Request
	settles atomic.Bool   // it is decided who
	answer  chan answered // for the caller
	away    chan error    // the caller goes, with that
	decided chan struct{} // closed once he has gone, and what is to become of the request
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

func (t *Transport) detaches(permit *recloser.Permit) bool { return t.Detach && t.releases(permit) }

// sendDetached is send for a request that need not wait for the base transport.
func (t *Transport) sendDetached(x *exchange, permit *recloser.Permit) (*http.Response, error) {
	d := &detached{t: t, x: x, permit: permit, answer: make(chan answered, 1), away: make(chan error, 1), decided: make(chan struct{})}
	x.wait, d.out = t.startWait(x.req, permit)
	released := permit.Released()
	x.wait.stop = context.AfterFunc(released, func() { d.release(context.Cause(released)) })
	go d.run()
	select {
	case a := <-d.answer:
		return d.hand(a)
	case err := <-d.away:
		return nil, err
	}
}

// run sends the request.
func (d *detached) run() {
	var a answered
	defer func() {
		if !a.returned {
			a.panicked = recover()
		}
		if d.settles.CompareAndSwap(false, true) {
			d.answer <- a
			return
		}
		<-d.decided
		d.close(a)
	}()
	a.resp, a.err = d.t.base().RoundTrip(d.out) //nolint:bodyclose // who settles it sees to that
	a.returned = true
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

// release lets the caller go. A witness runs on without him, for as long as it is
// not slow.
func (d *detached) release(err error) {
	if !d.settles.CompareAndSwap(false, true) {
		return // the answer was faster
	}
	defer close(d.decided)
	w := d.x.wait
	if w.sentWholly() && d.permit.Witness() && w.unfollow() {
		slow := &Cut{Outcome: recloser.Ignored, Err: errSlowWitness}
		w.expire = time.AfterFunc(d.permit.SlowIn(), func() { w.cutShort(slow) })
	} else {
		w.cutShort(&Cut{Outcome: recloser.Ignored, Err: err})
	}
	d.away <- err
}
