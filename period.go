package recloser

import (
	"sync/atomic"
	"time"
)

// period is one stay in a state. A call reports to the period that admitted
// it, so a late result cannot decide anything newer, and nothing has to be
// cleared: the next period is a new object.
type period struct {
	// What calls look at without the lock.
	// Up to the words of the first ring that is one cache line.
	short     atomic.Int64 // until then calls are let in and need no more than to be counted; if negative, until -short all are refused
	quiet     atomic.Int64 // until then a good end matters to no rule
	rings     atomic.Pointer[rings]
	goodStart atomic.Int64 // start of the good call that started last
	goodEnd   atomic.Int64 // end of the good call that ended last
	longest   atomic.Int64 // good call
	first     ring         // Closed: the calls that run, see also rings
	due       atomic.Int64 // when something changes by itself
	ramp      atomic.Pointer[ramp]

	state    State // Closed, Open, HalfOpen or Isolated
	early    bool  // HalfOpen: began before the open time was over
	busy     bool  // Closed: the next good end matters to a rule
	led      bool  // Open and HalfOpen: a fleet says when it ends, see Follow
	since    int64
	until    atomic.Int64 // Open and Isolated: the end, or never
	override *override
	began    *Transition             // nil: the breaker was made so
	refused  atomic.Pointer[refused] // for every call that is not let through

	// Closed. The breaker's lock guards these.
	window   window
	*trouble // nil as long as there was none

	*trials // HalfOpen
}

// trouble is what a closed period knows of calls that did not just end well. The
// breaker's lock guards it.
type trouble struct {
	goodBefore    uint64 // good calls of the breaker before the period
	run           run
	overdue       int64 // calls past SlowCall and not answered
	out           int64 // calls that left the ring so as nobody judges them
	lastOverdue   int64 // admission of the latest overdue ones
	suspects      []suspects
	suspicionHeld bool      // once, at least
	askAt         int64     // when a suspicion that was held asks again
	throttled     int       // calls in a row that were told to wait by a rate limit
	releases      *releases // of calls that a trip is to release; nil as long as there was none
	ruledAt       int64     // when the rules were last asked
}

// newPeriod makes a period that is not yet in force.
func (b *Breaker) newPeriod(s State, since, until int64, reason Reason) *period {
	p := &b.first
	if b.cur.Load() != nil {
		p = &period{}
	}
	p.state, p.since = s, since
	p.until.Store(until)
	if b.past != nil || b.cfg().CancelOnTrip {
		p.trouble = &trouble{}
	}
	p.goodStart.Store(-1)
	p.goodEnd.Store(-1)
	if s == Closed {
		b.beginRing(&p.first, &b.good, b.releasesOf(p))
		b.sizeReleases(p, since)
		goods := b.goods()
		p.window.begin(b.rules(), since, goods)
		if p.trouble != nil {
			p.goodBefore = goods
		}
	} else {
		p.trials = &trials{}
	}
	if b.past == nil {
		return p // the first one: it refuses nobody
	}
	kind := ReasonOpen
	switch s {
	case Closed:
		kind = ReasonRamp
	case HalfOpen:
		kind = ReasonTrialSlots
	case Isolated:
		kind = ReasonIsolated
	case Open, HeldClosed:
		if reason == ReasonToldToWait {
			kind = ReasonToldToWait
		}
	}
	p.refused.Store(&refused{b.refusalOf(p, kind), &b.refused[refusalIndex(kind)]})
	return p
}

// refused is what callers get who are not let through.
type refused struct {
	err   *OpenError
	calls *atomic.Uint64 // counts them
}

func (p *period) refuse() error {
	r := p.refused.Load()
	r.calls.Add(1)
	return r.err
}

