package httpbreaker

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/safely"
)

// reporter is who hears how a request ended: its permit, or the attempt of a
// guarded request.
type reporter interface {
	Answered()
	Done(error)
	End(recloser.Outcome)
}

// exchange is one admitted request and its response.
type exchange struct {
	permit  reporter
	own     recloser.Permit // what permit points to, unless the caller of Send holds it
	req     *http.Request   // the caller's
	wait    *wait           // nil: nothing of ours can cut it short; else waiting
	waiting wait
	body    io.ReadCloser // of the response
}

// newExchange takes over a permit: see moved.
func newExchange(req *http.Request, permit *recloser.Permit) *exchange {
	x := &exchange{own: moved(permit), req: req}
	x.permit = &x.own
	return x
}

// moved returns a permit that takes the place of p. A permit must not be copied,
// as neither would know that the other has ended; so p must not be used any
// more, nor have been used by two goroutines. (That it is done for any type is
// what lets vet pass.)
func moved[P any](p *P) P { return *p }

// ctx is the context of the request that goes out.
func (x *exchange) ctx() context.Context {
	if x.wait == nil {
		return x.req.Context()
	}
	return x.wait.ctx
}

// Cut is a cause with which to cancel a request's context (see
// context.WithCancelCause). It stands above the rule for callers who give up:
// the call ends with the given outcome. A program that asks several
// dependencies and needs no more answers cuts the rest with Ignored, which says
// nothing about them.
type Cut struct {
	Outcome recloser.Outcome // Default: as the rules judge Err
	Err     error            // what RoundTrip returns; nil: what the transport made of it
}

// Error says that the request was cut short, and why.
func (c *Cut) Error() string {
	if c.Err == nil {
		return "httpbreaker: request cut short"
	}
	return "httpbreaker: request cut short: " + c.Err.Error()
}

// Unwrap returns Err.
func (c *Cut) Unwrap() error { return c.Err }

// RequestBodyError says that the caller's own request body could not be read.
// It is not the dependency's failure, so the call is ignored.
type RequestBodyError struct{ Err error }

// Error says what went wrong.
func (e *RequestBodyError) Error() string {
	return "httpbreaker: reading the request's body: " + e.Err.Error()
}

// Unwrap returns Err.
func (e *RequestBodyError) Unwrap() error { return e.Err }

// fail ends the call with the error of its transport or of its body, and
// returns the error that the caller of RoundTrip is to see.
func (x *exchange) fail(err error) error {
	defer x.release()
	if cut, ok := safely.As[*Cut](context.Cause(x.ctx())); ok && cut != nil {
		switch {
		case cut.Outcome != recloser.Default:
			x.permit.End(cut.Outcome)
		case cut.Err != nil:
			x.permit.Done(cut.Err)
		default:
			x.permit.Done(err)
		}
		if cut.Err != nil {
			return cut.Err
		}
		return err
	}
	if x.wait != nil && x.wait.bodyFailed(err) {
		x.permit.End(recloser.Ignored)
		return &RequestBodyError{err}
	}
	if short(err) {
		x.permit.End(recloser.Ignored)
		return &ShortageError{err}
	}
	if x.legacyCancel() {
		x.permit.End(recloser.Ignored)
		return err
	}
	x.permit.Done(err)
	return err
}

// legacyCancel reports whether the caller gave up through Request.Cancel alone.
// http.Client's Timeout closes that channel too, by a timer of its own that may
// be ahead of the context's: then the context has the last word.
func (x *exchange) legacyCancel() bool {
	select {
	case <-x.req.Cancel: //nolint:staticcheck // http.Client uses it
	default:
		return false
	}
	if deadline, ok := x.req.Context().Deadline(); ok && !time.Now().Before(deadline) {
		<-x.req.Context().Done()
	}
	return x.req.Context().Err() == nil
}

// succeed ends the call well, unless it has ended before.
func (x *exchange) succeed() { x.permit.Done(nil) }

// stopWaiting ends the wait for the headers; false if it was cut short.
func (x *exchange) stopWaiting() (inTime bool) {
	return x.wait == nil || x.wait.stopWatching()
}

// left returns why the caller has gone, so that nobody sees the response; nil: he has
// not. It is known when the wait is over.
func (x *exchange) left() error {
	if x.wait == nil {
		return nil
	}
	return x.wait.left
}

// release lets go of the context, once nothing more is read under it.
func (x *exchange) release() {
	if x.wait != nil && x.wait.cancel != nil {
		if x.wait.unfollow != nil {
			x.wait.unfollow()
		}
		x.wait.cancel(nil)
	}
}

// broken ends an exchange whose base transport panicked, or called
// runtime.Goexit.
func (x *exchange) broken() {
	x.stopWaiting()
	x.release()
	x.permit.End(recloser.Failure)
}
