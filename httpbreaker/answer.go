package httpbreaker

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/recloser-go/recloser"
)

// answer is what a handler answers to one admitted request: the part of its
// ResponseWriter that sees when the answer begins and how it ends.
type answer struct {
	http.ResponseWriter
	m   *Middleware
	req *http.Request // the server's

	cancel context.CancelCauseFunc // nil: no trip releases the handler
	stop   func() bool             // ends the watch for a trip; nil like cancel

	returned bool // the handler did, and did not panic

	mu       sync.Mutex // for the permit too, except its end
	permit   recloser.Permit
	begun    bool  // the answer, or it is too late for one
	released error // why the handler was released; nil: it was not
	dropped  bool  // the handler was released and failed: the answer is ours
}

// newAnswer takes over a permit: see moved.
func newAnswer(m *Middleware, w http.ResponseWriter, r *http.Request, permit *recloser.Permit) *answer {
	return &answer{ResponseWriter: w, m: m, req: r, permit: moved(permit)}
}

// begin returns the request for the handler.
func (a *answer) begin() *http.Request {
	released := a.permit.Released()
	releases := released.Done() != nil
	if !releases && !hasBody(a.req) {
		return a.req
	}
	ctx := a.req.Context()
	if releases {
		ctx, a.cancel = context.WithCancelCause(ctx)
		a.stop = context.AfterFunc(released, func() { a.release(context.Cause(released)) })
	}
	r := a.req.WithContext(ctx)
	if hasBody(r) {
		r.Body = &uploadBody{ReadCloser: r.Body, a: a}
	}
	return r
}

func (a *answer) release(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		a.released = why
		a.cancel(why)
	}
}

// start notes that the answer begins, if it has not before. It reports false if
// the answer goes nowhere.
func (a *answer) start(status int) bool {
	a.mu.Lock()
	if a.begun {
		defer a.mu.Unlock()
		return !a.dropped
	}
	a.begun = true
	a.dropped = a.released != nil && status >= 500
	dropped := a.dropped
	if !dropped {
		a.permit.Answered()
	}
	a.mu.Unlock()
	if a.stop != nil {
		a.stop()
	}
	if !dropped {
		a.judge(status)
	}
	return !dropped
}

// judge leaves out the header: its Retry-After is not meant for us.
func (a *answer) judge(status int) {
	o := recloser.Default
	if a.m.Classify != nil {
		o = ask(&http.Response{StatusCode: status, Header: a.Header(), Request: a.req}, a.m.Classify)
	}
	judge(&a.permit, o, status, nil)
}

func (a *answer) hasBegun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun
}

// refused ends the call as one that says nothing: the handler was not let
// through elsewhere.
func (a *answer) refused() {
	a.mu.Lock()
	a.begun = true
	a.mu.Unlock()
	a.permit.End(recloser.Ignored)
}

// end ends the call when the handler has returned, or its panic goes by. It gets
// the request that the handler had.
func (a *answer) end(handlers *http.Request) {
	gone := a.req.Context().Err()
	a.mu.Lock()
	answered := a.begun && !a.dropped
	a.begun = true
	a.mu.Unlock()
	if a.stop != nil {
		a.stop()
		a.cancel(nil)
	}
	if a.req.MultipartForm == nil {
		a.req.MultipartForm = handlers.MultipartForm // the server removes its files
	}
	switch {
	case a.returned && answered:
		a.permit.Done(nil)
	case a.returned && a.released != nil:
		a.permit.End(recloser.Ignored)
		a.m.refuse(a.ResponseWriter, a.req, a.released)
	case gone != nil:
		a.permit.Done(gone)
	case !a.returned: // a panic, or runtime.Goexit
		a.permit.End(recloser.Failure)
	default: // the server says 200 for a handler that says nothing
		a.judge(http.StatusOK)
		a.permit.Done(nil)
	}
}

// uploadBody keeps the time that the client takes to send its body from being
// charged to the handler.
type uploadBody struct {
	io.ReadCloser
	a *answer
}

func (b *uploadBody) Read(p []byte) (int, error) {
	b.a.waitingForClient(true)
	defer b.a.waitingForClient(false)
	return b.ReadCloser.Read(p)
}

func (a *answer) waitingForClient(yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.begun:
	case yes:
		a.permit.Sending()
	default:
		a.permit.Sent()
	}
}
