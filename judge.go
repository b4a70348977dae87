package recloser

import (
	"fmt"
	"math"
	"time"

	"github.com/recloser-go/recloser/internal/defaults"
)

// slowError is the failure of a call that is past SlowCall.
type slowError struct{ limit time.Duration }

func (e slowError) Error() string { return fmt.Sprintf("no answer within %s", defaults.Short(e.limit)) }

// isNews reports whether a good call is to be noted. Most are not.
func (p *period) isNews(start, end, took int64) bool {
	return start > p.goodStart.Load()+coarse || end > p.goodEnd.Load()+coarse || took > p.longest.Load()
}

// note notes a good call.
func (p *period) note(start, end, took int64) {
	raise(&p.goodStart, start)
	raise(&p.goodEnd, end)
	raise(&p.longest, took)
}

// nextExpiry returns when calls of the ring will be past their time. With none
// in it, that is the moment for calls which come from now on.
func (b *Breaker) nextExpiry(p *period, now int64) int64 {
	at, suspectAfter := int64(never), b.suspectAfter()
	for r := range p.everyRing {
		start, ok := r.oldest()
		if !ok {
			start = now >> r.shift << r.shift
		}
		at = min(at, r.due(start, suspectAfter))
	}
	return at
}

// expire takes the calls of the slice that is due first out of the rings: they
// are suspects now, or bad by the slow rule.
func (b *Breaker) expire(p *period, at, now int64) {
	suspectAfter := b.suspectAfter()
	var first *ring
	var start int64
	for r := range p.everyRing {
		oldest, ok := r.oldest()
		if !ok || r.due(oldest, suspectAfter) > now {
			continue
		}
		if first == nil || r.due(oldest, suspectAfter) < first.due(start, suspectAfter) {
			first, start = r, oldest
		}
	}
	if first == nil {
		return // the calls that were due have left just now
	}
	var n int64
	for r := range p.everyRing {
		if r.shift == first.shift && r.limit == first.limit {
			n += r.expire(start)
		}
	}
	b.remember()
	b.adrift.Add(n)
	switch {
	case n > 0 && first.limit == never:
		p.out += n
	case n > 0 && suspectAfter < first.limit:
		p.suspects = append(p.suspects, suspects{start, first.shift, first.limit, n})
	case n > 0:
		b.overdueCalls(p, at, start, first.limit, n)
		return
	}
	b.applyRules(p, at)
}

// overdueCalls books n calls bad that were admitted at start, under that
// SlowCall, and still run.
func (b *Breaker) overdueCalls(p *period, at, start, limit, n int64) {
	p.overdue += n
	p.lastOverdue = max(p.lastOverdue, start) // with several limits the latest does not expire last
	b.cause = slowError{time.Duration(limit)}
	b.badCalls(p, at, start, n, false)
}

// badCalls books n bad calls, admitted at admitted and judged at at, and asks
// the rules.
func (b *Breaker) badCalls(p *period, at, admitted, n int64, failed bool) {
	p.throttled = 0
	b.bad += uint64(n)
	if admitted >= p.goodStart.Load() { // else it began before a call that was good
		b.extendRun(p, at, admitted, n)
	}
	p.window.book(admitted, uint32(n), failed)
	b.applyRules(p, at)
}

func (b *Breaker) extendRun(p *period, at, admitted, n int64) {
	if p.run.over(at) {
		before := b.sum(p, at)
		p.run = newRun(&before, admitted)
	}
	p.run.extend(at, admitted, n)
}

// applyRules asks both rules and opens the breaker if they say so: first with
// what is certain, then with the suspects.
func (b *Breaker) applyRules(p *period, at int64) {
	p.ruledAt = at
	e := b.evidence(p, at, never)
	if rule := b.verdict(p, &e, at); rule != "" {
		b.tripByRule(p, at, rule, e.counts())
		return
	}
	p.busy = b.isBusy(p, &e)
	if p.trouble == nil || len(p.suspects) == 0 {
		return
	}
	if e = b.evidence(p, at, b.suspectAfter()); e.suspects == 0 {
		return
	}
	if rule := b.verdict(p, &e, at); rule != "" && !b.holdsSuspicion(p) {
		b.tripBySuspicion(p, at, rule, &e)
		return
	}
	p.busy = p.busy || b.isBusy(p, &e)
}

