package httpbreaker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/expiry"
)

// wait is the wait for the response headers, and what may cut it short: a
// timeout, or a trip. It also knows how far the request's body is.
type wait struct {
	caller  Caller        // nil: he stays
	timeout time.Duration // at most 0: none
	tooLate func() error  // what is wrong after timeout; nil: a *timeoutError

	t        *Transport
	permit   *recloser.Permit
	ctx      context.Context         // of the request that goes out
	cancel   context.CancelCauseFunc // nil: nothing of ours can cancel it
	unfollow unfollow                // nil: it is not detached

	next  expiry.Entry  // when Expire has something to do; guarded by mu, as are the next four
	queue *expiry.Queue // that of next; nil: none
	from  time.Duration // the permit's age when the timeout began
	stop  func() bool   // ends the watch for a trip; nil: there is none (yet)
	slow  *time.Timer   // cuts off a witness; nil: it is none

	mu      sync.Mutex // for the permit too, as long as over is not set
	over    bool       // the headers came, or it was cut short
	asked   bool       // the caller is asked for a part of the body
	sending bool       // the request's body is being sent
	sent    bool       // it is, or there is none
	bodyErr error      // why the request's body could not be read
	left    error      // why the caller has gone; nil: he has not, or it was cut short
}

// timeoutError is a net.Error, so that callers can treat it as any time-out.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("httpbreaker: no answer within %s", e.after)
}
func (e *timeoutError) Timeout() bool   { return true }
func (e *timeoutError) Temporary() bool { return true }

func (w *wait) late() error {
	if w.tooLate != nil {
		return w.tooLate()
	}
	return &timeoutError{w.timeout}
}

// young is how old a wait gets before it is watched for a trip: most are over by then,
// and to watch one costs as much as the breaker itself.
const young = 20 * time.Millisecond

// startWait begins the wait w and returns the request to send: RoundTrippers must not
// change the one they are given.
func (t *Transport) startWait(w *wait, req *http.Request, permit *recloser.Permit, detach bool) *http.Request {
	w.t, w.permit, w.ctx, w.sent = t, permit, req.Context(), !hasBody(req)
	w.timeout = max(0, w.timeout)
	releases := t.releases(permit)
	if detach {
		w.ctx = context.WithoutCancel(w.ctx)
	}
	if w.timeout > 0 || releases {
		w.ctx, w.cancel = context.WithCancelCause(w.ctx)
	}
	w.mu.Lock()
	w.from = permit.Age()
	switch watch := releases && !detach; { // who is detached watches himself
	case watch && w.sent:
		w.enter(&t.young, min(young, cmp.Or(w.timeout, young)))
	case watch: // at once: the body moves what there is of a timer
		w.watch()
		w.startTimer(w.timeout)
	default:
		w.startTimer(w.timeout)
	}
	w.mu.Unlock()
	var out *http.Request
	if detach {
		out = w.detach(req)
	} else {
		out = req.WithContext(w.ctx)
	}
	if hasBody(req) {
		w.watchUpload(out)
	}
	return out
}

// watch watches for a trip.
func (w *wait) watch() {
	released := w.permit.Released()
	w.stop = context.AfterFunc(released, func() { w.release(context.Cause(released)) })
}

// needsWait reports whether there is anything that a wait would do for a request.
func (t *Transport) needsWait(req *http.Request, permit *recloser.Permit, timeout time.Duration) bool {
	return timeout > 0 || hasBody(req) || t.releases(permit)
}

// releases reports whether a trip is to cut the wait short.
func (t *Transport) releases(permit *recloser.Permit) bool {
	return !t.KeepOnTrip && permit.Released().Done() != nil
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// startTimer has the timeout, if there is one, be over after that time.
func (w *wait) startTimer(after time.Duration) {
	if w.timeout > 0 {
		w.enter(&w.t.timeouts, after)
	}
}

// enter has Expire be called after that time, and not when it was to be before.
func (w *wait) enter(q *expiry.Queue, after time.Duration) {
	w.queue = q
	q.Add(&w.next, w, after)
}

// stopTimer has Expire not be called, unless it is already.
func (w *wait) stopTimer() {
	if w.queue != nil {
		w.queue.Remove(&w.next)
	}
}

// Expire begins to watch a wait that is young no more, and cuts short one whose timeout
// is over.
func (w *wait) Expire() {
	if w.timeIsUp() {
		w.cutShort(&Cut{Err: w.late()})
	}
}

// timeIsUp goes by the breaker's clock: that this process stood still says nothing about
// the dependency, whose answer may be here and unread.
func (w *wait) timeIsUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.asked {
		return false
	}
	if w.queue == &w.t.young {
		w.watch()
		w.queue = nil
	}
	if w.timeout == 0 {
		return false
	}
	rest := left(w.timeout, w.from, w.permit.Age())
	if rest > 0 {
		w.startTimer(rest)
	}
	return rest <= 0
}

// left returns what is left of a timeout that began when a permit had one age, now
// that it has another.
func left(timeout, then, now time.Duration) time.Duration {
	if now < 0 { // the zero permit has none
		return 0
	}
	return timeout - (now - then)
}

var errSlowWitness = errors.New("httpbreaker: no answer, though it was waited for without the caller")

// release ends the wait of a caller whom a trip releases: he gets why, whether his
// request runs on as a witness or is cut short. It reports false if the wait is over, so
// that he gets something else.
func (w *wait) release(why error) bool {
	return w.leave(why) || w.cutShort(&Cut{Outcome: recloser.Ignored, Err: why})
}

// leave lets the caller go, and his request run on until it is slow; false if he has to
// stay. An answer that comes at that moment waits until it is decided whether anybody
// sees it.
func (w *wait) leave(why error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.caller == nil || !w.sent || !w.permit.Witness() || !w.caller.Leave(why) {
		return false
	}
	w.left = why
	w.slow = time.AfterFunc(w.permit.SlowIn(), func() {
		w.cutShort(&Cut{Outcome: recloser.Ignored, Err: errSlowWitness})
	})
	return true
}

// cutShort cancels the request; false if the wait was over before.
func (w *wait) cutShort(why *Cut) bool {
	if !w.end() {
		return false
	}
	w.cancel(why)
	return true
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
	w.stopTimer()
	if w.stop != nil {
		w.stop()
	}
	if w.slow != nil {
		w.slow.Stop()
	}
	if !inTime {
		<-w.ctx.Done()
	}
	return inTime
}
