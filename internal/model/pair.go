package model

import (
	"context"
	"fmt"
	"time"

	"github.com/recloser-go/recloser"
)

// Pair is a breaker and a model that are told the same. It is not safe for
// concurrent use.
type Pair struct {
	// Crowd has the breaker believe that processors get into each other's way, for
	// the step of that name; nil: nothing does.
	Crowd func(*recloser.Breaker)

	ctx   context.Context
	cfg   recloser.Config
	b     *recloser.Breaker
	clock *recloser.Clock
	now   int64 // what the clock shows
	m     *model
	saved *recloser.Saved
	calls []*pairCall // that run
	ended []*pairCall

	events chan recloser.Transition
	heard  []event // since the breaker was made
	seq    uint64  // of the last one
	agreed int     // so many of heard were compared
	fault  error   // of an open time that was drawn
}

type pairCall struct {
	ctx    *caller
	permit recloser.Permit
	model  *call
}

// caller is a context that ends when the test says so.
type caller struct {
	context.Context
	err error
}

func (c *caller) Err() error { return c.err }

// exact is how exactly the engine keeps the start and end of the latest good
// call: steps of time are longer.
const exact = 8 * time.Millisecond

// epoch is when the clock begins.
var epoch = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// NewPair returns a breaker with the settings of cfg, and its model.
func NewPair(ctx context.Context, cfg recloser.Config) (*Pair, error) {
	p := &Pair{ctx: ctx, clock: recloser.NewManualClock(epoch)}
	p.advance(time.Hour)
	cfg.Clock, cfg.HoldSuspicion = p.clock, func() bool { return p.m.holds }
	p.cfg = cfg
	return p, p.make()
}

func (p *Pair) make() (err error) {
	p.b, err = recloser.New(p.cfg)
	if err != nil {
		return err
	}
	p.events = make(chan recloser.Transition, 64)
	events := p.events
	p.b.Subscribe(func(t recloser.Transition) { events <- t })
	p.heard, p.seq, p.agreed, p.calls = nil, 0, 0, nil
	p.m = newModel(p.cfg, p.now)
	p.m.drawn = p.drawn
	return nil
}

func (p *Pair) advance(d time.Duration) {
	p.clock.Advance(d)
	p.now += int64(d)
}

// listen takes in what the listener is told, up to the transition with that number.
func (p *Pair) listen(last uint64) {
	for p.seq < last {
		t := <-p.events
		p.seq = t.Seq
		p.heard = append(p.heard, event{t, p.now + int64(t.At.Sub(p.clock.Now()))})
	}
}

// drawn returns the open time that the engine drew, which must be in the range.
func (p *Pair) drawn(seq uint64, low, high time.Duration) time.Duration {
	p.listen(p.b.Stats().Seq)
	for _, e := range p.heard {
		if e.Seq != seq {
			continue
		}
		if e.OpenFor < low-1 || e.OpenFor > high { // the engine rounds down
			p.fault = fmt.Errorf("open for %s, must be from %s to %s", e.OpenFor, low, high)
		}
		return e.OpenFor
	}
	return low // there is no such transition: the next comparison says so
}

// Run applies all steps and returns what the engine did otherwise than the model.
func (p *Pair) Run(ops []Op) error {
	for i, o := range ops {
		if err := p.Apply(o); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, o, err)
		}
	}
	return p.compare()
}

// Apply takes one step with both and returns what they did not agree on.
func (p *Pair) Apply(o Op) error {
	if err := p.apply(o); err != nil {
		return err
	}
	if o.Kind == Advance && o.Flag {
		return nil // the next step finds out what became due
	}
	return p.compare()
}

func (p *Pair) apply(o Op) error {
	switch o.Kind {
	case Allow:
		return p.allow()
	case Do:
		return p.do(o)
	case Good, Fail, Ignore, Cancelled, Deadline, Wait, Unmade, Answered, Sending, Sent:
		if len(p.calls) > 0 {
			p.onCall(o)
		}
	case Twice:
		if len(p.ended) > 0 {
			misuse(&p.ended[o.N%len(p.ended)].permit)
		}
	case Advance:
		p.advance(max(o.D, exact))
	case Due:
		return p.toDue()
	case Check:
		p.b.Check()
	case Isolate, Hold, Release, Reset, TripFor, TripNow, TryNow:
		return p.operate(o)
	case Update:
		return p.update(o.Config)
	case Save:
		return p.save()
	case Restore:
		return p.restore()
	case Restart:
		return p.restart(o)
	case SetWall:
		p.setWall(o)
	case Suspect:
		if o.Flag {
			o.D = recloser.Off
		}
		p.b.SetSuspect(o.D)
		p.m.setSuspect(p.now, o.D)
	case HoldSuspicion:
		p.m.holds = o.Flag
	case HoldTrials:
		if got, want := p.b.HoldTrials(o.D), p.m.holdTrials(p.now, o.D); got != want {
			return fmt.Errorf("%t, model %t", got, want)
		}
	case Witness:
		return p.witness(o)
	case Follow:
		return p.follow(o)
	case Crowd:
		if p.Crowd != nil {
			p.Crowd(p.b)
		}
	case Kinds:
	}
	return nil
}

// toDue goes to just before what the model does next, and then onto it.
func (p *Pair) toDue() error {
	if err := p.compare(); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	at, _ := p.m.next()
	if at == never || at <= p.now+int64(exact) {
		return nil
	}
	p.advance(time.Duration(at - 1 - p.now))
	if err := p.compare(); err != nil {
		return fmt.Errorf("just before: %w", err)
	}
	p.advance(1)
	return nil
}
