package recloser

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// caller is a context that ends when the test says so.
type caller struct {
	context.Context
	err error
}

func (c *caller) Err() error { return c.err }

// pair is an engine and a model that are told the same.

type pair struct {
	b      *Breaker
	ticks  ticks
	m      *model
	calls  []*pairCall // that run
	ended  []*pairCall
	events chan Transition
}

type pairCall struct {
	ctx    *caller
	permit Permit
	model  *modelCall
}

// begin is when the clock of these tests starts.
const begin = int64(time.Hour)

// replay runs a sequence and returns what the engine did otherwise than the model.
func replay(ctx context.Context, cfg Config, random float64, ops []op) (fault error) {
	p := &pair{ticks: newTicks(), events: make(chan Transition, maxQueue)}
	p.ticks.Store(begin)
	b, err := New(p.ticks.on(cfg))
	if err != nil {
		return err
	}
	b.random = func() float64 { return random }
	p.b, p.m = b, newModel(cfg, begin, random)
	b.Subscribe(func(t Transition) { p.events <- t })
	for i, o := range ops {
		if err := p.apply(ctx, o); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, o, err)
		}
		if o.kind == opAdvance && o.flag {
			continue // nobody looks: the next step finds out what became due
		}
		if err := p.compare(); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, o, err)
		}
	}
	if err := p.compare(); err != nil {
		return err
	}
	for i := range p.m.events {
		if err := p.compareEvent(i, <-p.events); err != nil {
			return err
		}
	}
	return nil
}

func (p *pair) apply(ctx context.Context, o op) error {
	now := p.ticks.Load()
	switch o.kind {
	case opAllow:
		return p.allow(ctx, now)
	case opGood, opFail, opIgnore, opCancelled, opDeadline, opWait, opUnmade:
		if len(p.calls) > 0 {
			i := o.n % len(p.calls)
			if o.n%3 != 0 { // mostly the oldest
				i = 0
			}
			c := p.calls[i]
			p.calls = slices.Delete(p.calls, i, i+1)
			p.ended = append(p.ended, c)
			p.end(c, now, o)
		}
	case opTwice:
		if len(p.ended) > 0 {
			c := &p.ended[o.n%len(p.ended)].permit
			c.Sending()
			c.Sent()
			c.Answered()
			c.Done(nil)
			c.Done(errors.New("again"))
			c.End(Failure)
			c.Cancel()
		}
	case opAnswered:
		if len(p.calls) > 0 {
			c := p.calls[o.n%len(p.calls)]
			c.permit.Answered()
			p.m.answer(c.model, now)
		}
	case opSending:
		if len(p.calls) > 0 {
			c := p.calls[o.n%len(p.calls)]
			c.permit.Sending()
			p.m.sending(c.model, now)
		}
	case opSent:
		if len(p.calls) > 0 {
			c := p.calls[o.n%len(p.calls)]
			c.permit.Sent()
			p.m.sent(c.model, now)
		}
	case opAdvance:
		p.ticks.Add(int64(max(o.d, 2*time.Duration(coarse))))
	case opDue:
		if err := p.compare(); err != nil {
			return fmt.Errorf("before: %w", err)
		}
		if at, _ := p.m.next(); at != never && at > now+2*coarse {
			p.ticks.Store(at - 1)
			if err := p.compare(); err != nil {
				return fmt.Errorf("just before: %w", err)
			}
			p.ticks.Store(at)
		}
	case opCheck:
		p.b.Check()
	case opIsolate, opHold, opRelease, opReset, opTripFor, opTryNow:
		return p.operate(now, o)
	case opKinds:
	}
	return nil
}

func (p *pair) allow(ctx context.Context, now int64) error {
	c := &pairCall{ctx: &caller{Context: ctx}}
	var err error
	c.permit, err = p.b.Allow(c.ctx)
	call, refusal := p.m.allow(now)
	c.model = call
	switch {
	case err == nil && call != nil:
		if c.permit.Trial() != call.trial {
			return fmt.Errorf("let in, trial: %t, model: %t", c.permit.Trial(), call.trial)
		}
		p.calls = append(p.calls, c)
	case err == nil:
		return fmt.Errorf("let in, the model refuses: %s", refusal)
	case call != nil:
		return fmt.Errorf("refused: %w; the model lets in", err)
	default:
		var open *OpenError
		if !errors.As(err, &open) || open.Reason != refusal {
			return fmt.Errorf("refused: %w; the model says: %s", err, refusal)
		}
		left := time.Duration(p.m.until - now)
		if p.m.until == never {
			left = 0
		}
		if open.RetryAfter() != left {
			return fmt.Errorf("%s left, model %s", open.RetryAfter(), left)
		}
	}
	return nil
}

