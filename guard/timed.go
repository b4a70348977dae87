package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// timed is the context of one attempt: done when its deadline has passed, when a
// trip releases the call, and when the attempt is over. Most calls end long before
// anybody waits for that, and a timer costs more than all else around a call; so
// there is none before somebody asks for Done. Till then a look at the clock
// answers everything, and from then on a context of the standard library does.
type timed struct {
	context.Context                 // the caller's
	released        context.Context // never done, if no trip releases the call
	g               *Guard
	deadline        time.Duration // as Guard.now; 0: none

	mu     sync.Mutex
	over   bool            // the attempt is
	armed  context.Context // nil: nobody has asked for Done
	cancel func()
}

// Deadline returns when the context will be done at the latest.
func (t *timed) Deadline() (time.Time, bool) {
	callers, ok := t.Context.Deadline()
	if t.deadline == 0 {
		return callers, ok
	}
	mine := t.g.base.Add(t.deadline)
	if ok && callers.Before(mine) {
		return callers, true
	}
	return mine, true
}

// String says whose context it is. Without it, fmt would read the fields, and not
// under the lock.
func (t *timed) String() string { return fmt.Sprintf("guard.attempt(%q)", t.g.breaker.Name()) }

// Done arms the timer.
func (t *timed) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.arm().Done()
}

// Err is not nil before Done is closed.
func (t *timed) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.armed != nil:
	case t.over, t.Context.Err() != nil, t.released.Err() != nil, t.passed():
		t.arm() // what has been said once holds, also for Done
	default:
		return nil
	}
	return t.armed.Err()
}

// Value returns the caller's value. What the context package derives from this
// context finds the cause by it.
func (t *timed) Value(key any) any {
	t.mu.Lock()
	ctx := t.armed
	t.mu.Unlock()
	if ctx == nil {
		ctx = t.Context
	}
	return ctx.Value(key)
}

// arm makes the context that has a timer, if there is none yet.
func (t *timed) arm() context.Context {
	switch {
	case t.armed != nil:
		return t.armed
	case t.released.Done() == nil:
		t.armed, t.cancel = t.limited(t.Context)
	default:
		ctx, end := t.g.clock.WithCancelOn(t.Context, t.released)
		armed, cancel := t.limited(ctx)
		t.armed, t.cancel = armed, func() {
			cancel()
			end()
		}
	}
	if t.over {
		t.cancel()
	}
	return t.armed
}

// limited derives what ends at the deadline from ctx.
func (t *timed) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.deadline == 0 || t.over {
		return context.WithCancel(ctx)
	}
	return t.g.clock.WithTimeout(ctx, t.deadline-t.g.now())
}

func (t *timed) passed() bool { return t.deadline != 0 && t.g.now() >= t.deadline }

// expired reports whether the deadline passed before the attempt was over.
func (t *timed) expired() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed != nil {
		return errors.Is(t.armed.Err(), context.DeadlineExceeded)
	}
	return t.passed()
}

// end ends the context with the attempt.
func (t *timed) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.cancel != nil {
		t.cancel()
	}
}
