package httpbreaker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/recloser-go/recloser"
)

// exchange is one admitted request and its response.
type exchange struct {
	permit *recloser.Permit
	req    *http.Request
	ctx    context.Context         // of the request that goes out
	cancel context.CancelCauseFunc // nil: nothing of ours can cancel it

	timeout time.Duration
	timer   *time.Timer   // nil: no timeout
	stopped chan struct{} // nil: no trip is waited for

	mu      sync.Mutex // for the permit too, as long as over is not set
	over    bool       // the wait for the headers is: they came, or it was cut short
	sending bool       // the request's body is being sent
	bodyErr error      // why the request's body could not be read
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

// ShortageError says that this program or its machine is short of what a
// connection is made of: file descriptors, ports or buffers. It is not the
// dependency's failure, so the call is ignored.
type ShortageError struct{ Err error }

// Error says what is short.
func (e *ShortageError) Error() string {
	return "httpbreaker: this machine is short of sockets: " + e.Err.Error()
}

// Unwrap returns Err.
func (e *ShortageError) Unwrap() error { return e.Err }

// timeoutError is a net.Error, so that callers can treat it as any time-out.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("httpbreaker: no answer within %s", e.after)
}
func (e *timeoutError) Timeout() bool   { return true }
func (e *timeoutError) Temporary() bool { return true }

// begin starts the wait for the response headers and returns the request to
// send. RoundTrippers must not change the request they are given.
func (x *exchange) begin(req *http.Request, timeout time.Duration, release bool) *http.Request {
	x.req = req
	var released <-chan struct{}
	if release {
		released = x.permit.Released()
	}
	hasBody := req.Body != nil && req.Body != http.NoBody
	if timeout <= 0 && released == nil && !hasBody {
		return req
	}
	if timeout > 0 || released != nil {
		x.ctx, x.cancel = context.WithCancelCause(req.Context())
	}
	if timeout > 0 {
		x.timeout = timeout
		x.timer = time.AfterFunc(timeout, func() { x.cutShort(&Cut{Err: &timeoutError{timeout}}) })
	}
	if released != nil {
		x.stopped = make(chan struct{})
		go func() {
			select {
			case <-released:
				x.cutShort(&Cut{Outcome: recloser.Ignored, Err: x.permit.ReleasedError()})
			case <-x.stopped:
			}
		}()
	}
	out := req.WithContext(x.ctx)
	if hasBody {
		x.watchUpload(out)
	}
	return out
}

func (x *exchange) cutShort(why *Cut) {
	if x.end() {
		x.cancel(why)
	}
}

// end ends the wait for the headers; false if it was over before.
func (x *exchange) end() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	was := x.over
	x.over = true
	return !was
}

// stopWaiting ends the watch over the wait for the headers. It reports false if
// the wait was cut short; the context is done then.
func (x *exchange) stopWaiting() (inTime bool) {
	inTime = x.end()
	if x.timer != nil {
		x.timer.Stop()
	}
	if x.stopped != nil {
		close(x.stopped)
	}
	if !inTime {
		<-x.ctx.Done()
	}
	return inTime
}

// fail ends the call with the error of its transport or of its body, and
// returns the error that the caller of RoundTrip is to see.
func (x *exchange) fail(err error) error {
	defer x.release()
	if cut := (*Cut)(nil); errors.As(context.Cause(x.ctx), &cut) {
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
	if x.bodyFailed(err) {
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

func short(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS,
	}, func(no syscall.Errno) bool { return errors.Is(err, no) })
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

// release lets go of the context, once nothing more is read under it.
func (x *exchange) release() {
	if x.cancel != nil {
		x.cancel(nil)
	}
}
