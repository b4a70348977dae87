package recloser

import (
	"fmt"
	"math"
	"time"

	"github.com/recloser-go/recloser/internal/defaults"
)

// run is a row of bad calls with no good end since. The breaker's lock guards it.
type run struct {
	length      int
	first, last int64  // admissions
	at          int64  // when the last one was judged
	bad, of     uint64 // the window before the run, callers who gave up included
}

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
func (p *period) nextExpiry(now int64) int64 {
	at := int64(never)
	for r := range p.everyRing {
		start, ok := r.oldest()
		if !ok {
			start = now >> r.shift << r.shift
		}
		at = min(at, r.due(start))
	}
	return at
}

// expire takes the calls of the slice that is due first out of the rings; the
// slow rule judges them bad.
func (b *Breaker) expire(p *period, at, now int64) {
	var first *ring
	var start int64
	for r := range p.everyRing {
		if oldest, ok := r.oldest(); ok && r.due(oldest) <= now && (first == nil || r.due(oldest) < first.due(start)) {
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
	if first.limit == never {
		p.out += n
	}
	if first.limit == never || n == 0 {
		b.applyRules(p, at)
		return
	}
	p.overdue += n
	p.lastOverdue = max(p.lastOverdue, start) // with several limits the latest does not expire last
	b.cause = slowError{time.Duration(first.limit)}
	b.badCalls(p, at, start, n, false)
}

// badCalls books n bad calls, admitted at admitted and judged at at, and asks
// the rules.
func (b *Breaker) badCalls(p *period, at, admitted, n int64, failed bool) {
	p.throttled = 0
	if admitted >= p.goodStart.Load() { // else it began before a call that was good
		b.extendRun(p, at, admitted, n)
	}
	p.window.book(admitted, uint32(n), failed)
	b.applyRules(p, at)
}

func (b *Breaker) extendRun(p *period, at, admitted, n int64) {
	r := &p.run
	if r.length > 0 && at-r.at >= runPause {
		*r = run{}
	}
	if r.length == 0 {
		before := b.sum(p, at)
		*r = run{first: admitted, last: admitted, bad: before.bad() + before.gaveUp, of: before.judged() + before.gaveUp}
	}
	r.length += int(n)
	r.first, r.last, r.at = min(r.first, admitted), max(r.last, admitted), at
}

// applyRules asks both rules and opens the breaker if they say so.
func (b *Breaker) applyRules(p *period, at int64) {
	p.ruledAt = at
	w := b.sum(p, at)
	if reason := b.verdict(p, &w, at); reason != "" {
		b.trip(at, b.stepAfterClosed(p, at), reason, Transition{Counts: w.counts(p)})
		return
	}
	b.setBusy(p, &w)
}

// setBusy says whether the next good end must ask the rules: it may break a
// run, or be the one that the rate rule was short of.
func (b *Breaker) setBusy(p *period, w *sums) {
	p.busy = p.trouble != nil && (p.run.length > 0 || p.throttled > 0 || p.ramp.Load() != nil || b.rateReached(w, 0))
}

// sum adds up the window of p as it is at at.
func (b *Breaker) sum(p *period, at int64) sums {
	return p.window.sum(b.rules(), at, b.goods())
}

func (w *sums) counts(p *period) Counts {
	c := Counts{Good: w.good, Failed: w.failed, Slow: w.slow}
	if p.trouble != nil {
		c.Run = p.run.length
	}
	return c
}

// verdict returns the reason to trip at at, or "".
func (b *Breaker) verdict(p *period, w *sums, at int64) Reason {
	if w.judged() >= uint64(b.cfg().MinCalls) && b.spreadOver(p, w.first, w.last, at) && b.rateReached(w, b.undecided(p, w.last)) {
		return ReasonRate
	}
	r := &p.run
	if b.cfg().Consecutive <= 0 || r.length == 0 {
		return ""
	}
	if rp := p.ramp.Load(); rp != nil && rp.condemned(b, p) && b.onTheWay(p) == 0 {
		return ReasonRun
	}
	if r.length >= b.cfg().Consecutive && b.spreadOver(p, r.first, r.last, at) && b.improbable(r) && b.undecided(p, r.last) <= int64(r.length) {
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
	if p.overdue > 0 && b.rules().slow() > 0 && p.lastOverdue >= first {
		last = max(last, at-b.rules().slow())
	}
	return last-first >= b.rules().spread()
}

// undecided returns how many calls admitted before last are still running.
// Where errors come faster than answers, the first ends after a start or a
// pause are all bad: without these calls the rules would judge by them alone.
// Like Spread, and switched off with it, this asks for more than a burst.
func (b *Breaker) undecided(p *period, last int64) int64 {
	if b.rules().spread() == 0 {
		return 0
	}
	var n int64
	for r := range p.everyRing {
		n += r.admittedBefore(last)
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

// nextVerdict returns the moment at which the rules will say otherwise with no
// further call: an overdue call has gone on for long enough, see spreadOver.
func (p *period) nextVerdict(r *rules) int64 {
	if p.trouble == nil || p.overdue == 0 || r.slow() == 0 || r.spread() == 0 {
		return never
	}
	at := int64(never)
	consider := func(first int64) {
		if t := first + r.spread() + r.slow(); t > p.ruledAt {
			at = min(at, t)
		}
	}
	if p.run.length > 0 {
		consider(p.run.first)
	}
	if first, ok := p.window.firstBad(r, p.ruledAt); ok {
		consider(first)
	}
	return at
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
	return true
}
