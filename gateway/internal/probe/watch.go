package probe

import (
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// watch holds the rules of probing for one dependency. The Prober's lock guards it.
type watch struct {
	dep    *dependency.Dependency
	target string
	random func() float64
	say    func(at time.Time, reason, text string)
	stop   func() // ends the probe that is on its way
	tick   uint64 // of the Prober, in which it was seen last

	// Sending.
	sending   bool
	sent      uint64
	sentAt    time.Time
	due       time.Time // the next one, if traffic does not tell enough
	goodsThen uint64    // goods when it was sent
	forPair   bool      // it was sent after the bad call that made the pair

	// What the probes found.
	last     Result
	lastAt   time.Time // when it was sent
	verdict  Verdict   // of the last one that was Good or Bad; else ""
	row      int       // how many in a row were so
	rowGoods uint64    // goods when the first of them was sent
	trust    trust
	toldPath bool

	// What the breaker said last.
	state recloser.State // Isolated, or else what the rules say
	goods uint64         // calls that ended well and in time
	rate  rate

	pair   *pair // closed, and a first bad call made it
	paired bool  // the bad calls that there are have had theirs
	outage *outage
}

// trust is what an endpoint's word is worth.
type trust int

const (
	unknown trust = iota
	known         // it has been good
	belied        // since then it was bad while calls were good
)

func newWatch(now time.Time, d *dependency.Dependency, random func() float64, say func(time.Time, string, string)) *watch {
	w := &watch{dep: d, target: target(d).Redacted(), random: random, say: say, stop: func() {}, rate: rate{since: now}}
	// What starts together is not probed together.
	w.due = now.Add(time.Duration(random() * jitter * float64(max(0, d.Probe.Idle))))
	return w
}

// look takes in what the breaker says.
func (w *watch) look(now time.Time, s recloser.Stats) act {
	w.state, w.goods = s.Automatic, s.Success
	if s.State == recloser.Isolated {
		w.state = recloser.Isolated
	}
	w.rate.measure(now, s.Success+s.Failed+s.Slow)
	switch w.state {
	case recloser.Open, recloser.HalfOpen:
		w.pair, w.paired = nil, false
		return w.lookCutOff(now, s.Began)
	case recloser.Closed, recloser.Isolated, recloser.HeldClosed: // the last is never automatic
	}
	if w.outage != nil {
		w.outage = nil
		w.due = w.sentAt.Add(w.gap(now))
	}
	if w.state == recloser.Closed {
		w.lookClosed(now, s.Window.Run)
	}
	return act{}
}

// take takes in what a probe found and says what follows from it.
func (w *watch) take(now time.Time, r Result) act {
	w.sending, w.last, w.lastAt = false, r, w.sentAt
	switch {
	case w.pair == nil || !w.forPair:
	case r.Verdict == Bad:
		w.pair.bad++
	default:
		w.pair = nil
	}
	if r.Verdict != Good && r.Verdict != Bad {
		return act{}
	}
	if w.row++; r.Verdict != w.verdict {
		w.note(now, r)
		w.verdict, w.row, w.rowGoods = r.Verdict, 1, w.goodsThen
	}
	if r.Verdict == Good {
		w.trust = known
	}
	switch {
	case w.outage != nil:
		return w.takeCutOff(now, r)
	case w.state == recloser.Closed:
		return w.takeClosed(r)
	}
	return act{}
}

// note tells of a change.
func (w *watch) note(now time.Time, r Result) {
	switch {
	case r.Verdict == Bad:
		w.say(now, ReasonBad, "its probe is bad: "+r.Why)
	case w.verdict == Bad:
		w.say(now, ReasonGood, "its probe is good again: "+r.Why)
	}
}

func (w *watch) view() View {
	v := View{
		Result: w.last, At: w.lastAt, Row: w.row, Known: w.trust == known,
		Target: w.target, Sending: w.sending, Sent: w.sent,
	}
	switch {
	case w.pair != nil:
		v.Next = w.pair.due
	case !w.restful():
		v.Next = w.due
	}
	if w.last.Verdict == Bad {
		v.Held = w.heldUntil()
	}
	return v
}