// refusalOf makes the error for callers that p refuses.
func (b *Breaker) refusalOf(p *period, kind Reason) *OpenError {
	cause := b.cause
	if p.state == Isolated {
		cause = nil // it has nothing to do with it
	}
	return &OpenError{
		Name: b.name, State: p.state, Reason: kind, Trip: b.tripReason,
		Since: b.timeAt(p.since), Until: b.timeAt(p.until.Load()), Cause: cause,
		left: func() time.Duration {
			until := p.until.Load() // it may have been moved, see HoldTrials
			if until == never {
				return 0
			}
			return time.Duration(until - b.now())
		},
	}
}

// enter puts p in force at the moment at and tells the listeners. Calls of the
// period before are adrift from here on.
func (b *Breaker) enter(p *period, at int64, t Transition) {
	old := b.cur.Load()
	b.cur.Store(p)
	old.short.Store(0)
	old.quiet.Store(0)
	b.hearing, b.lastGood = nil, b.lastGoodOf(old)
	if old.trials != nil {
		old.dropTrials(b)
	}
	if old.state == Closed {
		b.adrift.Add(old.seal()) // after the store: who comes too late for the seal comes again
		if longest := old.longest.Load(); longest > 0 {
			b.longest = longest
		}
		if b.calm(old, at) && t.Reason != ReasonRestored && t.Reason != ReasonFleet {
			b.step, b.tripped = 0, t.Reason.hasStep()
		}
	}
	t.To, t.Automatic = p.state, p.state
	switch p.state {
	case Isolated:
		b.out = false
		t.Automatic = HalfOpen // where a release leads
	case Open:
		if !b.out {
			b.out, b.outSince = true, p.since
		}
		t.OpenFor, t.Step, t.Cause = time.Duration(p.until.Load()-at), b.step, b.cause
	case Closed:
		b.out = false
	case HalfOpen, HeldClosed:
	}
	if b.hold.Load() != nil {
		t.To = HeldClosed
	}
	p.began = b.emit(at, t)
	if t.Reason == ReasonSuspected {
		b.hear(old, p, at)
	}
	if old.trouble != nil && old.releases != nil && p.state == Open && !b.passesAll(p) {
		b.letGo(old, p, at, t.Reason == ReasonSuspected)
	}
}

// open ends the current period: calls are refused from at until until.
func (b *Breaker) open(at, until int64, reason Reason, t Transition) {
	t.Reason = reason
	b.openFor, b.tripReason = time.Duration(until-at), reason
	b.enter(b.newPeriod(Open, at, until, reason), at, t)
}

// trip opens for as long as the step says.
func (b *Breaker) trip(at int64, step int, reason Reason, t Transition) {
	b.step, b.tripped = step, true
	b.open(at, at+b.rules().openTime(step, b.random()), reason, t)
}

// halfOpen starts trials.
func (b *Breaker) halfOpen(at int64, reason Reason, t Transition) {
	t.Reason = reason
	p := b.newPeriod(HalfOpen, at, never, reason)
	p.early = reason == ReasonEarly || reason == ReasonWitness
	b.slowestTrial = 0
	b.enter(p, at, t)
}

