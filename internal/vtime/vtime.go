// Package vtime is the clock of whatever has to wait: Real is the time of the
// machine, and Virtual a queue of events that takes no time at all.
package vtime

import (
	"context"
	"time"
)

// A Clock tells the time and waits for it.
type Clock interface {
	Now() time.Time
	// Since is Now().Sub(t), which is worth a method: it takes half as long as Now
	// if t has a monotonic reading.
	Since(t time.Time) time.Duration
	// Wait waits until d is over, ctx is done or wake has something to receive,
	// and reports whether it received. A nil wake is a plain sleep. A d of zero
	// or less still receives what is there.
	Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) (received bool)
	// WithTimeout is context.WithTimeout by this clock.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// WithCancelOn returns a context that is also done once done is, for the same
	// cause. The context must be cancelled in the end.
	WithCancelOn(ctx, done context.Context) (context.Context, context.CancelFunc)
}

// Real is the machine's time, or that of a testing/synctest bubble.
type Real struct{}

// Now returns time.Now.
func (Real) Now() time.Time { return time.Now() }

// Since returns time.Since.
func (Real) Since(t time.Time) time.Duration { return time.Since(t) }

// Wait waits as Clock says.
func (Real) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	default:
	}
	if d <= 0 || ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wake:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// WithTimeout returns context.WithTimeout.
func (Real) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// WithCancelOn starts no goroutine before done is done.
func (Real) WithCancelOn(ctx, done context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if done.Err() != nil {
		cancel(context.Cause(done))
	}
	stop := context.AfterFunc(done, func() { cancel(context.Cause(done)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
