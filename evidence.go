package recloser

// run is a row of bad calls with no good end since. The breaker's lock guards it.
type run struct {
	length      int
	first, last int64  // admissions
	at          int64  // when the last one was judged
	bad, of     uint64 // the window before the run, callers who gave up included
}

// over reports whether the next bad call begins another.
func (r *run) over(at int64) bool { return r.length == 0 || at-r.at >= runPause }

// newRun returns the run that begins with a call admitted at admitted.
func newRun(before *sums, admitted int64) run {
	return run{first: admitted, last: admitted, bad: before.bad() + before.gaveUp, of: before.judged() + before.gaveUp}
}

func (r *run) extend(at, admitted, n int64) {
	r.length += int(n)
	r.first, r.last, r.at = min(r.first, admitted), max(r.last, admitted), at
}

// evidence is what a verdict rests on. Suspects may be part of it.
type evidence struct {
	window          sums
	run             run
	after           int64 // suspects past it are included; never: none
	suspects, inRun int64 // of them, in the window and in the run
}

// evidence returns what is known of p at at, with the suspects past after taken for
// bad; never: without any.
func (b *Breaker) evidence(p *period, at, after int64) evidence {
	e := evidence{window: b.sum(p, at), after: after}
	if p.trouble == nil {
		return e
	}
	if e.run = p.run; after == never || len(p.suspects) == 0 {
		return e
	}
	before := e.window
	for i := range p.suspects {
		s := &p.suspects[i]
		if !e.includes(s, at) {
			continue
		}
		e.window.add(s.start, s.n)
		e.suspects += s.n
		if s.start < p.goodStart.Load() { // it began before a call that was good
			continue
		}
		if e.run.over(at) {
			e.run = newRun(&before, s.start)
		}
		e.run.extend(at, s.start, s.n)
		e.inRun += s.n
	}
	return e
}

func (e *evidence) includes(s *suspects, at int64) bool { return s.past(e.after, at) }

// last returns the admission of the last bad call, for Spread: suspects that go on
// show that the trouble does.
func (e *evidence) last(admitted, suspects, at int64) int64 {
	if suspects > 0 {
		return max(admitted, at-e.after)
	}
	return admitted
}

func (e *evidence) counts() Counts { return e.window.counts(e.run.length) }

// nextVerdict returns the moment at which the rules will say otherwise with no
// further call: one that is overdue or suspect has gone on for long enough, see
// spreadOver.
func (b *Breaker) nextVerdict(p *period) int64 {
	at := int64(never)
	if p.trouble == nil || p.overdue == 0 && len(p.suspects) == 0 {
		return at
	}
	r := b.rules()
	consider := func(t int64) {
		if t > p.ruledAt {
			at = min(at, t)
		}
	}
	spreadOver := func(e *evidence, limit int64) { // for calls that run past limit
		if e.run.length > 0 {
			consider(e.run.first + r.spread() + limit)
		}
		if e.window.bad() > 0 {
			consider(e.window.first + r.spread() + limit)
		}
	}
	if p.overdue > 0 && r.slow() > 0 && r.spread() > 0 {
		e := b.evidence(p, p.ruledAt, never)
		spreadOver(&e, r.slow())
	}
	after := b.suspectAfter()
	if len(p.suspects) == 0 || after == never {
		return at
	}
	consider(p.askAt)
	for i := range p.suspects { // the limit may have been another when they became suspects
		consider(p.suspects[i].end() + after)
	}
	if e := b.evidence(p, p.ruledAt, after); e.suspects > 0 && r.spread() > 0 {
		spreadOver(&e, after)
	}
	return at
}
