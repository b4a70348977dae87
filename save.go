package recloser

import (
	"errors"
	"fmt"
	"time"
)

// Saved is what a breaker carries over a restart of its process. It is plain
// data, and its JSON is stable.
type Saved struct {
	At       time.Time     // when it was saved
	State    State         // what the rules said: Closed, Open or HalfOpen
	Since    time.Time     // when that began
	Until    time.Time     // Open: when it ends
	OutSince time.Time     // when the rules first cut it off, of an outage that lasts; zero if they have not
	OpenFor  time.Duration // length of the last open time
	Trip     Reason        // what opened it last; "" if nothing did
	Cause    string        // the last failure seen
	Tripped  bool          // Step counts
	Step     int           // how often the open time has been doubled
	Longest  time.Duration // the longest good call lately, for the leases of trials
	Leases   int           // how often in a row a trial ran out its lease
	Override *Override     // what an operator set; nil if nothing
	Seq      uint64        // of the last transition
}

// Save returns what Restore needs. The window and the statistics are not in it.
func (b *Breaker) Save() Saved {
	s, cause := b.save(b.now())
	if cause != nil {
		s.Cause = fmt.Sprint(cause) // outside the lock: its Error may use the breaker
	}
	return s
}

func (b *Breaker) save(now int64) (s Saved, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.settle(now)
	st, p := b.read(now), b.cur.Load()
	s = Saved{
		At: st.At, State: st.Automatic, Since: b.timeAt(p.since), OutSince: st.OutSince, OpenFor: st.OpenFor, Step: st.Step, Override: st.Override, Seq: st.Seq,
	}
	if p.state == Open {
		s.Until = b.timeAt(p.until.Load())
	}
	if b.past != nil {
		s.Trip, s.Longest, s.Leases = b.tripReason, time.Duration(b.longest), b.leases
		s.Tripped = b.tripped && !b.calm(p, now)
		cause = b.cause
	}
	if longest := p.longest.Load(); longest > 0 {
		s.Longest = time.Duration(longest)
	}
	return s, cause
}

// Restore puts the breaker in the state that Save returned, in this process or
// before a restart. Time went on meanwhile: an open time or an override that has
// passed is over, and none lasts longer than its whole length from now, whatever
// the wall clock says. Listeners are told, with ReasonRestored, unless it was
// closed and is. Otherwise calls that run are late. What makes no sense is an error, and
// changes nothing.
func (b *Breaker) Restore(s Saved) error {
	if err := s.check(); err != nil {
		return err
	}
	now := b.now()
	b.act(now, func(now int64) {
		b.step, b.tripped, b.leases = b.rules().inReach(s.Step), s.Tripped, s.Leases
		b.tripReason, b.openFor, b.cause = s.Trip, s.OpenFor, nil
		if s.Cause != "" {
			b.cause = errors.New(s.Cause)
		}
		b.events().seq = max(b.events().seq, s.Seq)
		b.restore(s, now)
		b.longest, b.slowestTrial = int64(s.Longest), 0 // not those of the periods before
	})
	return nil
}

func (b *Breaker) restore(s Saved, now int64) {
	began := func(t time.Time) int64 { return min(now, b.clockAt(t, now)) }
	t := Transition{Reason: ReasonRestored}
	var p *period
	switch s.State {
	case Open:
		p = b.newPeriod(Open, began(s.Since), max(now, min(b.clockAt(s.Until, now), now+min(int64(s.OpenFor), maxLease))), s.Trip)
	case HalfOpen:
		p = b.newPeriod(HalfOpen, began(s.Since), never, ReasonRestored)
	case Closed, Isolated, HeldClosed:
		p = b.newPeriod(Closed, now, never, ReasonRestored)
	}
	if b.out = !s.OutSince.IsZero(); b.out {
		b.outSince = began(s.OutSince)
	}
	var hold *override
	if o := s.Override; o != nil {
		put := &override{by: o.By, why: o.Why, since: began(o.Since), until: b.clockAt(o.Until, now), end: o.Until}
		if whole := o.Until.Sub(o.Since); whole > 0 && int64(whole) < never-now && put.until > now+int64(whole) && put.until != never {
			put.until = now + int64(whole)
			put.end = b.timeAt(put.until)
		}
		over := put.until <= now
		switch {
		case over && o.State == Isolated:
			p = b.newPeriod(HalfOpen, now, never, ReasonRestored)
		case over:
		case o.State == Isolated:
			p = b.newPeriod(Isolated, put.since, put.until, ReasonRestored)
			p.override = put
			t.By, t.Note = o.By, o.Why
		default:
			hold = put
			t.By, t.Note = o.By, o.Why
		}
	}
	held := b.hold.Swap(hold)
	if p.state == Closed && hold == nil && held == nil && b.cur.Load().state == Closed {
		return
	}
	b.enter(p, now, t)
}

// check reports what makes no sense.
func (s *Saved) check() error {
	switch {
	case s.State != Closed && s.State != Open && s.State != HalfOpen:
		return fmt.Errorf("recloser: cannot restore the state %s: it must be closed, open or half-open", s.State)
	case s.State == Open && (s.Until.IsZero() || s.OpenFor <= 0):
		return errors.New("recloser: cannot restore: open, and no end given (Until, OpenFor)")
	case s.Seq > 1<<62:
		return fmt.Errorf("recloser: cannot restore: Seq %d is no number of a transition", s.Seq)
	case s.Step < 0 || s.Leases < 0 || s.Longest < 0 || s.OpenFor < 0:
		return errors.New("recloser: cannot restore: Step, Leases, Longest and OpenFor must not be negative")
	case s.Override != nil && s.Override.State != Isolated && s.Override.State != HeldClosed:
		return fmt.Errorf("recloser: cannot restore an override to %s: it must be isolated or held-closed", s.Override.State)
	}
	return nil
}
