package recloser

import "time"

// Stats returns what the breaker knows at this moment.
func (b *Breaker) Stats() (s Stats) {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	s = b.read(b.settle(now))
	s.beginTotals()
	b.addTotals(&s)
	return s
}

// Brief returns Stats without Refused, Transitions and Latency, which take most of
// its time: for who asks again and again.
func (b *Breaker) Brief() Stats {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read(b.settle(now))
}

// beginTotals makes room for what Brief leaves out.
func (s *Stats) beginTotals() {
	s.Latency = newHistogram()
	s.Refused = make(map[Reason]uint64, refusalKinds)
	for _, reason := range refusalReasons {
		s.Refused[reason] = 0
	}
	keys := TransitionKeys()
	s.Transitions = make(map[TransitionKey]uint64, len(keys))
	for _, key := range keys {
		s.Transitions[key] = 0
	}
}

// addTotals adds to s what Brief leaves out. The breaker's lock is held.
func (b *Breaker) addTotals(s *Stats) {
	seen, log := b.past, b.log
	if seen == nil {
		s.Latency.add(&b.good)
	} else {
		for h := range b.histograms(seen) {
			s.Latency.add(h)
		}
		for i, reason := range refusalReasons {
			if n := seen.refused[i].Load(); n > 0 {
				s.Refused[reason] += n
			}
		}
	}
	if log == nil {
		return
	}
	for key, n := range log.counts {
		if _, told := s.Transitions[key]; told {
			s.Transitions[key] += n
		}
	}
}

// read is Brief at now. The breaker's lock is held.
func (b *Breaker) read(now int64) Stats {
	p, seen, log := b.cur.Load(), b.past, b.log
	if seen == nil {
		seen = &past{}
	}
	if log == nil {
		log = &eventLog{}
	}
	s := Stats{
		At: b.timeAt(now), Name: b.name, State: p.state, Automatic: p.state,
		Since: b.timeAt(p.since), Until: b.timeAt(p.until.Load()), OpenFor: seen.openFor, Step: seen.step, Cause: seen.cause, Seq: log.seq,
		MinCalls: b.cfg().MinCalls, Shadow: b.cfg().Shadow, SlowCall: b.cfg().SlowCall,
		InFlight: int(b.adrift.Load()),
		Success:  b.goods() + seen.otherGood, Failed: seen.failed, Slow: seen.slowCalls, Ignored: seen.ignored, Late: seen.late,
	}
	if p.trouble != nil {
		s.Overdue = int(p.overdue)
	}
	if after := b.suspectAfter(); after != never {
		s.Suspect, s.Suspects = time.Duration(after), int(b.suspectCalls(p, now))
	}
	if good := b.lastGoodOf(p); good >= 0 {
		s.LastGood = b.timeAt(good)
	}
	if t := seen.lastTrial; t != (result{}) {
		s.LastTrial = Trial{At: b.timeAt(t.at), Took: time.Duration(t.took), Bad: t.bad}
	}
	if p.trials != nil {
		s.Trials = len(p.leased)
		s.InFlight += s.Trials
	}
	if seen.out {
		s.OutSince = b.timeAt(seen.outSince)
	}
	if s.trip = seen.tripReason; p.state == Open {
		s.openLeft = time.Duration(max(0, p.until.Load()-now)) // led, it may be over
	}
	if p.began != nil {
		s.Began, s.Reason = *p.began, p.began.Reason
	}
	if r := p.ramp.Load(); r != nil {
		s.RampLimit = r.limit
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
		s.InFlight += int(p.running())
		if b.calm(p, now) {
			s.Step = 0
		}
	}
	return s
}

// countsAt returns what p has to decide on: the window, or the good trials.
func (b *Breaker) countsAt(p *period, now int64) Counts {
	if p.state != Closed {
		return Counts{Good: uint64(p.good)}
	}
	e := b.evidence(p, now, never)
	return e.counts()
}

// lastGoodOf returns when a call of the breaker ended well last, if p is the period
// in force; below 0 if none has.
func (b *Breaker) lastGoodOf(p *period) int64 {
	good := p.goodEnd.Load()
	if p.trials != nil && p.good > 0 {
		good = p.lastGood
	}
	if b.past != nil && b.lastGood != 0 {
		good = max(good, b.lastGood)
	}
	return good
}