func (p *pair) end(c *pairCall, now int64, o op) {
	switch o.kind {
	case opGood:
		c.permit.Done(nil)
		p.m.end(c.model, now, modelEnd{outcome: Success})
	case opFail:
		c.permit.Done(errors.New("down"))
		p.m.end(c.model, now, modelEnd{outcome: Failure})
	case opIgnore:
		c.permit.End(Ignored)
		p.m.end(c.model, now, modelEnd{outcome: Ignored})
	case opCancelled:
		c.ctx.err = context.Canceled
		c.permit.Done(errors.New("a driver's own words"))
		p.m.end(c.model, now, modelEnd{outcome: Ignored, gaveUp: true})
	case opDeadline:
		c.ctx.err = context.DeadlineExceeded
		c.permit.Done(fmt.Errorf("query: %w", c.ctx.err))
		limit := int64(time.Second)
		if p.m.slowOn() {
			limit = int64(p.m.SlowCall)
		}
		e := modelEnd{outcome: Ignored, gaveUp: true}
		if now-c.model.clock >= limit && !c.model.sending {
			e = modelEnd{outcome: Failure}
		}
		p.m.end(c.model, now, e)
	case opWait:
		wait := &WaitError{After: o.d, Throttled: o.flag}
		c.permit.Done(fmt.Errorf("answer: %w", wait))
		e := modelEnd{outcome: Failure, wait: o.d}
		if o.flag {
			e = modelEnd{outcome: Ignored, wait: o.d, throttled: true}
		}
		p.m.end(c.model, now, e)
	case opUnmade:
		c.permit.Cancel()
		p.m.end(c.model, now, modelEnd{unmade: true})
	default:
		panic(o)
	}
}

func (p *pair) operate(now int64, o op) error {
	until, end := time.Time{}, int64(never)
	if o.flag {
		end = now + int64(o.d) + 1
		until = epoch.Add(time.Duration(end))
	}
	d := max(o.d, time.Millisecond)
	var got, want bool
	switch o.kind {
	case opIsolate:
		got, want = p.b.Isolate("ann", "why", until) == nil, end > now
		if want {
			p.m.isolate(now, end)
		}
	case opHold:
		got, want = p.b.HoldClosed("ann", "why", until) == nil, end > now
		if want {
			p.m.holdClosed(now, end)
		}
	case opRelease:
		got, want = p.b.Release("ann", "why"), p.m.release(now)
	case opReset:
		p.b.Reset("ann", "why")
		p.m.reset(now)
	case opTripFor:
		got, want = p.b.TripFor(d, "ann", "why") == nil, p.m.tripFor(now, d)
	case opTryNow:
		got, want = p.b.TryNow("ann", "why"), p.m.tryNow(now)
	default:
		panic(o)
	}
	if got != want {
		return fmt.Errorf("%t, model %t", got, want)
	}
	return nil
}

// view is what both must agree on.
type view struct {
	State, Automatic                     State
	Since, Until                         int64
	OpenFor                              time.Duration
	Step                                 int
	Window                               Counts
	Ramping                              bool
	InFlight, Overdue                    int
	Success, Failed, Slow, Ignored, Late uint64
	Refused                              [refusalKinds]uint64
	Seq                                  uint64
}

