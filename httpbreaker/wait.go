package httpbreaker

import (
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
	t      *Transport
	timers *timers
	caller Caller // nil: he stays
	permit *recloser.Permit
	ctx    context.Context         // of the request that goes out
	cancel context.CancelCauseFunc // nil: nothing of ours can cancel it

	timeout time.Duration
	next    expiry.Entry  // when Expire has something to do; guarded by mu, as are the next three
	queue   *expiry.Queue // that of next; nil: none
	from    time.Duration // the permit's age when the timeout began
	stop    func() bool   // ends the watch for a trip; nil: there is none (yet)

	follow func() bool // of a detached request: ends what ends it with its caller
	expire *time.Timer // of a witness: when it is slow; nil: it is none

	mu      sync.Mutex // for the permit too, as long as over is not set
	over    bool       // the headers came, or it was cut short
	asked   bool       // the caller is asked for a part of the body
	sending bool       // the request's body is being sent
	sent    bool       // it is, or there is none
	bodyErr error      // why the request's body could not be read
	left    error      // why the caller has gone, who left a witness behind
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

// young is for how long a wait is left alone: most are over by then, and to watch for a
// trip costs as much as the breaker itself.
const young = 20 * time.Millisecond

// startWait begins the wait w and returns the request to send: RoundTrippers must not
// change the one they are given.
func (t *Transport) startWait(w *wait, req *http.Request, permit *recloser.Permit) *http.Request {
	w.t, w.permit, w.ctx, w.sent = t, permit, req.Context(), !hasBody(req)
	if w.timers = t.shared; w.timers == nil {
		w.timers = &t.timers
	}
	releases, detaches := t.releases(permit), t.detaches(w.caller, permit)
	if detaches {
		w.ctx = context.WithoutCancel(w.ctx)
	}
	if t.Timeout > 0 || releases {
		w.ctx, w.cancel = context.WithCancelCause(w.ctx)
	}
	w.mu.Lock()
	w.timeout, w.from = max(0, t.Timeout), permit.Age()
	switch {
	case !releases || detaches:
		w.startTimer(w.timeout)
	case !w.sent: // its timer is not its own
		w.watch()
		w.startTimer(w.timeout)
	case w.timeout > 0:
		w.enter(&w.timers.young, min(young, w.timeout))
	default:
		w.enter(&w.timers.young, young)
	}
	w.mu.Unlock()
	var out *http.Request
	if detaches {
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

// watches reports whether a request needs a wait of this kind.
func (t *Transport) watches(req *http.Request, permit *recloser.Permit) bool {
	return t.Timeout > 0 || hasBody(req) || t.releases(permit)
}

// releases reports whether a trip is to cut the wait short.
func (t *Transport) releases(permit *recloser.Permit) bool {
	return !t.KeepOnTrip && permit.Released().Done() != nil
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// startTimer has the timeout be over within that time, and at no other, if there is one.
func (w *wait) startTimer(within time.Duration) {
	if w.timeout > 0 {
		w.enter(&w.timers.timeouts, within)
	}
}

func (w *wait) enter(q *expiry.Queue, within time.Duration) {
	w.queue = q
	q.Add(&w.next, w, within)
}

// stopTimer has Expire not be called.
func (w *wait) stopTimer() {
	if w.queue != nil {
		w.queue.Remove(&w.next)
	}
}

// Expire begins to watch for a trip, or cuts the wait short, unless the timeout is not
// over by the breaker's clock: that this process stood still says nothing about the
// dependency, whose answer may be here and unread.
func (w *wait) Expire() {
	if w.inTime() {
		return
	}
	w.cutShort(&Cut{Err: w.t.late()})
}

func (w *wait) inTime() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.asked {
		return true
	}
	if w.queue == &w.timers.young {
		w.watch()
		w.queue = nil
	}
	rest := left(w.timeout, w.from, w.permit.Age())
	if rest > 0 {
		w.startTimer(rest)
	}
	return rest > 0 || w.timeout == 0
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

// release cuts the wait short because of a trip, unless the request is to run on
// without its caller.
func (w *wait) release(why error) {
	if !w.leave(why) {
		w.cutShort(&Cut{Outcome: recloser.Ignored, Err: why})
	}
}

// leave lets the caller go; false if he has to stay until the wait is over, or it is.
// An answer that comes meanwhile waits: it is decided whose it is.
func (w *wait) leave(why error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.caller == nil || !w.sent || !w.permit.Witness() || !w.caller.Leave(why) {
		return false
	}
	w.left = why
	w.watchWitness()
	return true
}

// watchWitness cuts a witness short once it is slow.
func (w *wait) watchWitness() {
	slow := &Cut{Outcome: recloser.Ignored, Err: errSlowWitness}
	w.expire = time.AfterFunc(w.permit.SlowIn(), func() { w.cutShort(slow) })
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
	w.stopTimer()
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