// act does f under the lock, with everything due done before and planned after.
// f gets the time: the clock was read before the lock was there, and what
// happened meanwhile must not be later than what happens now.
func (b *Breaker) act(now int64, f func(now int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.settle(now)
	b.remember()
	f(now)
	b.settle(now)
}

// remember makes room for what is more than a plain call.
func (b *Breaker) remember() {
	if b.past == nil {
		b.past = &past{}
	}
	if p := b.cur.Load(); p.trouble == nil {
		p.trouble = &trouble{}
	}
}

// settle performs everything that is due by now, each thing dated at the
// moment it was due, and works out when there will be something again. It
// returns now, or the latest time seen, if that is later.
func (b *Breaker) settle(now int64) int64 {
	before := b.seen
	b.seen = max(b.seen, now)
	now = b.seen
	for {
		p := b.cur.Load()
		at, act := b.next(p, now)
		p.due.Store(at)
		b.plan(p, at)
		if at > now {
			return now
		}
		// A call that was held up on its way in may be due before the last change, and
		// a limit that was lowered before that happened.
		act(b, p, max(at, before, b.log.last()), now)
	}
}

// plan says until when the short ways through Do may be taken, if something is due
// at at.
func (b *Breaker) plan(p *period, at int64) {
	var short, quiet int64
	switch {
	case p.state == Closed && p.ramp.Load() == nil && !b.cfg().CancelOnTrip:
		short = at
	case p.state == Open && !b.passesAll(p), p.state == Isolated && b.hold.Load() == nil:
		short = -at
	}
	if p.state == Closed && !p.busy {
		quiet = at
	}
	p.short.Store(short)
	p.quiet.Store(quiet)
}

// action is something that becomes due at a moment and is done not before.
type action func(b *Breaker, p *period, at, now int64)

// next returns what p needs first, and when.
func (b *Breaker) next(p *period, now int64) (at int64, act action) {
	at = never
	sooner := func(t int64, a action) {
		if t < at {
			at, act = t, a
		}
	}
	if o := b.hold.Load(); o != nil {
		sooner(b.endOf(o, now), (*Breaker).endHold)
		sooner(b.reviewOf(o, now), (*Breaker).review)
	}
	sooner(b.nextRelease(), (*Breaker).releaseDue)
	switch p.state {
	case Open:
		sooner(b.endOfOpen(p), (*Breaker).endOpen)
	case Isolated:
		sooner(b.endOf(p.override, now), (*Breaker).endIsolation)
		sooner(b.reviewOf(p.override, now), (*Breaker).review)
	case HalfOpen:
		sooner(p.nextLease(), (*Breaker).endLease)
		sooner(b.endOfLead(p), (*Breaker).endLead)
	case Closed:
		sooner(b.nextExpiry(p, now), (*Breaker).expire)
		sooner(p.nextOverdue(), (*Breaker).condemn)
		sooner(b.nextVerdict(p), (*Breaker).applyDue)
		if r := p.ramp.Load(); r != nil {
			sooner(max(p.since+int64(b.cfg().Ramp), r.notBefore), (*Breaker).endRamp)
		}
		if at > now { // the slice that begins now is not for what was due before
			sooner(p.window.rollAt, (*Breaker).rollWindow)
		}
	case HeldClosed: // no period has it
	}
	return at, act
}

func (b *Breaker) endOpen(_ *period, at, _ int64) { b.halfOpen(at, ReasonTime, Transition{}) }

func (b *Breaker) endIsolation(p *period, at, _ int64) {
	if b.leadEnd > at { // the fleet says what follows
		b.led(at, at, ReasonExpired, Transition{By: p.override.by, Note: p.override.why})
		return
	}
	b.halfOpen(at, ReasonExpired, Transition{By: p.override.by, Note: p.override.why})
}

func (b *Breaker) rollWindow(p *period, _, now int64) {
	p.window.roll(b.rules(), now, b.goods())
	b.setBusy(p, now)
	b.tendRings(p)
}

// timeAt returns a moment of the breaker's clock as a time; zero for never.
func (b *Breaker) timeAt(at int64) time.Time {
	if at == never {
		return time.Time{}
	}
	if clock := b.cfg().Clock; clock != nil {
		return clock.timeAt(at)
	}
	now := time.Now() // the wall clock may have been set since base
	return now.Add(time.Duration(at) - now.Sub(b.rules().base))
}

// clockAt is the reverse of timeAt, as seen at now. A time that the clock cannot
// reach is never.
func (b *Breaker) clockAt(t time.Time, now int64) int64 {
	if t.IsZero() {
		return never
	}
	left := time.Until(t)
	if clock := b.cfg().Clock; clock != nil {
		left = clock.until(t)
	}
	if int64(left) > never-now {
		return never
	}
	return now + max(int64(left), -never/2)
}