// tripByRule opens the breaker as a rule says that needs no suspects. Where a
// suspicion was held, as it may be us, and still is, the step stays.
func (b *Breaker) tripByRule(p *period, at int64, rule Reason, c Counts) {
	step := b.stepAfterClosed(p, at)
	if !p.wasHeld() || !b.held() {
		b.trip(at, step, rule, Transition{Counts: c})
		return
	}
	if step = 0; b.tripped && !b.calm(p, at) {
		step = b.step
	}
	b.trip(at, step, ReasonUs, Transition{Counts: c, Rule: rule})
}

// tripBySuspicion opens the breaker as a rule says that does need suspects.
func (b *Breaker) tripBySuspicion(p *period, at int64, rule Reason, e *evidence) {
	t := Transition{Counts: e.counts(), Rule: rule, Suspect: time.Duration(e.after), Suspects: int(e.suspects)}
	if rule == ReasonRun {
		t.Suspects = int(e.inRun)
	}
	b.cause = suspectError{t.Suspect}
	b.trip(at, b.stepAfterClosed(p, at), ReasonSuspected, t)
}

// setBusy says whether the next good end must ask the rules: it may break a
// run, or be the one that the rate rule was short of.
func (b *Breaker) setBusy(p *period, at int64) {
	e := b.evidence(p, at, never)
	if p.busy = b.isBusy(p, &e); p.trouble != nil && len(p.suspects) > 0 {
		e = b.evidence(p, at, b.suspectAfter())
		p.busy = p.busy || b.isBusy(p, &e)
	}
}

func (b *Breaker) isBusy(p *period, e *evidence) bool {
	return p.trouble != nil && (e.run.length > 0 || p.throttled > 0 || p.ramp.Load() != nil || b.rateReached(&e.window, 0))
}

// sum adds up the window of p as it is at at.
func (b *Breaker) sum(p *period, at int64) sums {
	return p.window.sum(b.rules(), at, b.goods())
}

// verdict returns the rule by which to trip at at, or "".
func (b *Breaker) verdict(p *period, e *evidence, at int64) Reason {
	w, r := &e.window, &e.run
	if w.judged() >= uint64(b.cfg().MinCalls) && b.spreadOver(p, w.first, e.last(w.last, e.suspects, at), at) && b.rateReached(w, b.undecided(p, e, w.last, at)) {
		return ReasonRate
	}
	if b.cfg().Consecutive <= 0 || r.length == 0 {
		return ""
	}
	if rp := p.ramp.Load(); rp != nil && rp.condemned(b, p) && b.onTheWay(p) == 0 {
		return ReasonRun
	}
	if r.length >= b.cfg().Consecutive && b.spreadOver(p, r.first, e.last(r.last, e.inRun, at), at) && b.improbable(r) && b.undecided(p, e, r.last, at) <= int64(r.length) {
		return ReasonRun
	}
	return ""
}

// rateReached reports whether the bad share reaches the limit, with the
// undecided calls taken for good.
func (b *Breaker) rateReached(w *sums, undecided int64) bool {
	return b.rules().ratePPM() > 0 && w.bad() > 0 && w.bad()*1e6 >= b.rules().ratePPM()*(w.judged()+uint64(undecided))
}

// spreadOver reports whether bad calls admitted from first to last are more
// than one burst. A call among them that is overdue and still not answered shows
// that the trouble goes on.
func (b *Breaker) spreadOver(p *period, first, last, at int64) bool {
	if p.trouble != nil && p.overdue > 0 && b.rules().slow() > 0 && p.lastOverdue >= first {
		last = max(last, at-b.rules().slow())
	}
	return last-first >= b.rules().spread()
}

