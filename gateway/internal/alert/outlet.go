package alert

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Channel is a way to reach people. Send is called by one goroutine at a time.
// It returns nil once the other side has accepted the message; an error is
// tried again unless it is a *SendError that says Permanent. No error may hold
// a secret: it goes to the log.
type Channel interface {
	Send(ctx context.Context, m Message) error
}

// SendError is a message that was not accepted.
type SendError struct {
	Text      string
	Permanent bool          // the same message would be refused again
	Wait      time.Duration // how long the other side asks to wait; 0 if it does not say
}

// Error returns Text.
func (e *SendError) Error() string { return e.Text }

// How an outlet sends. Teams refuses more than four messages a second and
// webhook; one leaves room for other senders.
const (
	queueLimit   = 100
	pace         = time.Second
	firstBackoff = 2 * pace // half of it is chance, see backoff
	maxBackoff   = time.Minute
	giveUpAfter  = time.Hour
)

// outlet is a channel with its queue.
type outlet struct {
	channel Channel
	log     *slog.Logger
	wake    chan struct{} // holds one: something was pushed

	mu      sync.Mutex
	queue   []queued
	pushed  uint64
	dropped int // from a full queue, not yet logged
}

type queued struct {
	Message
	number uint64
	at     time.Time
}

func newOutlet(c Channel, log *slog.Logger) *outlet {
	return &outlet{channel: c, log: log, wake: make(chan struct{}, 1)}
}

// push queues m and never waits. What still waits about the same dependency is
// stale now and goes: a recovery tells the beginning too. If the queue is full
// the oldest message goes.
func (o *outlet) push(m Message) {
	o.mu.Lock()
	o.queue = slices.DeleteFunc(o.queue, func(q queued) bool { return q.ID == m.ID })
	if len(o.queue) == queueLimit {
		o.queue = slices.Delete(o.queue, 0, 1)
		o.dropped++
	}
	o.pushed++
	o.queue = append(o.queue, queued{m, o.pushed, time.Now()})
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run sends until stopping is closed and the queue is empty, or ctx is done.
// A failure holds up the whole outlet, not one message: the other side is
// what failed.
func (o *outlet) run(ctx context.Context, stopping <-chan struct{}) {
	var next time.Time // not before
	failures := 0
	for o.waitForMessage(ctx, stopping) && sleepUntil(ctx, next) {
		o.logDropped(ctx)
		q := o.head() // only now: it may have been replaced meanwhile
		err := o.channel.Send(ctx, q.Message)
		if err != nil && ctx.Err() != nil {
			break
		}
		next = time.Now().Add(pace)
		log := o.log.With("dependency", q.ID, "message", q.Title())
		var refused *SendError
		switch {
		case err == nil:
			failures = 0
			o.remove(q.number)
			log.InfoContext(ctx, "alert accepted")
		case errors.As(err, &refused) && refused.Permanent:
			failures = 0
			o.remove(q.number)
			log.ErrorContext(ctx, "alert refused, not tried again", "error", err)
		case time.Since(q.at) >= giveUpAfter:
			o.remove(q.number)
			log.ErrorContext(ctx, "alert given up", "error", err, "after", giveUpAfter)
		default:
			failures++
			wait := backoff(failures)
			if refused != nil {
				wait = max(wait, min(refused.Wait, giveUpAfter))
			}
			next = time.Now().Add(wait)
			log.WarnContext(ctx, "alert not accepted, will be tried again", "error", err, "failures", failures, "wait", wait)
		}
	}
	o.logDropped(ctx)
}

// logUnsent is not done by run, which may still hang in a send: who stops does
// not wait for it.
func (o *outlet) logUnsent() {
	o.mu.Lock()
	var ids []string
	for _, q := range o.queue {
		ids = append(ids, q.ID)
	}
	o.mu.Unlock()
	if len(ids) > 0 {
		o.log.Error("alerts not sent: shut down", "count", len(ids), "dependencies", ids)
	}
}

// waitForMessage returns true once the queue holds something, and false if
// nothing more will come or ctx is done.
func (o *outlet) waitForMessage(ctx context.Context, stopping <-chan struct{}) bool {
	for o.len() == 0 {
		select {
		case <-o.wake:
		case <-ctx.Done():
			return false
		case <-stopping:
			return o.len() > 0
		}
	}
	return true
}

// head returns the oldest message. Only run takes messages out, or push for a
// newer one, so there is one.
func (o *outlet) head() queued {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue[0]
}

// logDropped is not done by push, as a log may be slow.
func (o *outlet) logDropped(ctx context.Context) {
	o.mu.Lock()
	dropped := o.dropped
	o.dropped = 0
	o.mu.Unlock()
	if dropped > 0 {
		o.log.ErrorContext(ctx, "alerts dropped: queue full", "count", dropped, "limit", queueLimit)
	}
}

// remove takes a message out, if it is still there.
func (o *outlet) remove(number uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = slices.DeleteFunc(o.queue, func(q queued) bool { return q.number == number })
}

func (o *outlet) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue)
}

// backoff doubles with every failure in a row; half of it is chance, so that
// several nodes do not come back together.
func backoff(failures int) time.Duration {
	d := maxBackoff
	if shift := failures - 1; shift < 6 {
		d = min(firstBackoff<<shift, maxBackoff)
	}
	return d/2 + rand.N(d/2)
}

// sleepUntil returns false if ctx is done first.
func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
