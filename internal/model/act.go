package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

var errDown = errors.New("down")

func (p *Pair) allow() error {
	c := &pairCall{ctx: &caller{Context: p.ctx}}
	var err error
	c.permit, err = p.b.Allow(c.ctx)
	var refusal recloser.Reason
	c.model, refusal = p.m.allow(p.now)
	if err != nil || c.model == nil {
		return p.compareRefusal(err, c.model, refusal)
	}
	if c.permit.Trial() != c.model.trial {
		return fmt.Errorf("let in, trial: %t, model: %t", c.permit.Trial(), c.model.trial)
	}
	p.calls = append(p.calls, c)
	return nil
}

func (p *Pair) compareRefusal(err error, c *call, refusal recloser.Reason) error {
	var open *recloser.OpenError
	switch {
	case err == nil && c == nil:
		return fmt.Errorf("let in, the model refuses: %s", refusal)
	case c != nil:
		return fmt.Errorf("refused: %w; the model lets in", err)
	case !errors.As(err, &open) || open.Reason != refusal || open.Trip != p.m.refusalTrip:
		return fmt.Errorf("refused: %w; the model says: %s, trip: %s", err, refusal, p.m.refusalTrip)
	}
	left := time.Duration(p.m.until - p.now)
	if p.m.until == never {
		left = 0
	}
	left = max(0, left) // led, the open time may be over
	if open.RetryAfter() != left {
		return fmt.Errorf("%s left, model %s", open.RetryAfter(), left)
	}
	return nil
}

// do makes a call with Do.
func (p *Pair) do(o Op) error {
	panics := o.N%5 == 0
	fails := panics || o.Flag
	ran := false
	var c *call
	err := shielded(func() error {
		return p.b.Do(p.ctx, func(context.Context) error {
			ran = true
			c, _ = p.m.allow(p.now)
			if o.N%2 == 0 {
				p.advance(max(o.D, exact))
			}
			switch {
			case panics:
				panic(errDown)
			case fails:
				return errDown
			}
			return nil
		})
	})
	if !ran {
		c, refusal := p.m.allow(p.now)
		return p.compareRefusal(err, c, refusal)
	}
	if c == nil {
		return errors.New("let in, the model refuses")
	}
	e := ending{outcome: recloser.Success}
	if fails {
		e.outcome = recloser.Failure
	}
	p.m.end(c, p.now, e)
	if fails != errors.Is(err, errDown) || !fails && err != nil {
		return fmt.Errorf("%w from Do, the call failed: %t", err, fails)
	}
	return nil
}

// shielded returns errDown if do panics with it.
func shielded(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			if v != any(errDown) {
				panic(v)
			}
			err = errDown
		}
	}()
	return do()
}

// onCall does something with a call that runs: an end takes mostly the oldest.
func (p *Pair) onCall(o Op) {
	i := o.N % len(p.calls)
	switch o.Kind {
	case Answered:
		p.calls[i].permit.Answered()
		p.m.answer(p.calls[i].model, p.now)
		return
	case Sending:
		p.calls[i].permit.Sending()
		p.m.sending(p.calls[i].model, p.now)
		return
	case Sent:
		p.calls[i].permit.Sent()
		p.m.sent(p.calls[i].model, p.now)
		return
	default:
	}
	if o.N%3 != 0 {
		i = 0
	}
	c := p.calls[i]
	p.calls = slices.Delete(p.calls, i, i+1)
	p.ended = append(p.ended, c)
	p.m.end(c.model, p.now, p.end(c, o))
}

// end ends a call of the breaker and returns what the model is to be told.
func (p *Pair) end(c *pairCall, o Op) ending {
	switch o.Kind {
	case Good:
		c.permit.Done(nil)
		return ending{outcome: recloser.Success}
	case Fail:
		c.permit.Done(errDown)
		return ending{outcome: recloser.Failure}
	case Ignore:
		c.permit.End(recloser.Ignored)
		return ending{outcome: recloser.Ignored}
	case Cancelled:
		c.ctx.err = context.Canceled
		c.permit.Done(errors.New("a driver's own words"))
		return ending{outcome: recloser.Ignored, gaveUp: true}
	case Deadline:
		c.ctx.err = context.DeadlineExceeded
		c.permit.Done(fmt.Errorf("query: %w", c.ctx.err))
		limit := c.model.limit
		if limit == 0 {
			limit = int64(time.Second)
		}
		if p.now-c.model.clock >= limit && !c.model.sending {
			return ending{outcome: recloser.Failure}
		}
		return ending{outcome: recloser.Ignored, gaveUp: true}
	case Wait:
		c.permit.Done(fmt.Errorf("answer: %w", &recloser.WaitError{After: o.D, Throttled: o.Flag}))
		if o.Flag {
			return ending{outcome: recloser.Ignored, wait: o.D, throttled: true}
		}
		return ending{outcome: recloser.Failure, wait: o.D}
	case Unmade:
		c.permit.Cancel()
		return ending{unmade: true}
	default:
		panic(o)
	}
}