// compare looks at both, and at what must hold of the engine alone.
func (p *pair) compare() error {
	now := p.ticks.Load()
	if got, want := p.b.State(), p.seen(now); got != want.State {
		return fmt.Errorf("state %s, model %s", got, want.State)
	}
	want, s := p.seen(now), p.b.Stats()
	got := view{
		State: s.State, Automatic: s.Automatic, Since: int64(s.Since.Sub(epoch)), Until: never,
		OpenFor: s.OpenFor, Step: s.Step, Window: s.Window, Ramping: s.RampLimit > 0, InFlight: s.InFlight, Overdue: s.Overdue,
		Success: s.Success, Failed: s.Failed, Slow: s.Slow, Ignored: s.Ignored, Late: s.Late, Seq: s.Seq,
	}
	if !s.Until.IsZero() {
		got.Until = int64(s.Until.Sub(epoch))
	}
	for i, reason := range RefusalReasons() {
		got.Refused[i] = s.Refused[reason]
	}
	if got != want {
		return fmt.Errorf("at %s:\nengine %+v\nmodel  %+v", time.Duration(now-begin), got, want)
	}
	if ended := s.Success + s.Failed + s.Slow + s.Ignored; p.m.admitted != ended+p.m.takenBack+uint64(s.InFlight) {
		return fmt.Errorf("%d admitted, but %d ended, %d taken back, %d in flight", p.m.admitted, ended, p.m.takenBack, s.InFlight)
	}
	if n := s.Success + s.Failed + s.Slow; s.Latency.Count() != n {
		return fmt.Errorf("%d latencies of %d calls", s.Latency.Count(), n)
	}
	var transitions uint64
	for _, n := range s.Transitions {
		transitions += n
	}
	if transitions != s.Seq {
		return fmt.Errorf("%d transitions counted, the last has number %d", transitions, s.Seq)
	}
	for _, c := range p.calls {
		if released := c.permit.ReleasedError() != nil; released != c.model.released {
			return fmt.Errorf("a caller was released: %t, model: %t", released, c.model.released)
		}
	}
	return nil
}

// seen is the model's view.
func (p *pair) seen(now int64) view {
	m := p.m
	m.settle(now)
	v := view{
		State: m.state, Automatic: m.state, Since: m.since, Until: m.until, OpenFor: time.Duration(m.openFor), Step: m.step,
		Window: m.counts(now), Ramping: m.ramp != nil, InFlight: len(m.calls), Overdue: m.count(m.overdue),
		Success: m.success, Failed: m.failed, Slow: m.slow, Ignored: m.ignored, Late: m.late, Seq: uint64(len(m.events)),
	}
	if m.calm(now) {
		v.Step = 0
	}
	if m.state == Isolated {
		v.Automatic = HalfOpen
	}
	if m.held {
		v.State, v.Since, v.Until = HeldClosed, m.heldSince, m.heldUntil
	}
	for i, reason := range RefusalReasons() {
		v.Refused[i] = m.refused[reason]
	}
	return v
}

func (p *pair) compareEvent(i int, got Transition) error {
	want := p.m.events[i]
	at := int64(got.At.Sub(epoch))
	if got.By != "" && got.By != "ann" {
		return fmt.Errorf("event %d is by %q", i, got.By)
	}
	got.At, got.Cause, got.By, got.Note = time.Time{}, nil, "", ""
	if got != want || at != p.m.at[i] {
		return fmt.Errorf("event:\nengine %+v at %s\nmodel  %+v at %s", got, time.Duration(at-begin), want, time.Duration(p.m.at[i]-begin))
	}
	if i > 0 && (want.From != p.m.events[i-1].To || p.m.at[i] < p.m.at[i-1]) {
		return fmt.Errorf("event does not follow the one before:\n%+v\n%+v", p.m.events[i-1], want)
	}
	return nil
}

func checkSeed(t *testing.T, seed uint64) {
	t.Helper()
	cfg, random, ops := draw(rand.New(rand.NewPCG(seed, 0)))
	if replay(t.Context(), cfg, random, ops) == nil {
		return
	}
	ops = shrink(ops, func(ops []op) bool { return replay(t.Context(), cfg, random, ops) != nil })
	var steps strings.Builder
	for _, o := range ops {
		fmt.Fprintln(&steps, o)
	}
	t.Fatalf("seed %d, %+v, random %g\n%s%v", seed, cfg, random, &steps, replay(t.Context(), cfg, random, ops))
}

// The engine does what the model does, whatever comes.
func TestBreakerAgainstModel(t *testing.T) {
	for seed := range uint64(1500) {
		checkSeed(t, seed)
	}
}

// FuzzBreakerAgainstModel is the same without end.
func FuzzBreakerAgainstModel(f *testing.F) {
	f.Add(uint64(1 << 40))
	f.Fuzz(checkSeed)
}
