package httpbreaker

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
)

// wait is the wait for the response headers, and what may cut it short: a
// timeout, or a trip. It also knows how far the request's body is.
type wait struct {
	permit *recloser.Permit
	ctx    context.Context         // of the request that goes out
	cancel context.CancelCauseFunc // nil: nothing of ours can cancel it

	timeout time.Duration
	timer   *time.Timer   // nil: no timeout; guarded by mu, as is
	from    time.Duration // the permit's age when it began
	stop    func() bool   // ends the watch for a trip; nil: there is none

	follow func() bool // of a detached request: ends what ends it with its caller
	expire *time.Timer // of a witness: when it is slow; nil: it is none

	mu      sync.Mutex // for the permit too, as long as over is not set
	over    bool       // the headers came, or it was cut short
	asked   bool       // the caller is asked for a part of the body
	sending bool       // the request's body is being sent
	sent    bool       // it is, or there is none
	bodyErr error      // why the request's body could not be read
}

// timeoutError is a net.Error, so that callers can treat it as any time-out.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("httpbreaker: no answer within %s", e.after)
}
func (e *timeoutError) Timeout() bool   { return true }
func (e *timeoutError) Temporary() bool { return true }

func (t *Transport) late() error {
	if t.tooLate != nil {
		return t.tooLate()
	}
	return &timeoutError{t.Timeout}
}

// startWait begins the wait and returns it with the request to send:
// RoundTrippers must not change the one they are given.
func (t *Transport) startWait(req *http.Request, permit *recloser.Permit) (*wait, *http.Request) {
	w := &wait{permit: permit, ctx: req.Context(), sent: !hasBody(req)}
	releases, detaches := t.releases(permit), t.detaches(permit)
	if detaches {
		w.ctx = context.WithoutCancel(w.ctx)
	}
	if t.Timeout > 0 || releases {
		w.ctx, w.cancel = context.WithCancelCause(w.ctx)
	}
	if t.Timeout > 0 {
		w.timeout = t.Timeout
		w.mu.Lock()
		w.timer = time.AfterFunc(w.timeout, func() { w.timeUp(t.late) })
		w.from = permit.Age()
		w.mu.Unlock()
	}
	if releases && !detaches {
		released := permit.Released()
		w.stop = context.AfterFunc(released, func() {
			w.cutShort(&Cut{Outcome: recloser.Ignored, Err: context.Cause(released)})
		})
	}
	var out *http.Request
	if detaches {
		out = w.detach(req)
	} else {
		out = req.WithContext(w.ctx)
	}
	if hasBody(req) {
		w.watchUpload(out)
	}
	return w, out
}

// watches reports whether a request needs a wait of this kind.
func (t *Transport) watches(req *http.Request, permit *recloser.Permit) bool {
	return t.Timeout > 0 || hasBody(req) || t.releases(permit)
}

// releases reports whether a trip is to cut the wait short.
func (t *Transport) releases(permit *recloser.Permit) bool {
	return !t.KeepOnTrip && permit.Released().Done() != nil
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// timeUp cuts the wait short, unless the timeout is not over by the breaker's clock:
// that this process stood still says nothing about the dependency, whose answer may
// be here and unread.
func (w *wait) timeUp(late func() error) {
	w.mu.Lock()
	if rest := left(w.timeout, w.from, w.permit.Age()); rest > 0 || w.asked {
		defer w.mu.Unlock()
		if !w.asked && !w.over {
			w.timer.Reset(rest)
		}
		return
	}
	w.mu.Unlock()
	w.cutShort(&Cut{Err: late()})
}

// left returns what is left of a timeout that began when a permit had one age, now
// that it has another.
func left(timeout, then, now time.Duration) time.Duration {
	if now < 0 { // the zero permit has none
		return 0
	}
	return timeout - (now - then)
}

func (w *wait) cutShort(why *Cut) {
	if w.end() {
		w.cancel(why)
	}
}

// end ends the wait; false if it was over before.
func (w *wait) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.over
	w.over = true
	return !was
}

// stopWatching ends the wait and everything that watches over it. It reports
// false if it was cut short; the context is done then.
func (w *wait) stopWatching() (inTime bool) {
	inTime = w.end()
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.stop != nil {
		w.stop()
	}
	if w.expire != nil {
		w.expire.Stop()
	}
	if !inTime {
		<-w.ctx.Done()
	}
	return inTime
}
