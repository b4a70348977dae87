package probe

import (
	"time"

	"github.com/recloser-go/recloser"
)

const (
	settled    = 1200 * time.Millisecond // a good probe sooner after the trip may have missed the fault
	holdMax    = 5 * time.Minute         // trials are held back for no longer than that after an opening
	afterwards = 500 * time.Millisecond  // how long after a probe's timeout its result is there at the latest
)

// outage is what happens from a trip until the breaker is closed again.
type outage struct {
	began   time.Time
	known   bool // the endpoint was known to be good before
	opening recloser.Transition

	trying bool // its own good probe has started trials
	failed int  // such trials that failed. Since the last of them,
	badYet bool // a bad probe was seen,
	goods  int  // and after it so many good ones in a row
	told   bool // that the probe does not see what is wrong
}

// lookCutOff notes an opening.
func (w *watch) lookCutOff(now time.Time, began recloser.Transition) act {
	if w.outage == nil || began.From == recloser.Closed && began.Seq != w.outage.opening.Seq {
		w.outage = &outage{began: began.At, known: w.trust == known}
		w.due = now
	}
	o := w.outage
	if w.state != recloser.Open || began.Seq == o.opening.Seq {
		return act{}
	}
	o.opening = began
	if began.Reason == recloser.ReasonTrialFailed {
		if o.trying {
			o.failed++
			o.badYet, o.goods = false, 0
		}
		if w.verdict == Good && !o.told {
			o.told = true
			w.say(now, ReasonTrafficBad, "its probe does not see what is wrong: it was good, and the call after it was bad")
		}
	}
	o.trying = false
	if w.verdict == Bad {
		return w.hold(now)
	}
	return act{}
}

// takeCutOff says what follows from what a probe found in an outage.
func (w *watch) takeCutOff(now time.Time, r Result) act {
	o := w.outage
	if r.Verdict == Bad {
		o.badYet, o.goods = true, 0
		return w.hold(now)
	}
	o.goods++
	believed := o.failed == 0 || o.badYet && o.goods > o.failed
	if !w.mayTry(now) || !believed {
		return act{}
	}
	o.trying = true
	return act{do: try, why: "it answers again: " + r.Why}
}

// mayTry reports whether trials can be started early at all: not right after the
// trip, and not against a time that the dependency or an operator has named.
func (w *watch) mayTry(now time.Time) bool {
	return w.state == recloser.Open && !w.named() && now.Sub(w.outage.opening.At) >= settled
}

// named reports whether somebody has said how long the breaker is to be open.
func (w *watch) named() bool {
	reason := w.outage.opening.Reason
	return reason == recloser.ReasonToldToWait || reason == recloser.ReasonTripped
}

// heldUntil is how long bad probes may hold trials back; zero: they may not. Only an
// endpoint that was good before knows.
func (w *watch) heldUntil() time.Time {
	o := w.outage
	if o == nil || !o.known || w.state != recloser.Open || w.named() {
		return time.Time{}
	}
	return o.opening.At.Add(holdMax)
}

// hold holds trials back until the next probe has been judged: with few calls each
// trial is somebody who waits.
func (w *watch) hold(now time.Time) act {
	d := min(w.due.Sub(now)+w.dep.Probe.Timeout+afterwards, w.heldUntil().Sub(now))
	if d <= 0 {
		return act{}
	}
	return act{do: hold, d: d}
}

// blamedOnUs reports whether it was cut off as one of many, and may be tried.
func (w *watch) blamedOnUs(now time.Time) bool {
	return w.outage != nil && w.outage.opening.Reason == recloser.ReasonUs && w.mayTry(now)
}
