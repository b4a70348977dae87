package recloser

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Reason says in a word or two why something happened. It is stable: metrics
// use it as a label.
type Reason string

// Why a breaker changed its state.
const (
	ReasonRate        Reason = "rate"           // closed -> open: the bad share reached FailureRate
	ReasonRun         Reason = "run"            // closed -> open: Consecutive bad calls in a row
	ReasonToldToWait  Reason = "told to wait"   // the dependency named a time; also a reason of refusal
	ReasonTrialFailed Reason = "trial failed"   // half-open -> open: a bad trial
	ReasonTrialsGood  Reason = "trials good"    // half-open -> closed
	ReasonTime        Reason = "open time over" // open -> half-open
	ReasonEarly       Reason = "early"          // open -> half-open ahead of time, by TryNow
	ReasonIsolated    Reason = "isolated"       // by an operator; also a reason of refusal
	ReasonHeldClosed  Reason = "held closed"    // by an operator
	ReasonReleased    Reason = "released"       // an override was taken back; also a reason of refusal: the caller was released on a trip
	ReasonExpired     Reason = "expired"        // an override reached its end
	ReasonReset       Reason = "reset"          // by an operator
	ReasonSuspected   Reason = "suspected"      // closed -> open: as ReasonRate or ReasonRun, but only with calls that run for longer than usual and are not bad for good, see SetSuspect
	ReasonUs          Reason = "us?"            // closed -> open: as ReasonRate or ReasonRun, in a period in which Config.HoldSuspicion had held a suspicion, and still does
	ReasonProbe       Reason = "probe"          // closed -> open by TripNow
	ReasonWitness     Reason = "witness"        // open -> half-open: a call that was suspected ended well after all
	ReasonTripped     Reason = "tripped"        // by TripFor
	ReasonRestored    Reason = "restored"       // by Restore: as it was before a restart
	ReasonFleet       Reason = "fleet"          // the nodes of a fleet together, by Follow
)

// Why a call was refused, besides ReasonToldToWait, ReasonIsolated and
// ReasonReleased.
const (
	ReasonOpen       Reason = "open"        // the open time is not over
	ReasonTrialSlots Reason = "trial slots" // half-open, and as many trials run as may
	ReasonRamp       Reason = "ramp"        // just reclosed, and as many calls run as may
)

var refusalReasons = [...]Reason{ReasonOpen, ReasonToldToWait, ReasonTrialSlots, ReasonIsolated, ReasonRamp, ReasonReleased}

const refusalKinds = len(refusalReasons)

// RefusalReasons lists every reason a call can be refused for.
func RefusalReasons() []Reason { return slices.Clone(refusalReasons[:]) }

// refusalIndex is where refusals for that reason are counted.
func refusalIndex(reason Reason) int { return slices.Index(refusalReasons[:], reason) }

// Counts are the numbers that a verdict rests on.
type Counts struct {
	Good   uint64 // calls in the window that ended well and in time
	Failed uint64 // calls in the window that failed within SlowCall
	Slow   uint64 // calls in the window not answered within SlowCall, however they ended or will
	Run    int    // length of the running row of bad calls
}

// Bad is Failed + Slow.
func (c Counts) Bad() uint64 { return c.Failed + c.Slow }

// Judged is Good + Bad.
func (c Counts) Judged() uint64 { return c.Good + c.Failed + c.Slow }

// Transition is one change of a breaker's state. From is the To of the
// transition before it, and the last To is the breaker's State.
type Transition struct {
	Seq       uint64        // 1, 2, 3, ... for each breaker, without gaps
	Name      string        // the breaker's name
	From, To  State         // what it was and is; both HeldClosed if only the automatic state changed
	Automatic State         // what the rules say after the change, whatever an operator set
	At        time.Time     // when the change was due, not when somebody noticed
	Reason    Reason        // why
	Counts    Counts        // the numbers that decided, taken before they were reset
	OpenFor   time.Duration // to Open: how long
	Step      int           // to Open: how often the open time has been doubled
	Cause     error         // to Open: the last failure seen; may be nil
	Rule      Reason        // of ReasonSuspected and ReasonUs: ReasonRate or ReasonRun
	Suspects  int           // of ReasonSuspected: how many of the calls on which that rule's verdict rests were not bad for good; Counts has them in Slow
	Suspect   time.Duration // of ReasonSuspected: the limit that they were past
	Lifted    time.Duration // of ReasonWitness: how long that call took, so how long a good one may
	Shadow    bool          // calls pass all the same, see Config.Shadow
	By, Note  string        // an operator's act: who, and the reason given; of ReasonFleet, what its nodes have seen
}

// String returns one line, such as "hotel-3: closed -> open (run): 5 bad calls in a row".
func (t Transition) String() string {
	s := fmt.Sprintf("%s: %s -> %s (%s)", t.Name, t.From, t.To, t.Reason)
	if why := t.Why(); why != string(t.Reason) {
		s += ": " + why
	}
	if t.Shadow && t.To.EffectInShadow() != t.To.Effect() {
		s += "; shadow: calls pass"
	}
	return s
}

// Effect returns what the new state means for callers, in plain words: that of the
// state, or in shadow mode what it would be.
func (t Transition) Effect() string { return t.To.effect(t.Shadow) }

// Why says in a few words what decided: "5 of 25 calls bad", "5 bad calls in a
// row", "by ops: their database moves", or else the reason.
func (t Transition) Why() string {
	switch {
	case t.By != "":
		return fmt.Sprintf("by %s: %s", t.By, t.Note)
	case t.Reason == ReasonFleet && t.Note != "":
		return t.Note
	case t.Reason == ReasonSuspected:
		return t.whySuspected()
	case t.Reason == ReasonUs:
		return t.whyRule() + "; but other dependencies hang as well, so it may be us"
	case t.Reason == ReasonWitness:
		return fmt.Sprintf("a call that was suspected ended well after %s", seconds(t.Lifted))
	case t.Reason == ReasonRate, t.Reason == ReasonRun:
		return t.whyRule()
	}
	return string(t.Reason)
}

func (t Transition) whyRule() string {
	switch {
	case cmp.Or(t.Rule, t.Reason) == ReasonRate:
		return fmt.Sprintf("%d of %d calls bad", t.Counts.Bad(), t.Counts.Judged())
	case t.Counts.Run == 1:
		return "1 bad call"
	default:
		return fmt.Sprintf("%d bad calls in a row", t.Counts.Run)
	}
}

func (t Transition) whySuspected() string {
	running := fmt.Sprintf("running longer than usual (%s)", seconds(t.Suspect))
	if t.Rule == ReasonRun && t.Suspects == t.Counts.Run {
		if t.Suspects == 1 {
			return "1 call " + running
		}
		return fmt.Sprintf("%d calls in a row %s", t.Suspects, running)
	}
	return fmt.Sprintf("%s, %d of them %s", t.whyRule(), t.Suspects, running)
}

// hasStep reports whether a trip for that reason has worked out its step.
func (r Reason) hasStep() bool {
	return r == ReasonRate || r == ReasonRun || r == ReasonSuspected || r == ReasonUs || r == ReasonProbe
}