// undecided returns how many calls admitted before last are still running and not
// taken for bad. Where errors come faster than answers, the first ends after a start
// or a pause are all bad: without these calls the rules would judge by them alone.
// Like Spread, and switched off with it, this asks for more than a burst.
func (b *Breaker) undecided(p *period, e *evidence, last, at int64) int64 {
	if b.rules().spread() == 0 {
		return 0
	}
	var n int64
	for r := range p.everyRing {
		n += r.admittedBefore(last)
	}
	if p.trouble != nil {
		for _, s := range p.suspects {
			if !e.includes(&s, at) && s.end() <= last {
				n += s.n
			}
		}
	}
	return n
}

// improbable reports whether a run of that length is no accident, given how
// many calls were bad before it.
func (b *Breaker) improbable(r *run) bool {
	if b.rules().ratePPM() == 0 || r.of < uint64(b.cfg().MinCalls) {
		return true
	}
	f := float64(r.bad) / float64(r.of)
	return math.Pow(f, float64(r.length)) <= 1e-7
}

func (b *Breaker) applyDue(p *period, at, _ int64) { b.applyRules(p, at) }

// stepAfterClosed returns the step of a trip out of the closed period p.
func (b *Breaker) stepAfterClosed(p *period, at int64) int {
	good := b.goodIn(p)
	switch {
	case !b.tripped || b.calm(p, at):
		return 0
	case good < uint64(b.cfg().MinCalls):
		return b.rules().stepUp(b.step)
	}
	return max(b.step-1, 0)
}

// calm reports whether the steps are forgotten at at.
func (b *Breaker) calm(p *period, at int64) bool {
	return p.state == Closed && at-p.since >= int64(b.cfg().ResetAfter) && b.goodIn(p) > 0
}

// goodIn returns how many calls were good in the closed period p.
func (b *Breaker) goodIn(p *period) uint64 {
	if p.trouble == nil {
		return b.goods() // it is the first one
	}
	return b.goods() - p.goodBefore
}

// judge gives the verdict on a call of a closed period.
func (b *Breaker) judge(p *period, c *call, now, took int64, slow bool, e ending) {
	switch {
	case b.toldToWait(p, now, e):
	case slow:
		b.cause = slowError{time.Duration(c.limit)}
		b.badCalls(p, now, c.start, 1, false)
	case e.outcome == Failure:
		b.badCalls(p, now, c.start, 1, true)
	case e.outcome == Ignored:
		if impatient(c, now, e) && p.goodEnd.Load() < c.start {
			b.cause = errGaveUp
			b.bad++
			b.extendRun(p, now, c.start, 1)
			p.window.bookGaveUp()
		}
		b.reapplyRules(p, now)
	default:
		p.note(c.start, now, took)
		p.run, p.throttled = run{}, 0
		if r := p.ramp.Load(); r != nil && r.good(b, now, took) {
			p.ramp.Store(nil)
		}
		b.applyRules(p, now)
	}
}

// reapplyRules asks the rules after an end that counts nowhere: it may be the one
// they were waiting for.
func (b *Breaker) reapplyRules(p *period, now int64) {
	if b.cur.Load() == p && p.state == Closed {
		b.applyRules(p, now)
	}
}

// impatient reports whether the caller gave up late enough for it to say
// something about the dependency.
func impatient(c *call, now int64, e ending) bool {
	return e.gaveUp && c.limit != never && c.answered == 0 && !c.sending && now-c.clock >= c.limit/2
}

// toldToWait opens the breaker for as long as the dependency asks, if it does.
func (b *Breaker) toldToWait(p *period, now int64, e ending) bool {
	if e.wait == nil || e.wait.After <= 0 || b.cfg().RetryAfterMax <= 0 {
		return false
	}
	if e.wait.Throttled {
		if p.throttled++; p.throttled < 2 {
			return false
		}
	}
	b.cause = e.err
	b.open(now, now+int64(min(e.wait.After, b.cfg().RetryAfterMax)), ReasonToldToWait, Transition{Counts: b.countsAt(p, now)})
	b.staysLed(p)
	return true
}
