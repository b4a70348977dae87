package scenario

import (
	"context"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// running is a call that was made, as Guard.Allow lets it in. That takes no
// goroutine. Calls for which somebody must be there who panics, or does not heed
// his context, are made by inside.
type running struct {
	r       *run
	call    *call
	done    func()
	ctx     context.Context // the caller's
	cancel  context.CancelFunc
	reached bool
	over    bool
	unseen  bool   // it runs on as a witness
	result  string // "": it runs

	now      outcome // of the attempt that runs
	tries    int     // attempts that began
	answered bool
	guarded  *guard.Call
	permit   *recloser.Permit // of guarded
	waiting  bool             // for the next attempt
	unwatch  func()           // nobody is to release it any more
	timers   []func()         // stop what is to happen later if it still runs

	inside *inside // nil: by Guard.Allow
}

func (c *call) do(r *run, done func()) {
	if !r.spend() {
		return
	}
	o := &running{r: r, call: c, done: done, ctx: r.base, cancel: func() {}, unwatch: func() {}}
	r.load.calls++
	r.last = o
	if c.name != "" {
		r.named[c.name] = o
	}
	if c.giveUp > 0 || c.name != "" || c.hasVerdict(cancels) {
		o.ctx, o.cancel = context.WithCancel(o.ctx)
	}
	if c.deadline > 0 { // outside of the other: what is derived from it would say cancelled
		cancel := o.cancel
		ctx, stop := r.virtual.WithTimeout(o.ctx, c.deadline)
		o.ctx, o.cancel = ctx, func() { cancel(); stop() }
		o.after(c.deadline, (*running).givenUp)
	}
	if c.giveUp > 0 {
		o.after(c.giveUp, (*running).giveUp)
	}
	switch {
	case c.deaf || c.hasVerdict(panics) || c.hasVerdict(exits):
		o.inside = &inside{running: o, told: make(chan struct{}, 1)}
		r.virtual.Go(o.inside.run)
	case r.mayWait:
		r.virtual.Go(o.allow)
	default:
		o.allow()
	}
}

func (c *call) hasVerdict(v verdict) bool {
	for _, m := range c.attempts {
		for _, p := range m {
			if p.verdict == v {
				return true
			}
		}
	}
	return false
}

// pick picks an outcome by chance.
func (m mix) pick(r *run) outcome {
	if len(m) == 1 {
		return m[0].outcome
	}
	left := 100 * r.random.Float64()
	for _, p := range m[:len(m)-1] {
		if left -= p.percent; left < 0 {
			return p.outcome
		}
	}
	return m[len(m)-1].outcome
}

// next returns what the dependency does with the next attempt.
func (c *running) next() outcome {
	c.tries++
	c.r.load.attempts++
	return c.call.attempts[min(c.tries, len(c.call.attempts))-1].pick(c.r)
}

// after has something happen if the call runs until then.
func (c *running) after(d time.Duration, f func(*running)) {
	stop := c.r.virtual.AfterFunc(d, func() {
		if !c.over || c.unseen {
			f(c)
		}
	})
	if d > 0 { // else it is past as soon as anybody could forget it
		c.timers = append(c.timers, stop)
	}
}

// allow asks the guard to let the call in.
func (c *running) allow() {
	call, err := c.r.guard.Allow(c.ctx, c.marks()...)
	if err == nil {
		c.guarded, c.permit = call, call.Permit()
	}
	c.begin(err)
}

// marks says of a call that it may be made twice.
func (c *running) marks() []guard.Mark {
	if c.call.once {
		return nil
	}
	return []guard.Mark{guard.Idempotent}
}

// begin begins a call that was let in.
func (c *running) begin(refusal error) {
	if refusal != nil {
		c.finish(resultOf(refusal, false))
		return
	}
	c.reach()
	if released := c.permit.Released().Done(); released != nil {
		c.unwatch = c.r.virtual.WhenClosed(released, func() {
			if !c.waiting { // else the guard sees it
				c.release(context.Cause(c.permit.Released()))
			}
		})
	}
	c.attempt()
}

// release lets the caller go. A witness runs on without him, for as long as it is not
// slow.
func (c *running) release(why error) {
	if !c.permit.Witness() {
		c.report(why)
		return
	}
	c.unseen = true
	c.r.virtual.AfterFunc(c.permit.SlowIn(), func() { c.guarded.End(recloser.Ignored) })
	c.finish(resultOf(why, true))
}

// reach notes that the call has got to the dependency.
func (c *running) reach() {
	c.reached = true
	l := &c.r.load
	l.reached++
	l.running++
	l.most = max(l.most, l.running)
}

// attempt has the dependency do what it does with the next attempt.
func (c *running) attempt() {
	c.now = c.next()
	o := &c.now
	if left, timeout := c.timeout(); timeout != nil {
		c.due(left, func(c *running) {
			if !c.answered {
				c.end(timeout)
			}
		})
	}
	if o.upload > 0 {
		c.permit.Sending()
		c.due(o.upload, func(c *running) { c.permit.Sent() })
	}
	last := o.upload + o.took
	if o.answered {
		c.due(last, (*running).answer)
		last += o.body
	}
	if o.verdict != hangs {
		c.due(last, func(c *running) { c.endWith(c.now) })
	}
}

// due has something happen if the attempt runs until then.
func (c *running) due(d time.Duration, f func(*running)) {
	this := c.tries
	c.after(d, func(c *running) {
		if !c.waiting && c.tries == this {
			f(c)
		}
	})
}

// timeout returns when the guard's time for the attempt is over, as every user of
// Guard.Allow has to see to himself, and what it is to say then: nil if it has none.
func (c *running) timeout() (left time.Duration, timeout error) {
	if c.guarded == nil {
		return 0, nil
	}
	cfg := c.r.guard.Config()
	e := &guard.TimeoutError{Name: cfg.Breaker.Name, After: cfg.Timeout}
	if deadline, ok := c.guarded.Deadline(); ok {
		left, timeout = deadline.Sub(c.r.virtual.Now()), e
	}
	if d := cfg.AttemptTimeout; d > 0 && (timeout == nil || d < left) {
		e.Attempt, e.After = true, d
		left, timeout = d, e
	}
	return left, timeout
}

// answer has the dependency begin to answer. Who has his answer is not released.
func (c *running) answer() {
	c.answered = true
	c.unwatch()
	c.guarded.Answered()
}

// endWith ends the attempt that runs. Once the call is over that must change
// nothing, so the breaker is told all the same.
func (c *running) endWith(o outcome) {
	switch {
	case c.inside != nil:
		c.inside.tell(o)
	case !c.reached || c.waiting:
	case o.verdict == cancels:
		c.giveUp()
	default:
		c.end(o.err())
	}
}

func (o outcome) err() error {
	switch o.verdict {
	case succeeds:
		return nil
	case ignored:
		return errIgnored
	case waits, throttled:
		return &recloser.WaitError{After: o.wait, Throttled: o.verdict == throttled, Err: errDown}
	default:
		return errDown
	}
}

// end ends the attempt with err. The guard is asked whether there is to be
// another one.
func (c *running) end(err error) {
	if c.over || err == nil || !c.r.retries || c.ctx.Err() != nil {
		c.report(err)
		return
	}
	c.waiting = true
	c.r.virtual.Go(func() {
		last := c.guarded.Again(err)
		c.waiting = false
		if last == nil && c.r.spend() {
			c.attempt()
			return
		}
		if released := context.Cause(c.permit.Released()); released != nil && c.ctx.Err() == nil {
			last = released
		}
		c.guarded.Done(err)
		c.finish(resultOf(last, true))
	})
}

// report ends the call.
func (c *running) report(err error) {
	c.guarded.Done(err)
	c.finish(resultOf(err, true))
}

// giveUp is the caller's.
func (c *running) giveUp() {
	if c.unseen {
		return // he has gone
	}
	c.cancel()
	c.givenUp()
}

// givenUp ends a call whose context is done. Who waits sees that by himself.
func (c *running) givenUp() {
	if c.inside == nil && c.reached && !c.waiting && !c.unseen {
		c.report(c.ctx.Err())
	}
}

// finish notes what became of the call, once. Nothing stays behind that would have
// to be kept for as long as the call could have lasted. It ends the context, so
// the guard must have judged the call before.
func (c *running) finish(result string) {
	if c.over {
		return
	}
	c.over, c.result = true, result
	c.unwatch()
	if !c.unseen {
		for _, stop := range c.timers {
			stop()
		}
		c.timers = nil
	}
	c.cancel()
	l := &c.r.load
	if c.reached {
		l.running--
	}
	switch {
	case result == "ok":
		l.good++
	case result == withdrawn:
	case c.reached:
		l.bad++
	default:
		l.refused++
	}
	if c.done != nil {
		c.r.virtual.After(0, c.done)
	}
}

// endNamed ends the call of that name.
func (r *run) endNamed(name string, o outcome) {
	if c := r.named[name]; c != nil {
		c.endWith(o)
	}
}

// tell does something to the call of that name.
func (r *run) tell(name, what string) {
	c := r.named[name]
	switch {
	case c == nil:
	case what == "cancel":
		c.giveUp()
	case !c.reached || c.over || c.waiting:
	case c.inside != nil:
		r.fail(r.current.line, Mismatch{Want: what + " " + name, Seen: "a call that is deaf, panics or calls runtime.Goexit: only its own line can say how it goes on"})
	case what == "answer":
		c.answer()
	default:
		c.guarded.Cancel()
		c.finish(withdrawn)
	}
}
