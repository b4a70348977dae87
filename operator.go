package recloser

import (
	"errors"
	"fmt"
	"time"
)

// override is what an operator set.
type override struct {
	by, why      string
	since, until int64
	end          time.Time // until, as it was given
}

// endOf returns when an override ends, as seen at now: a coarse clock may have
// lost time since it was set, and its end is a time of day.
func (b *Breaker) endOf(o *override, now int64) int64 {
	if b.reviewOf(o, now) == never {
		return o.until
	}
	return min(o.until, b.clockAt(o.end, now))
}

// reviewOf returns when to look at the end of an override again, never where the
// clock loses no time.
func (b *Breaker) reviewOf(o *override, now int64) int64 {
	if b.cfg().Clock == nil || b.cfg().Clock.manual || o.end.IsZero() {
		return never
	}
	return now + int64(time.Second)
}

// review does nothing: that something was due is enough for next to be asked.
func (b *Breaker) review(*period, int64, int64) {}

// ErrIsolated is what TripFor returns for an isolated breaker.
var ErrIsolated = errors.New("recloser: isolated by an operator; release it first")

// Isolate refuses all calls, with no trials, until the given time or until
// Release; the zero time means no end. Calls that run go on. It replaces an
// override there is. by and why are kept for people. A time that has passed is
// an error, and changes nothing.
func (b *Breaker) Isolate(by, why string, until time.Time) error {
	return b.set(by, why, until, func(o *override) {
		b.hold.Store(nil)
		p := b.newPeriod(Isolated, o.since, o.until, ReasonIsolated)
		p.override = o
		b.enter(p, o.since, Transition{Reason: ReasonIsolated, By: by, Note: why})
	})
}

// HoldClosed lets all calls pass until the given time or until Release; the
// zero time means no end. The rules go on, and what they say is shown as the
// automatic state; trials that run get no verdict. It replaces an override
// there is. A time that has passed is an error, and changes nothing.
func (b *Breaker) HoldClosed(by, why string, until time.Time) error {
	return b.set(by, why, until, func(o *override) {
		b.hold.Store(o)
		t := Transition{Reason: ReasonHeldClosed, By: by, Note: why}
		p := b.cur.Load()
		if p.state != Isolated && p.state != HalfOpen {
			b.show(HeldClosed, o.since, t)
			return
		}
		next := b.newPeriod(HalfOpen, o.since, never, ReasonHeldClosed)
		next.early = p.early
		b.enter(next, o.since, t)
	})
}

// set checks an override's end and puts it in force.
func (b *Breaker) set(by, why string, until time.Time, put func(*override)) (err error) {
	now := b.now()
	end := b.clockAt(until, now)
	b.act(now, func(now int64) {
		if end <= now {
			err = fmt.Errorf("recloser: the end %s has passed; give a later one, or the zero time for none", until.Format(time.RFC3339))
			return
		}
		put(&override{by: by, why: why, since: now, until: end, end: until})
	})
	return err
}

// show tells the listeners of a change that leaves the period as it is.
func (b *Breaker) show(to State, at int64, t Transition) {
	p := b.cur.Load()
	t.To, t.Automatic = to, p.state
	if to == Open {
		t.OpenFor, t.Step, t.Cause = b.openFor, b.step, b.cause
	}
	b.emit(at, t)
}

// Release takes an override back: after an isolation trials start, after a hold
// the automatic state is in force. It reports false if there was no override.
func (b *Breaker) Release(by, why string) (released bool) {
	now := b.now()
	b.act(now, func(now int64) {
		t := Transition{Reason: ReasonReleased, By: by, Note: why}
		switch {
		case b.hold.Load() != nil:
			b.hold.Store(nil)
			b.show(b.cur.Load().state, now, t)
		case b.cur.Load().state == Isolated:
			b.halfOpen(now, ReasonReleased, t)
		default:
			return
		}
		released = true
	})
	return released
}

func (b *Breaker) endHold(p *period, at, _ int64) {
	o := b.hold.Load()
	b.hold.Store(nil)
	b.show(p.state, at, Transition{Reason: ReasonExpired, By: o.by, Note: o.why})
}

// Reset closes the breaker with an empty window and forgets the doubling of
// open times. An override stays; an isolated breaker only forgets.
func (b *Breaker) Reset(by, why string) {
	now := b.now()
	b.act(now, func(now int64) {
		b.step, b.tripped, b.leases = 0, false, 0
		if b.cur.Load().state != Isolated {
			b.enter(b.newPeriod(Closed, now, never, ReasonReset), now, Transition{Reason: ReasonReset, By: by, Note: why})
		}
	})
}

// TripFor opens the breaker for d, from 1 ms to 24 h, whatever its state; the
// doubling of open times stays as it is. An isolated breaker stays isolated:
// ErrIsolated.
func (b *Breaker) TripFor(d time.Duration, by, why string) (err error) {
	if d < time.Millisecond || d > 24*time.Hour {
		return fmt.Errorf("recloser: cannot trip for %s: must be from 1ms to 24h", d)
	}
	now := b.now()
	b.act(now, func(now int64) {
		if b.cur.Load().state == Isolated {
			err = ErrIsolated
			return
		}
		b.open(now, now+int64(d), ReasonTripped, Transition{By: by, Note: why})
	})
	return err
}

// TripNow opens a closed breaker as a rule would: with a step, and jitter. It
// reports false if the rules do not say closed, or an operator isolated it. It is for
// who has other evidence than calls, such as probes.
func (b *Breaker) TripNow(by, why string) (tripped bool) {
	now := b.now()
	b.act(now, func(now int64) {
		if p := b.cur.Load(); p.state == Closed {
			b.trip(now, b.stepAfterClosed(p, now), ReasonProbe, Transition{By: by, Note: why, Counts: b.countsAt(p, now)})
			tripped = true
		}
	})
	return tripped
}

// HoldTrials has an open time that runs end no sooner than in d, and reports
// false if the rules do not say open. It may be called again and again, with up to
// 24 h, and never shortens. It is for who knows, such as by probes, that trials would fail.
func (b *Breaker) HoldTrials(d time.Duration) (open bool) {
	now := b.now()
	b.act(now, func(now int64) {
		p := b.cur.Load()
		if open = p.state == Open; !open || int64(d) <= p.until.Load()-now {
			return
		}
		p.until.Store(max(p.until.Load(), now+min(int64(d), maxLease)))
		if p.led {
			b.own = p.until.Load()
		}
		b.openFor = time.Duration(p.until.Load() - p.since)
		was := p.refused.Load()
		p.refused.Store(&refused{b.refusalOf(p, was.err.Reason), was.calls})
	})
	return open
}

// TryNow starts trials before the open time is over. It reports false if the
// rules do not say open. If these trials fail, the open time does not grow.
func (b *Breaker) TryNow(by, why string) (tried bool) {
	now := b.now()
	b.act(now, func(now int64) {
		if b.cur.Load().state == Open {
			b.halfOpen(now, ReasonEarly, Transition{By: by, Note: why})
			tried = true
		}
	})
	return tried
}
