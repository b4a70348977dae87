package vtime

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Virtual is a Clock that jumps from one event to the next. The functions given
// to Go, AfterFunc and WhenClosed take turns: one runs until it waits or ends,
// then the next, in an order that is the same each time. All but Run and Stall
// must be called by them, or between two Runs; Wait by functions given to Go
// alone. They must not wait for each other by other means than Wait.
type Virtual struct {
	start   time.Time
	now     time.Duration // since start
	moved   func(time.Duration)
	events  events
	made    int // events so far
	stopped int // of those that are still in the heap
	watched []*watched
	parked  []*waiter     // in the order in which they came
	yield   chan struct{} // who runs gives the turn back
}

// NewVirtual returns a clock that stands at start.
func NewVirtual(start time.Time) *Virtual {
	return &Virtual{start: start, moved: func(time.Duration) {}, yield: make(chan struct{})}
}

// OnMove has f called each time the clock has moved on, and by how much, before
// anything happens then: so another clock keeps in step.
func (v *Virtual) OnMove(f func(d time.Duration)) { v.moved = f }

// Now returns the time at which the clock stands.
func (v *Virtual) Now() time.Time { return v.start.Add(v.now) }

// Since returns how long ago t was.
func (v *Virtual) Since(t time.Time) time.Duration { return v.Now().Sub(t) }

