package recloser

import "time"

// Stats is what a breaker knows at one moment. The numbers are read one after
// the other, so under load they may differ by the calls of that instant. To keep a
// breaker's state use Breaker.Save: this is not made for JSON.
type Stats struct {
	At        time.Time // that moment
	Name      string
	State     State // as State returns it
	Automatic State // what the rules say, whatever an operator set
	Reason    Reason
	Since     time.Time     // when the state began
	OutSince  time.Time     // when the rules first cut it off, of an outage that lasts over failed trials; zero if they have not since it was last closed or isolated
	Until     time.Time     // when an open time or an override ends; zero if there is no end
	OpenFor   time.Duration // length of the running or last open time; 0 before the first
	Step      int           // how often the open time has been doubled
	Cause     error         // the last failure seen; may be nil
	Shadow    bool          // calls pass all the same, see Config.Shadow
	Override  *Override     // what an operator set; nil if nothing
	Began     Transition    // into the automatic state; zero if the breaker was made in it
	LastTrial Trial         // how the last trial ended, whatever opened the breaker; zero: none has ended
	Seq       uint64        // of the last transition; 0 before the first

	Window    Counts        // the calls that a verdict would rest on
	MinCalls  int           // how many it takes; see BadRatio
	SlowCall  time.Duration // the limit in force; Off if the slow rule is off
	Suspect   time.Duration // the suspect limit in force, see Breaker.SetSuspect; 0: none
	RampLimit int           // in the slow start: how many calls may run at once; 0: it is over
	Trials    int           // that run
	InFlight  int           // calls that run, whatever admitted them
	Overdue   int           // those of them that are past SlowCall and not answered
	Suspects  int           // those that are past Suspect, not yet past SlowCall, and not answered
	LastGood  time.Time     // when a call last ended well and in time, in the period that admitted it, give or take 4 ms; zero: none has

	Success, Failed, Slow, Ignored uint64            // calls that ended, since the start; Slow: not answered within SlowCall, however they ended
	Late                           uint64            // those of them whose period was over when they ended
	Refused                        map[Reason]uint64 // by reason, every one of RefusalReasons
	Transitions                    map[TransitionKey]uint64
	Latency                        Histogram // of calls that ended and were not ignored, to their answer

	openLeft time.Duration // of the open time
	trip     Reason        // what opened the breaker last
}

// Effect returns what the state means for callers, in plain words: that of the
// state, or in shadow mode what it would be.
func (s Stats) Effect() string { return s.State.effect(s.Shadow) }

// Trial is how a trial ended.
type Trial struct {
	At   time.Time     // when; zero: there was none
	Took time.Duration // to its answer, or until it was given up
	Bad  error         // why it was bad; nil: it was good
}

// BadRatio returns the share of bad calls in the window, and false while it
// holds fewer than MinCalls.
func (s Stats) BadRatio() (float64, bool) {
	if s.Window.Judged() == 0 || s.Window.Judged() < uint64(s.MinCalls) {
		return 0, false
	}
	return float64(s.Window.Bad()) / float64(s.Window.Judged()), true
}

// TransitionKey names a kind of transition.
type TransitionKey struct {
	To     State
	Reason Reason
}

// TransitionKeys lists every kind of transition there can be.
func TransitionKeys() []TransitionKey {
	return []TransitionKey{
		{Open, ReasonRate},
		{Open, ReasonRun},
		{Open, ReasonSuspected},
		{Open, ReasonUs},
		{Open, ReasonProbe},
		{Open, ReasonToldToWait},
		{Open, ReasonTrialFailed},
		{Open, ReasonTripped},
		{Open, ReasonReleased},
		{Open, ReasonExpired},
		{Open, ReasonRestored},
		{Open, ReasonFleet},
		{HalfOpen, ReasonTime},
		{HalfOpen, ReasonEarly},
		{HalfOpen, ReasonWitness},
		{HalfOpen, ReasonReleased},
		{HalfOpen, ReasonExpired},
		{HalfOpen, ReasonRestored},
		{HalfOpen, ReasonFleet},
		{Closed, ReasonTrialsGood},
		{Closed, ReasonReset},
		{Closed, ReasonReleased},
		{Closed, ReasonExpired},
		{Closed, ReasonRestored},
		{Closed, ReasonFleet},
		{Isolated, ReasonIsolated},
		{Isolated, ReasonRestored},
		{HeldClosed, ReasonHeldClosed},
		{HeldClosed, ReasonRestored},
	}
}

// Override is what an operator set by Isolate or HoldClosed.
type Override struct {
	State State // Isolated or HeldClosed
	By    string
	Why   string
	Since time.Time
	Until time.Time // zero: no end
}

// Histogram counts durations. Counts[i] holds those of at most Bounds[i] and
// above Bounds[i-1]; the last of Counts, which has no bound, all longer ones.
type Histogram struct {
	Bounds []time.Duration
	Counts []uint64
	// Sum is estimated from the buckets, each call at its bucket's middle: an
	// exact one would cost every call another write. It is within a third.
	Sum time.Duration
}

// Count is the number of durations.
func (h Histogram) Count() uint64 {
	var n uint64
	for _, c := range h.Counts {
		n += c
	}
	return n
}
