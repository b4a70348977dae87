package vtime

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"time"
)

// Virtual is a Clock that jumps from one event to the next. The functions given
// to Go and AfterFunc take turns: one runs until it waits or ends, then the next,
// in an order that is the same each time. All but Run must be called by them, or
// between two Runs; Wait by functions given to Go alone. They must not wait for
// each other by other means than Wait.
type Virtual struct {
	now    time.Time
	events events
	made   int           // events so far
	parked []*waiter     // in the order in which they came
	yield  chan struct{} // who runs gives the turn back
}

// NewVirtual returns a clock that stands at start.
func NewVirtual(start time.Time) *Virtual {
	return &Virtual{now: start, yield: make(chan struct{})}
}

// Now returns the time at which the clock stands.
func (v *Virtual) Now() time.Time { return v.now }

// Go has f run at this moment, on a goroutine of its own.
func (v *Virtual) Go(f func()) {
	v.AfterFunc(0, func() {
		go func() {
			defer func() { v.yield <- struct{}{} }()
			f()
		}()
		<-v.yield
	})
}

// AfterFunc has f run once d is over, unless stop is called before. f must not
// wait.
func (v *Virtual) AfterFunc(d time.Duration, f func()) (stop func()) {
	v.made++
	e := &event{at: v.now.Add(max(0, d)), order: v.made, do: f}
	heap.Push(&v.events, e)
	return func() {
		if e.index >= 0 {
			heap.Remove(&v.events, e.index)
		}
	}
}

// Run lets d pass, and everything happen that is due in it.
func (v *Virtual) Run(d time.Duration) {
	for end := v.now.Add(d); ; {
		if v.wake() {
			continue
		}
		if len(v.events) == 0 || v.events[0].at.After(end) {
			v.now = end
			return
		}
		e := heap.Pop(&v.events).(*event)
		v.now = e.at
		e.do()
	}
}

// waiter is a function that waits.
type waiter struct {
	ctx    context.Context // what it waits for
	wake   <-chan struct{}
	resume chan bool
}

// Wait waits as Clock says.
func (v *Virtual) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	if receives(wake) {
		return true
	}
	if d <= 0 || ctx.Err() != nil {
		return false
	}
	w := &waiter{ctx: ctx, wake: wake, resume: make(chan bool)}
	v.parked = append(v.parked, w)
	stop := v.AfterFunc(d, func() { v.resume(w, false) })
	v.yield <- struct{}{}
	received := <-w.resume
	stop()
	return received
}

// wake gives the turn to the first waiter that need not wait any longer, and
// reports whether there was one.
func (v *Virtual) wake() bool {
	for _, w := range v.parked {
		if received := receives(w.wake); received || w.ctx.Err() != nil {
			v.resume(w, received)
			return true
		}
	}
	return false
}

func (v *Virtual) resume(w *waiter, received bool) {
	i := slices.Index(v.parked, w)
	v.parked = slices.Delete(v.parked, i, i+1)
	w.resume <- received
	<-v.yield
}

func receives(wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	default:
		return false
	}
}

// WithTimeout returns a context that is done after d. What the context package
// derives from it is then Canceled, with DeadlineExceeded as its cause.
func (v *Virtual) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	deadline := v.now.Add(d)
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(deadline) {
		deadline = sooner
	}
	inner, cancel := context.WithCancelCause(ctx)
	stop := v.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return &timed{inner, deadline}, func() {
		stop()
		cancel(context.Canceled)
	}
}

type timed struct {
	context.Context
	deadline time.Time
}

// Deadline returns when the context will be done at the latest.
func (t *timed) Deadline() (time.Time, bool) { return t.deadline, true }

// Err returns DeadlineExceeded if it was a deadline of this clock that passed.
func (t *timed) Err() error {
	err := t.Context.Err()
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(t.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

type event struct {
	at    time.Time
	order int
	index int // in the heap; -1: it was taken out
	do    func()
}

// events is a heap, in the order of time and then of entry.
type events []*event

func (q events) Len() int { return len(q) }

func (q events) Less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].order < q[j].order
}

func (q events) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push is for package heap.
func (q *events) Push(x any) {
	e := x.(*event)
	e.index = len(*q)
	*q = append(*q, e)
}

// Pop is for package heap.
func (q *events) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.index = -1
	return e
}