// Go has f run at this moment, on a goroutine of its own.
func (v *Virtual) Go(f func()) {
	v.After(0, func() {
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
	e := v.push(d, f)
	return func() {
		if e.do == nil {
			return
		}
		e.do = nil
		// Whoever stops as many as he makes has to be able to do so for ever.
		if v.stopped++; v.stopped > 64 && v.stopped > len(v.events)/2 {
			v.events.sweep()
			v.stopped = 0
		}
	}
}

// Pending returns how many things are due later.
func (v *Virtual) Pending() int { return len(v.events) - v.stopped }

// After is AfterFunc for what is never stopped.
func (v *Virtual) After(d time.Duration, f func()) { v.push(d, f) }

func (v *Virtual) push(d time.Duration, f func()) *event {
	v.made++
	e := &event{do: f}
	v.events.push(entry{v.now + max(0, d), v.made, e})
	return e
}

// WhenClosed has f run as soon as done is closed, unless stop is called before.
// f must not wait.
func (v *Virtual) WhenClosed(done <-chan struct{}, f func()) (stop func()) {
	i := slices.IndexFunc(v.watched, func(w *watched) bool { return w.done == done })
	if i < 0 {
		i = len(v.watched)
		v.watched = append(v.watched, &watched{done: done, do: map[int]func(){}})
	}
	w := v.watched[i]
	v.made++
	key := v.made
	w.do[key] = f
	return func() {
		if delete(w.do, key); len(w.do) == 0 {
			v.watched = slices.DeleteFunc(v.watched, func(o *watched) bool { return o == w })
		}
	}
}

// Run lets d pass, and everything happen that is due in it.
func (v *Virtual) Run(d time.Duration) {
	for end := v.now + d; ; {
		if v.closed() || v.wake() {
			continue
		}
		if len(v.events) == 0 || v.events[0].at > end {
			v.move(end)
			return
		}
		at := v.events[0].at
		e := v.events.pop()
		do := e.do
		if do == nil {
			v.stopped--
			continue
		}
		e.do = nil // it is too late to stop it
		v.move(at)
		do()
	}
}

// Stall lets d pass in which nothing happens, as if the process had stood
// still: what is due in it happens at its end, with the next Run.
func (v *Virtual) Stall(d time.Duration) { v.move(v.now + d) }

func (v *Virtual) move(to time.Duration) {
	if d := to - v.now; d > 0 { // not so for what was due in a stall
		v.now = to
		v.moved(d)
	}
}

// watched is a channel, and what is to be done when it is closed.
type watched struct {
	done <-chan struct{}
	do   map[int]func() // in the order of the keys
}

// closed gives the turn to who waited for the first channel that is closed, and
// reports whether there was one.
func (v *Virtual) closed() bool {
	for i, w := range v.watched {
		if !receives(w.done) {
			continue
		}
		v.watched = slices.Delete(v.watched, i, i+1)
		keys := make([]int, 0, len(w.do))
		for key := range w.do {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if f := w.do[key]; f != nil { // else it was stopped meanwhile
				f()
			}
		}
		return true
	}
	return false
}

// waiter is a function that waits.
type waiter struct {
	wake   <-chan struct{} // what it waits for
	done   <-chan struct{}
	resume chan bool
}

// Wait waits as Clock says.
func (v *Virtual) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	if receives(wake) {
		return true
	}
	ctx.Done() // a context may arm its timer only when somebody asks for this
	if d <= 0 || ctx.Err() != nil {
		return false
	}
	w := &waiter{wake: wake, done: ctx.Done(), resume: make(chan bool)}
	v.parked = append(v.parked, w)
	stop := v.AfterFunc(d, func() { v.resume(w, false) })
	v.yield <- struct{}{}
	received := <-w.resume
	stop()
	return received
}

// Waiting returns how many functions wait. Each makes every event take longer.
func (v *Virtual) Waiting() int { return len(v.parked) }

// wake gives the turn to the first waiter that need not wait any longer, and
// reports whether there was one.
func (v *Virtual) wake() bool {
	for _, w := range v.parked {
		if received := receives(w.wake); received || receives(w.done) {
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
	deadline := v.Now().Add(d)
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(deadline) {
		deadline = sooner
	}
	inner, cancel := context.WithCancelCause(ctx)
	expire := func() { cancel(context.DeadlineExceeded) }
	if d <= 0 {
		expire()
	}
	stop := v.AfterFunc(d, expire)
	return &timed{inner, deadline}, func() {
		stop()
		cancel(context.Canceled)
	}
}

// WithCancelOn does as Clock says. What the context package derives from the
// context has the same cause.
func (v *Virtual) WithCancelOn(ctx, done context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	if done.Err() != nil {
		cancel(context.Cause(done))
	}
	stop := v.WhenClosed(done.Done(), func() { cancel(context.Cause(done)) })
	return inner, func() {
		stop()
		cancel(nil)
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

// event is something that is due.
type event struct{ do func() } // nil: it was done, or stopped

// entry is an event in the heap, with what it is sorted by.
type entry struct {
	at    time.Duration // since the clock's start
	order int           // of entry
	*event
}

func (e entry) before(o entry) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

// events is a heap, in the order of time and then of entry. It is not one of
// package container/heap since it is where a long run on virtual time spends its
// time: this one takes a third of it.
type events []entry

func (q *events) push(e entry) {
	*q = append(*q, e)
	h := *q
	i := len(h) - 1
	for i > 0 {
		above := (i - 1) / 2
		if !e.before(h[above]) {
			break
		}
		h[i] = h[above]
		i = above
	}
	h[i] = e
}

func (q *events) pop() *event {
	h := *q
	first, last := h[0].event, len(h)-1
	e := h[last]
	h[last] = entry{}
	*q = h[:last]
	if last > 0 {
		q.sink(0, e)
	}
	return first
}

// sink puts e where i is, or below.
func (q *events) sink(i int, e entry) {
	h := *q
	last := len(h)
	for {
		below := 2*i + 1
		if below >= last {
			break
		}
		if below+1 < last && h[below+1].before(h[below]) {
			below++
		}
		if !h[below].before(e) {
			break
		}
		h[i] = h[below]
		i = below
	}
	h[i] = e
}

// sweep throws out what was stopped.
func (q *events) sweep() {
	*q = slices.DeleteFunc(*q, func(e entry) bool { return e.do == nil })
	for i := len(*q)/2 - 1; i >= 0; i-- {
		q.sink(i, (*q)[i])
	}
}