// misuse reports everything there is of a call that has ended.
func misuse(c *recloser.Permit) {
	c.Sending()
	c.Sent()
	c.Answered()
	c.Done(nil)
	c.Done(errDown)
	c.End(recloser.Failure)
	c.Cancel()
}

func (p *Pair) operate(o Op) error {
	end, until := int64(never), time.Time{}
	if o.Flag {
		end = p.now + int64(o.D) + 1
		until = timeOf(end, p.now, p.clock.Now())
	}
	d := max(o.D, time.Millisecond)
	var got, want bool
	switch o.Kind {
	case Isolate:
		got, want = p.b.Isolate("ann", "why", until) == nil, end > p.now
		if want {
			p.m.isolate(p.now, end, until)
		}
	case Hold:
		got, want = p.b.HoldClosed("ann", "why", until) == nil, end > p.now
		if want {
			p.m.holdClosed(p.now, end, until)
		}
	case Release:
		got, want = p.b.Release("ann", "why"), p.m.release(p.now)
	case Reset:
		p.b.Reset("ann", "why")
		p.m.reset(p.now)
	case TripFor:
		got, want = p.b.TripFor(d, "ann", "why") == nil, p.m.tripFor(p.now, d)
	case TripNow:
		got, want = p.b.TripNow("ann", "why"), p.m.tripNow(p.now)
	case TryNow:
		got, want = p.b.TryNow("ann", "why"), p.m.tryNow(p.now)
	default:
		panic(o)
	}
	if got != want {
		return fmt.Errorf("%t, model %t", got, want)
	}
	return nil
}

// update puts settings in force; wrong ones must change nothing.
func (p *Pair) update(cfg recloser.Config) error {
	wrong := cfg
	wrong.Trials, wrong.OpenFor = 1000, time.Minute
	if p.b.Update(wrong) == nil {
		return errors.New("settings that are wrong were put in force")
	}
	cfg.HoldSuspicion = p.cfg.HoldSuspicion
	if err := p.b.Update(cfg); err != nil {
		return err
	}
	cfg.Name, cfg.Clock = p.cfg.Name, p.clock
	p.cfg = cfg
	p.m.update(p.now, cfg)
	got, want := p.b.Config(), cfg.WithDefaults()
	got.HoldSuspicion, want.HoldSuspicion = nil, nil // functions cannot be compared
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("in force %+v, want %+v", got, want)
	}
	return nil
}

// witness asks a call whether it runs on as one.
func (p *Pair) witness(o Op) error {
	if len(p.calls) == 0 {
		return nil
	}
	c := p.calls[o.N%len(p.calls)]
	if got, want := c.permit.Witness(), p.m.callWitness(c.model, p.now); got != want {
		return fmt.Errorf("a witness: %t, model: %t", got, want)
	}
	return nil
}

// save compares what both save, and keeps it as JSON would.
func (p *Pair) save() error {
	got, want := p.b.Save(), p.m.save(p.now, p.clock.Now())
	want.Cause = got.Cause
	if o := got.Override; o != nil && want.Override != nil {
		want.Override.By, want.Override.Why = o.By, o.Why
	}
	text, err := json.Marshal(got)
	if err != nil {
		return err
	}
	model, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if string(text) != string(model) {
		return fmt.Errorf("saved:\nengine %s\nmodel  %s", text, model)
	}
	p.saved = &recloser.Saved{}
	return json.Unmarshal(text, p.saved)
}

// restore goes back to what was saved, with calls under way.
func (p *Pair) restore() error {
	if p.saved == nil {
		return nil
	}
	p.listen(p.b.Stats().Seq)
	if err := p.b.Restore(*p.saved); err != nil {
		return err
	}
	p.seq = max(p.seq, p.saved.Seq)
	p.m.restore(*p.saved, p.now, p.clock.Now())
	return nil
}

// restart makes both anew. Calls that run are lost with the process.
func (p *Pair) restart(o Op) error {
	if err := p.save(); err != nil {
		return err
	}
	if err := p.compare(); err != nil {
		return err
	}
	p.setWall(o)
	if err := p.make(); err != nil {
		return err
	}
	return p.restore()
}

// setWall sets the clock, which ages nothing.
func (p *Pair) setWall(o Op) {
	p.listen(p.b.Stats().Seq)
	d := o.D
	if o.Flag {
		d = -d
	}
	p.clock.SetWall(p.clock.Now().Add(d))
}
