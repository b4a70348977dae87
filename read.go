package recloser

import (
	"fmt"
	"slices"
	"time"
)

const refusalKinds = 6

// refusalIndex is where refusals for that reason are counted.
func refusalIndex(reason Reason) int { return slices.Index(RefusalReasons(), reason) }

// Stats returns what the breaker knows at this moment.
func (b *Breaker) Stats() (s Stats) {
	now := b.now()
	b.act(now, func(now int64) { s = b.read(now) })
	return s
}

func (b *Breaker) read(now int64) Stats {
	p := b.cur.Load()
	s := Stats{
		Name: b.rules.Name, State: p.state, Automatic: p.state, Reason: p.reason,
		Since: b.timeAt(p.since), Until: b.timeAt(p.until), OpenFor: b.openFor, Step: b.step, Cause: b.cause, Seq: b.log.seq,
		MinCalls: b.MinCalls, SlowCall: b.SlowCall, Ramping: p.ramp.Load() != nil,
		InFlight: int(b.adrift.Load()) + len(p.leased), Overdue: int(b.overdue(p)),
		Success: b.good.total() + b.otherGood, Failed: b.failed, Slow: b.slowCalls, Ignored: b.ignored, Late: b.late,
		Refused: make(map[Reason]uint64, refusalKinds), Transitions: make(map[TransitionKey]uint64, len(TransitionKeys())),
		Latency: sumOf(&b.good, &b.rest),
	}
	o := p.override
	switch hold := b.hold.Load(); {
	case hold != nil:
		o, s.State, s.Reason = hold, HeldClosed, ReasonHeldClosed
		s.Since = b.timeAt(hold.since)
	case p.state == Isolated:
		s.Automatic = HalfOpen
	}
	if o != nil {
		s.Until = o.end
		s.Override = &Override{State: s.State, By: o.by, Why: o.why, Since: b.timeAt(o.since), Until: o.end}
	}
	s.Window = b.countsAt(p, now)
	if p.state == Closed {
		s.InFlight += int(p.running.calls())
		if b.calm(p, now) {
			s.Step = 0
		}
	}
	for i, reason := range RefusalReasons() {
		s.Refused[reason] = b.refused[i].Load()
	}
	for _, key := range TransitionKeys() {
		s.Transitions[key] = b.log.counts[key]
	}
	return s
}

// countsAt returns what p has to decide on: the window, or the good trials.
func (b *Breaker) countsAt(p *period, now int64) Counts {
	if p.state != Closed {
		return Counts{Good: uint64(p.good)}
	}
	w := p.window.sum(&b.rules, now, b.good.total())
	return w.counts(p)
}

// Explain says in one line why the breaker is or is not open.
func (b *Breaker) Explain() (text string) {
	now := b.now()
	b.act(now, func(now int64) { text = b.explain(now) })
	return text
}

func (b *Breaker) explain(now int64) string {
	p := b.cur.Load()
	if o := b.hold.Load(); o != nil {
		return fmt.Sprintf("held closed (passing by hand) by %s: %s; automatic would be %s: %s", o.by, o.why, p.state, b.explainAutomatic(p, now))
	}
	return fmt.Sprintf("%s (%s): %s", p.state, p.state.Effect(), b.explainAutomatic(p, now))
}

func (b *Breaker) explainAutomatic(p *period, now int64) string {
	switch p.state {
	case Open:
		text := fmt.Sprintf("%s; trials in %s", b.whyOpen(p), short(rounded(p.until-now)))
		if b.cause != nil {
			text += "; last failure: " + b.cause.Error()
		}
		return text
	case HalfOpen:
		return fmt.Sprintf("%d of %d trials good, %d running", p.good, b.Trials, len(p.leased))
	case Isolated:
		return fmt.Sprintf("by %s: %s", p.override.by, p.override.why)
	case Closed, HeldClosed:
	}
	c := b.countsAt(p, now)
	text := b.explainRate(c)
	if b.Consecutive > 0 {
		text += fmt.Sprintf("; %d bad in a row, limit %d", c.Run, b.Consecutive)
	}
	if r := p.ramp.Load(); r != nil {
		text += fmt.Sprintf("; slow start: at most %d calls at once", r.limit)
	}
	return text
}

// explainRate says how far the window is from tripping.
func (b *Breaker) explainRate(c Counts) string {
	text := fmt.Sprintf("%d calls", c.Judged())
	if c.Judged() < uint64(b.MinCalls) {
		text = fmt.Sprintf("%d of %d calls", c.Judged(), b.MinCalls)
	}
	if c.Judged() > 0 {
		text += fmt.Sprintf(", %.0f %% bad", 100*float64(c.Bad())/float64(c.Judged()))
	}
	if b.FailureRate > 0 {
		text += fmt.Sprintf(", limit %.4g %%", 100*b.FailureRate)
	}
	return text
}

// whyOpen says what opened the breaker.
func (b *Breaker) whyOpen(p *period) string {
	c := p.began.Counts
	switch p.reason {
	case ReasonRate:
		return b.explainRate(c)
	case ReasonRun:
		return fmt.Sprintf("%d bad calls in a row", c.Run)
	case ReasonTripped:
		return "tripped by " + p.began.By
	default:
		return string(p.reason)
	}
}

// rounded cuts a duration of the clock to what people read.
func rounded(ns int64) time.Duration {
	return time.Duration(max(ns, 0)).Round(100 * time.Millisecond)
}
