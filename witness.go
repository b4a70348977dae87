package recloser

import (
	"cmp"
	"slices"
	"time"
)

// hearing is what a trip by suspicion leaves behind: calls that may still prove
// it wrong. The breaker's lock guards it.
type hearing struct {
	closed, open *period // that was left, that it opened
	from, until  int64   // slow clocks of the two oldest suspects started so
	left         int     // witnesses who may still be called
}

const maxWitnesses = 2

// hear has the oldest suspects of a period that suspicion ends at at heard as
// witnesses.
func (b *Breaker) hear(old, open *period, at int64) {
	after, n := b.suspectAfter(), int64(0)
	b.hearing = &hearing{closed: old, open: open, left: maxWitnesses}
	h := b.hearing
	for _, s := range slices.SortedFunc(slices.Values(old.suspects), func(s, o suspects) int { return cmp.Compare(s.start, o.start) }) {
		if n >= maxWitnesses || !s.past(after, at) {
			continue
		}
		if n == 0 {
			h.from = s.start
		}
		n += s.n
		h.until = max(h.until, s.end())
	}
}

// mayTestify reports whether a call is one of those whom the trip by suspicion
// that the breaker is open for would hear.
func (b *Breaker) mayTestify(c *call) bool {
	h := b.hearing
	return h != nil && b.cur.Load() == h.open && !h.open.led && c.period == h.closed && c.kind != unjudged && c.clock >= h.from && c.clock < h.until
}

// witness makes a released call a witness, if there is need of one.
func (b *Breaker) witness(c *call) (yes bool) {
	b.act(b.now(), func(int64) {
		if c.kind == tracked && c.release.Err() != nil && c.answered == 0 && !c.sending && b.mayTestify(c) && b.hearing.left > 0 {
			b.hearing.left--
			c.kind = witnessing
		}
		yes = c.kind == witnessing
	})
	return yes
}

// testify starts trials if a call that ended well and in time shows that the
// suspicion was wrong: a witness, or one whose caller was not released.
func (b *Breaker) testify(c *call, now, took int64) {
	if b.mayTestify(c) && (c.kind == witnessing || c.release == nil || c.release.Err() == nil) {
		b.lastGood = max(b.lastGood, now)
		b.halfOpen(now, ReasonWitness, Transition{Lifted: time.Duration(took)})
	}
}
