package recloser

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// SetSuspect sets the suspect limit: how long a call takes that takes longer than
// usual, such as was learned from good calls. 0 or Off: there is none, as at first
// and as with a limit at or above SlowCall, or with the slow rule off. Below 1 ms it
// is 1 ms. It is meant to be set anew each second or so, with what is known then.
//
// A call still running past it is bad provisionally: it joins the run and the
// rate as if it were past SlowCall. A good end in time takes that back, and resets
// the run, a bad one or SlowCall makes it bad for good. If the breaker trips by a
// verdict that holds only with such calls (ReasonSuspected), Config.CancelOnTrip
// releases those callers who are past the limit, and the others as they pass it;
// and two of the calls may run on as witnesses, see Permit.Witness.
func (b *Breaker) SetSuspect(d time.Duration) {
	if d > 0 {
		d = max(d, time.Millisecond)
	}
	now := b.now()
	b.act(now, func(now int64) {
		if limit := max(int64(d), 0); limit != b.suspect {
			b.suspect = limit
			b.fitRings(b.cur.Load(), now)
		}
	})
}

// suspectAfter returns the suspect limit in force; never if there is none.
func (b *Breaker) suspectAfter() int64 {
	if b.past == nil || b.suspect == 0 || b.suspect >= b.rules().slow() {
		return never
	}
	return b.suspect
}

// suspects are the calls of one slice of a ring that run, are past the suspect
// limit, and not past SlowCall.
type suspects struct {
	start int64 // of the slice
	shift uint8
	limit int64 // SlowCall when they were admitted
	n     int64
}

func (s *suspects) end() int64 { return s.start + 1<<s.shift }

// past reports whether they are past the limit after, which may have been another
// when they became suspects.
func (s *suspects) past(after, at int64) bool { return at-s.end() >= after }

// nextOverdue returns when suspects are past SlowCall.
func (p *period) nextOverdue() int64 {
	at := int64(never)
	if p.trouble != nil {
		for i := range p.suspects {
			at = min(at, p.suspects[i].end()+p.suspects[i].limit)
		}
	}
	return at
}

// condemn makes the suspects bad for good that are past SlowCall first.
func (b *Breaker) condemn(p *period, at, _ int64) {
	due := p.nextOverdue()
	i := slices.IndexFunc(p.suspects, func(s suspects) bool { return s.end()+s.limit == due })
	s := p.suspects[i]
	p.suspects = slices.Delete(p.suspects, i, i+1)
	b.overdueCalls(p, at, s.start, s.limit, s.n)
}

// absolve takes a call off the suspects, and reports false if it is none.
func (p *period) absolve(c *call) bool {
	i := slices.IndexFunc(p.suspects, func(s suspects) bool {
		return s.start == c.clock>>s.shift<<s.shift && s.shift == c.ring.shift && s.limit == c.limit
	})
	if i < 0 {
		return false
	}
	if p.suspects[i].n--; p.suspects[i].n == 0 {
		p.suspects = slices.Delete(p.suspects, i, i+1)
	}
	return true
}

// suspectCalls returns how many suspects there are, by the limit in force.
func (b *Breaker) suspectCalls(p *period, at int64) (n int64) {
	if p.trouble == nil {
		return 0
	}
	after := b.suspectAfter()
	for i := range p.suspects {
		if p.suspects[i].past(after, at) {
			n += p.suspects[i].n
		}
	}
	return n
}

// suspectError is the failure seen in a trip by suspicion.
type suspectError struct{ limit time.Duration }

func (e suspectError) Error() string {
	return fmt.Sprintf("no answer within %s, longer than usual", seconds(e.limit))
}

// seconds writes a time for people: "0.3 s".
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}

// askAgain is how long a suspicion that was held waits until it asks again.
const askAgain = 50 * time.Millisecond

// held asks Config.HoldSuspicion whether a trip by suspicion is to wait.
func (b *Breaker) held() (hold bool) {
	ask := b.cfg().HoldSuspicion
	if ask == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			hold = false
		}
	}()
	return ask()
}

func (p *period) wasHeld() bool { return p.trouble != nil && p.suspicionHeld }

// holdsSuspicion reports whether the suspicion that is due to trip is held.
func (b *Breaker) holdsSuspicion(p *period) bool {
	if !b.held() {
		return false
	}
	p.suspicionHeld, p.askAt = true, b.seen+int64(askAgain)
	return true
}
