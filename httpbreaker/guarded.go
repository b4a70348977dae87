package httpbreaker

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// GuardedTransport is a Transport with guards in the place of breakers: it also
// limits requests, sends them again when they failed, and times them out. Fields
// must not be changed after the first request. It is safe for concurrent use.
//
// A request with all its attempts is one call of the guard. It has answered with
// the last attempt's response headers, and both timeouts end there: no body is
// ever cut short. It has ended with the response's body: till then it takes a slot
// of the bulkhead, as reading it may be most of the work. So the body must be read
// to its end or closed, here as with every RoundTripper. Once the request's context
// is done the slot is free in any case.
//
// A request is sent again after a transport error, and after a response of 502,
// 503, 504, or of 429 that has a Retry-After, in which case the guard keeps to
// the time that 503 and 429 name. That is so if it is idempotent: GET, HEAD,
// OPTIONS, TRACE, PUT or DELETE, or with a header Idempotency-Key; or if
// guard.Retry.Unmarked says so of all. A body that cannot be had anew, as
// http.Request.GetBody is nil, is not sent again. If there are no more attempts,
// or the retry budget is used up, the last response goes to the caller as it is.
//
// RoundTrip returns the errors of a Transport and those of guard.Guard.Do.
type GuardedTransport struct {
	// Base sends the requests. Default: http.DefaultTransport.
	Base http.RoundTripper

	// Guard returns the guard of a request; nil lets the request pass unguarded. There
	// is no default: without this function nothing is guarded. See Fixed.
	Guard func(*http.Request) *guard.Guard

	// Classify says what a response means: see Transport.Classify. What it does not
	// leave to the rules of this package is not sent again, unless it is a Failure
	// with a status that is.
	Classify func(*http.Response) recloser.Outcome

	// Detach sends each attempt on a goroutine of its own: see Transport.Detach. A
	// request that runs on without its caller keeps its slot of the bulkhead.
	Detach bool

	// KeepOnTrip lets an attempt wait on for its response when the breaker trips: see
	// Transport.KeepOnTrip.
	KeepOnTrip bool

	once  sync.Once
	plain Transport // sends each attempt
}

// RoundTrip implements http.RoundTripper.
func (t *GuardedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.once.Do(func() {
		t.plain = Transport{Base: t.Base, Classify: t.Classify, Detach: t.Detach, KeepOnTrip: t.KeepOnTrip}
	})
	r := &guarded{plain: &t.plain, req: req, ctx: req.Context(), cancel: func(error) {}}
	if t.Guard != nil {
		r.guard = t.Guard(req)
	}
	if r.guard == nil {
		return r.plain.base().RoundTrip(req)
	}
	var marks []guard.Mark
	if idempotent(req) {
		marks = []guard.Mark{guard.Idempotent}
	}
	call, err := r.guard.Allow(req.Context(), marks...)
	if err != nil {
		closeBody(req.Body)
		return nil, err
	}
	r.call = call
	return r.run()
}

// idempotent reports whether a request may be made twice.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return len(req.Header["Idempotency-Key"]) > 0
}

// guarded is one request on its way through its guard.
type guarded struct {
	plain *Transport // sends each attempt
	guard *guard.Guard
	call  *guard.Call
	req   *http.Request // the caller's

	ctx    context.Context // of the requests that go out
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	expire *time.Timer // ends ctx when the call times out; nil: it does not
	late   bool        // it has
	over   bool        // it is not to any more
}

// run makes the attempts.
func (r *guarded) run() (*http.Response, error) {
	out := r.req
	if deadline, ok := r.call.Deadline(); ok {
		r.ctx, r.cancel = context.WithCancelCause(r.ctx)
		r.expireAfter(time.Until(deadline))
		out = r.req.WithContext(r.ctx)
	}
	timeout, tooLate := r.guard.Config().AttemptTimeout, func() error { return r.timedOut(true) }
	var resp *http.Response
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			if resp != nil {
				closeBody(resp.Body)
			}
			r.stopTimer()
			r.cancel(nil)
			r.call.End(recloser.Failure)
		}
	}()
	for {
		a := &attempt{guarded: r, x: exchange{req: out, waiting: wait{timeout: timeout, tooLate: tooLate}}}
		a.x.permit = a
		var err error
		resp, err = r.plain.send(&a.x, r.call.Permit())
		next, err := r.again(a, resp, err)
		if next == nil {
			returned = true
			return r.finish(a, resp, err)
		}
		drop(resp)
		out, resp = next, nil
	}
}

func (r *guarded) expireAfter(timeout time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := r.call.Permit().Age()
	r.expire = time.AfterFunc(timeout, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.over {
			return
		}
		if rest := left(timeout, from, r.call.Permit().Age()); rest > 0 { // see wait.timeIsUp
			r.expire.Reset(rest)
			return
		}
		r.late = true
		r.cancel(&Cut{Err: r.timedOut(false)})
	})
}

func (r *guarded) timedOut(attempt bool) error {
	cfg := r.guard.Config()
	timeout := &guard.TimeoutError{Name: cfg.Breaker.Name, After: cfg.Timeout}
	if attempt {
		timeout.Attempt, timeout.After = true, cfg.AttemptTimeout
	}
	return timeout
}

// again returns the request for another attempt, after having waited as long as
// is due; or nil if there is none, with the error for the caller.
func (r *guarded) again(a *attempt, resp *http.Response, err error) (*http.Request, error) {
	if !a.worthRetrying(resp) {
		return nil, err
	}
	next, again := r.req.WithContext(r.ctx), false
	if hasBody(r.req) {
		if r.req.GetBody == nil {
			return nil, err
		}
		body, failed := r.req.GetBody()
		if failed != nil {
			return nil, err
		}
		next.Body = body
		defer func() {
			if !again { // also if guard.Retry.If panics
				closeBody(body)
			}
		}()
	}
	why := err
	if resp != nil {
		why = a.err
	}
	why = r.call.Again(why)
	if again = why == nil; again {
		return next, nil
	}
	if resp != nil {
		return nil, nil
	}
	return nil, why
}

// finish hands out what the last attempt gave.
func (r *guarded) finish(a *attempt, resp *http.Response, err error) (*http.Response, error) {
	if inTime := r.stopTimer(); !inTime && resp != nil { // at the last moment, but the body is lost
		closeBody(resp.Body)
		err = r.timedOut(false)
		r.call.Done(err)
		return nil, err
	}
	a.commit(resp != nil && !isEmpty(resp.Body))
	if resp != nil && resp.Request == a.x.req {
		resp.Request = r.req
	}
	return resp, err
}

// stopTimer ends the timeout of the call; false if it is over.
func (r *guarded) stopTimer() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.expire != nil {
		r.expire.Stop()
	}
	return !r.late
}

// dropTime and dropSize bound what is read of a response that is dropped, so
// that its connection can be used again.
const (
	dropTime = 50 * time.Millisecond
	dropSize = 4 << 10
)

func drop(resp *http.Response) {
	if resp == nil || isEmpty(resp.Body) {
		return
	}
	slow := time.AfterFunc(dropTime, func() { closeBody(resp.Body) })
	defer slow.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, dropSize)
	closeBody(resp.Body)
}
