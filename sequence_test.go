package recloser

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// op is one step of a random sequence. Its numbers are drawn beforehand, so a
// step means the same whichever steps before it are left out.
type op struct {
	kind opKind
	n    int           // which call, or which of the next due moments
	d    time.Duration // how long
	flag bool
}

type opKind uint8

const (
	opAllow opKind = iota
	opGood
	opFail
	opIgnore
	opCancelled // the caller gives up
	opDeadline  // his deadline passes
	opWait      // 503 with Retry-After, or 429 if flag
	opUnmade
	opAnswered
	opSending
	opSent
	opTwice // the end of a call that has ended
	opAdvance
	opDue // the clock goes to just before a moment at which something is due, then onto it
	opCheck
	opIsolate
	opHold
	opRelease
	opReset
	opTripFor
	opTryNow
	opKinds
)

var opNames = [opKinds]string{
	"allow", "good", "fail", "ignore", "cancelled", "deadline", "wait", "unmade", "answered", "sending", "sent", "twice",
	"advance", "due", "check", "isolate", "hold", "release", "reset", "tripFor", "tryNow",
}

func (o op) String() string {
	return fmt.Sprintf("%s{n: %d, d: %s, %t}", opNames[o.kind], o.n, o.d, o.flag)
}

// moods are what a dependency is like for a while: how often which step comes.
var moods = [...][opKinds]int{
	{opAllow: 40, opGood: 36, opAnswered: 6, opAdvance: 10, opSending: 3, opSent: 3},                                                                        // well
	{opAllow: 40, opFail: 34, opGood: 3, opAdvance: 12, opDue: 2, opAnswered: 3, opSending: 1, opSent: 1},                                                   // down
	{opAllow: 40, opAdvance: 12, opDue: 8, opCheck: 2, opCancelled: 3, opGood: 1, opSending: 2, opSent: 2},                                                  // hanging
	{opAllow: 30, opGood: 12, opFail: 12, opIgnore: 4, opAdvance: 10, opDue: 4, opAnswered: 8, opUnmade: 2},                                                 // flapping
	{opAllow: 20, opCancelled: 8, opDeadline: 8, opAdvance: 12, opDue: 3, opWait: 3, opUnmade: 3},                                                           // impatient callers
	{opAllow: 30, opGood: 18, opFail: 6, opAdvance: 10, opIsolate: 1, opHold: 2, opRelease: 4, opReset: 1, opTripFor: 1, opTryNow: 4, opTwice: 3, opDue: 6}, // operators
	{opAllow: 24, opGood: 14, opCancelled: 4, opDue: 14, opAdvance: 4, opFail: 1, opTryNow: 3, opRelease: 1},                                                // recovering
	{opAllow: 30, opGood: 16, opDue: 4, opAdvance: 8, opWait: 12, opTryNow: 3},                                                                              // told to wait
}

// draw returns random settings and a random sequence.
func draw(r *rand.Rand) (cfg Config, random float64, ops []op) {
	pick := func(values ...time.Duration) time.Duration { return values[r.IntN(len(values))] }
	cfg = Config{
		Window:        pick(0, 100*time.Millisecond, 2*time.Second, 10*time.Minute),
		MinCalls:      []int{0, 1, 3, 5, 12}[r.IntN(5)],
		FailureRate:   []float64{0, Off, 0.25, 0.5, 0.8, 1}[r.IntN(6)],
		Consecutive:   []int{0, Off, 1, 3, 8}[r.IntN(5)],
		Spread:        pick(0, Off, 300*time.Millisecond, 5*time.Second),
		SlowCall:      pick(Off, 50*time.Millisecond, time.Second, 20*time.Second),
		OpenFor:       pick(0, 100*time.Millisecond, 5*time.Second),
		Jitter:        []float64{Off, 0, 0.5}[r.IntN(3)],
		ResetAfter:    pick(0, time.Second),
		Trials:        []int{0, 1, 3}[r.IntN(3)],
		TrialTimeout:  pick(0, 0, 2*time.Second),
		Ramp:          pick(0, Off, 3*time.Second),
		RetryAfterMax: pick(0, Off, 2*time.Second),
		CancelOnTrip:  r.IntN(2) == 0,
	}
	pace := pick(20*time.Millisecond, 300*time.Millisecond, 3*time.Second, time.Minute)
	if cfg.SlowCall > 0 && r.IntN(2) == 0 {
		pace = cfg.SlowCall / 5
	}
	filled := cfg.WithDefaults()
	limits := []time.Duration{
		filled.Window / 10, filled.Spread, filled.SlowCall, filled.SlowCall / 2, filled.SlowCall / 4,
		filled.OpenFor, filled.ResetAfter, filled.Ramp, time.Second, 10 * time.Second, 30 * time.Minute,
	}
	ops = make([]op, 20+r.IntN(300))
	mood := moods[0]
	for i := range ops {
		if r.IntN(25) == 0 {
			mood = moods[r.IntN(len(moods))]
			if r.IntN(3) == 0 {
				mood = moods[0]
			}
		}
		ops[i] = op{kind: drawKind(r, mood), n: r.IntN(1000), d: time.Duration(r.ExpFloat64() * float64(pace)), flag: r.IntN(2) == 0}
		if r.IntN(8) == 0 { // onto a limit
			ops[i].d = limits[r.IntN(len(limits))]
		}
	}
	return cfg, r.Float64(), ops
}

func drawKind(r *rand.Rand, weights [opKinds]int) opKind {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := r.IntN(sum)
	for kind, w := range weights {
		if n -= w; n < 0 {
			return opKind(kind)
		}
	}
	panic("unreachable")
}

// shrink leaves out all steps that the fault does not need.
func shrink(ops []op, fails func([]op) bool) []op {
	for size := len(ops) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(ops); {
			if fewer := slices.Delete(slices.Clone(ops), i, i+size); fails(fewer) {
				ops = fewer
			} else {
				i += size
			}
		}
	}
	return ops
}
