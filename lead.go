package recloser

import (
	"errors"
	"fmt"
	"time"
)

// An Order is what a fleet says of a dependency, for the breaker of one of its nodes.
type Order struct {
	State  State         // Closed, Open or HalfOpen
	For    time.Duration // of Open: what is left of the open time
	Trials uint64        // of HalfOpen: how many calls this breaker may have let in as trials of the fleet, since it was made; Report.Taken are
	Grace  time.Duration // of Open and HalfOpen: the breaker decides for itself when For and then this have passed without another order
	Step   int           // of Open: how often the open time has been doubled
	Cause  string        // of Open: the last failure seen
	Note   string        // for people: what the nodes have seen
}

// Follow puts in force what a fleet says. The breaker is then as strict as the
// strictest of its operator, the fleet and its own rules: an isolation stays, and so
// does an open time of its own that is not over. Closed ends what the fleet had opened,
// with a slow start, and does nothing else. Half-open, the breaker lets in no more
// trials than the order says; a bad one opens it at once, good ones are counted in its
// Report and close nothing: that is for the fleet to say.
//
// No call waits for a fleet, and where none says anything the breaker decides for
// itself: see Order.Grace. Follow may be called with the same order again and again.
func (b *Breaker) Follow(o Order) error {
	if err := o.check(); err != nil {
		return err
	}
	now := b.now()
	b.act(now, func(now int64) {
		p := b.cur.Load()
		b.leadEnd = now + int64(o.For) + int64(o.Grace)
		switch {
		case o.State == Closed:
			b.endLed(p, now, o)
		case p.state == Isolated:
		case o.State == Open:
			b.followOpen(p, now, o)
		case b.ownUntil(p) <= now:
			if p.state != HalfOpen || !p.led {
				b.halfOpen(now, ReasonFleet, Transition{Note: o.Note})
				b.cur.Load().led = true
			}
			b.allowed = o.Trials
		}
	})
	return nil
}

func (o *Order) check() error {
	switch {
	case o.State != Closed && o.State != Open && o.State != HalfOpen:
		return fmt.Errorf("recloser: an order cannot be %s: it must be closed, open or half-open", o.State)
	case o.For < 0 || o.Grace < 0 || int64(o.For) > maxLease || int64(o.Grace) > maxLease:
		return errors.New("recloser: For and Grace of an order must be from 0 to 24h")
	case o.Step < 0:
		return errors.New("recloser: the Step of an order must not be negative")
	}
	return nil
}

// lead is what a breaker knows of the fleet that it follows.
type lead struct {
	leadEnd               int64  // until then the fleet decides what follows
	own                   int64  // led: until then the breaker's own rules say open as well
	allowed, taken        uint64 // trials of the fleet
	bad                   uint64 // calls of closed periods
	trialsGood, trialsBad uint64 // of led periods
}

// followOpen opens, or has an open time end when the fleet says.
func (b *Breaker) followOpen(p *period, now int64, o Order) {
	until := now + int64(o.For)
	b.step, b.tripped = b.rules().inReach(o.Step), true // from where it goes on, once it is alone
	if p.state != Open {
		if o.Cause != "" {
			b.cause = errors.New(o.Cause)
		}
		b.led(now, until, ReasonFleet, Transition{Note: o.Note})
		return
	}
	if !p.led {
		p.led, b.own = true, p.until.Load()
	}
	p.until.Store(max(until, b.own))
	b.openFor = time.Duration(p.until.Load() - p.since)
	was := p.refused.Load()
	p.refused.Store(&refused{b.refusalOf(p, was.err.Reason), was.calls})
}

// led opens until the fleet says otherwise.
func (b *Breaker) led(at, until int64, reason Reason, t Transition) {
	b.open(at, until, reason, t)
	b.cur.Load().led, b.own = true, 0
}

// staysLed has the open time that follows the led trials of p be the fleet's as well.
func (b *Breaker) staysLed(p *period) {
	if next := b.cur.Load(); p.led && next.state == Open {
		b.trialsBad++
		next.led, b.own = true, 0
		if next.began.Reason == ReasonToldToWait {
			b.own = next.until.Load()
		}
	}
}

// ownUntil returns until when the breaker's own rules say open; 0 if they do not.
func (b *Breaker) ownUntil(p *period) int64 {
	switch {
	case p.state != Open:
		return 0
	case p.led:
		return b.own
	}
	return p.until.Load()
}

// endLed closes what the fleet had opened.
func (b *Breaker) endLed(p *period, now int64, o Order) {
	switch {
	case !p.led:
	case b.ownUntil(p) > now:
		p.led = false
		p.until.Store(b.own)
	default:
		b.reclose(now, Transition{Reason: ReasonFleet, Note: o.Note})
	}
}

// endOfOpen returns when an open time ends by itself.
func (b *Breaker) endOfOpen(p *period) int64 {
	if p.led {
		return max(p.until.Load(), b.leadEnd)
	}
	return p.until.Load()
}

// endOfLead returns when the breaker itself decides on the trials that follow.
func (b *Breaker) endOfLead(p *period) int64 {
	if p.led {
		return b.leadEnd
	}
	return never
}

func (b *Breaker) endLead(p *period, _, _ int64) { p.led = false }

// A Report is what a breaker tells the fleet that it belongs to. Reports are alike as
// long as there is nothing new to tell.
type Report struct {
	Seq       uint64 // of the last transition
	Automatic State  // what the rules or the fleet say, whatever an operator set
	Led       bool   // that is what the fleet says
	Own       bool   // open: the breaker's own rules say so as well
	Good, Bad uint64 // calls since the start that were judged while it was closed (trials that were good are in Good); who gave up a call that seemed to hang counts as bad
	Refused   uint64 // calls since the start that were refused since it was open, also as the dependency named the time, or all trials taken

	Taken                 uint64        // trials of the fleet, since the start
	Running               int           // trials that run
	TrialsGood, TrialsBad uint64        // since the start, of those of the fleet
	TrialTime             time.Duration // half-open: how long a trial may take
}

// Report performs what is due, as Check does, and returns what there is to tell. It is
// meant to be called many times a second.
func (b *Breaker) Report() Report {
	now := b.now()
	if now >= b.cur.Load().due.Load() {
		b.look(now)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.cur.Load()
	r := Report{Automatic: p.state, Led: p.led, Good: b.goods()}
	if b.log != nil {
		r.Seq = b.log.seq
	}
	if b.past == nil {
		return r
	}
	r.Own = b.ownUntil(p) > now
	r.Bad, r.Taken, r.TrialsGood, r.TrialsBad = b.bad, b.taken, b.trialsGood, b.trialsBad
	for _, reason := range [...]Reason{ReasonOpen, ReasonToldToWait, ReasonTrialSlots} {
		r.Refused += b.refused[refusalIndex(reason)].Load()
	}
	if p.state == HalfOpen {
		r.Running = len(p.leased)
		r.TrialTime = time.Duration(b.rules().slow())
		if r.TrialTime == 0 {
			r.TrialTime = time.Duration(b.lease())
		}
	}
	return r
}
