package recloser_test

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/model"
)

// mood is what a dependency and its people are like for a while: how often which
// step comes.
type mood = map[model.Kind]int

var moods = [...]mood{
	{model.Allow: 40, model.Do: 6, model.Good: 36, model.Answered: 6, model.Advance: 10, model.Sending: 3, model.Sent: 3},                                // well
	{model.Allow: 40, model.Do: 3, model.Fail: 34, model.Good: 3, model.Advance: 12, model.Due: 2, model.Answered: 3, model.Sending: 1, model.Sent: 1},   // down
	{model.Allow: 40, model.Advance: 12, model.Due: 8, model.Check: 2, model.Cancelled: 3, model.Good: 1, model.Sending: 2, model.Sent: 2},               // hanging
	{model.Allow: 30, model.Do: 6, model.Good: 12, model.Fail: 12, model.Ignore: 4, model.Advance: 10, model.Due: 4, model.Answered: 8, model.Unmade: 2}, // flapping
	{model.Allow: 20, model.Cancelled: 8, model.Deadline: 8, model.Advance: 12, model.Due: 3, model.Wait: 3, model.Unmade: 3},                            // impatient callers
	{
		model.Allow: 30, model.Good: 18, model.Fail: 6, model.Advance: 10, model.Isolate: 1, model.Hold: 2, model.Release: 4, model.Reset: 1,
		model.TripFor: 1, model.TryNow: 4, model.Twice: 3, model.Due: 6,
	}, // operators
	{model.Allow: 24, model.Do: 4, model.Good: 14, model.Cancelled: 4, model.Due: 14, model.Advance: 4, model.Fail: 1, model.TryNow: 3, model.Release: 1}, // recovering
	{model.Allow: 30, model.Good: 16, model.Due: 4, model.Advance: 8, model.Wait: 12, model.TryNow: 3},                                                    // told to wait
	{model.Allow: 30, model.Good: 14, model.Fail: 4, model.Due: 8, model.Advance: 8, model.Update: 8, model.Sending: 2, model.Sent: 2, model.TryNow: 2},   // settings are tuned
	{
		model.Allow: 30, model.Good: 14, model.Fail: 8, model.Due: 6, model.Advance: 8, model.Save: 2, model.Restore: 1, model.Restart: 2,
		model.Hold: 1, model.Isolate: 1, model.SetWall: 2,
	}, // restarts
	{
		model.Allow: 44, model.Advance: 14, model.Due: 10, model.Good: 12, model.Fail: 1, model.Suspect: 4, model.HoldSuspicion: 2, model.Witness: 10,
		model.Answered: 2, model.Sending: 1, model.Sent: 1, model.Cancelled: 2,
	}, // running for longer than usual
	{model.Allow: 30, model.Good: 16, model.Fail: 4, model.Due: 8, model.Advance: 10, model.TripNow: 3, model.HoldTrials: 6, model.TryNow: 1, model.Witness: 2}, // probes are sent
	{
		model.Allow: 36, model.Good: 14, model.Fail: 5, model.Cancelled: 1, model.Unmade: 1, model.Wait: 1, model.Advance: 8, model.Due: 8, model.Follow: 16,
		model.Answered: 2, model.Isolate: 1, model.Hold: 1, model.Release: 2, model.HoldTrials: 2, model.TryNow: 1,
	}, // a fleet
}

// drawer draws steps that mean something to the settings in force at first.
type drawer struct {
	*rand.Rand
	cfg    recloser.Config
	pace   time.Duration
	limits []time.Duration
	mood   mood
}

func newDrawer(r *rand.Rand) *drawer {
	d := &drawer{Rand: r, mood: moods[0]}
	d.cfg = d.config()
	d.pace = d.pick(20*time.Millisecond, 300*time.Millisecond, 3*time.Second, time.Minute)
	if d.cfg.SlowCall > 0 && d.IntN(2) == 0 {
		d.pace = d.cfg.SlowCall / 5
	}
	filled := d.cfg.WithDefaults()
	d.limits = []time.Duration{
		filled.Window / 10, filled.Spread, filled.SlowCall, filled.SlowCall / 2, filled.SlowCall / 4,
		filled.OpenFor, filled.ResetAfter, filled.Ramp, time.Second, 10 * time.Second, 30 * time.Minute,
	}
	return d
}

func (d *drawer) pick(values ...time.Duration) time.Duration { return values[d.IntN(len(values))] }

// draw returns random settings and a random sequence.
func draw(r *rand.Rand) (recloser.Config, []model.Op) {
	d := newDrawer(r)
	ops := make([]model.Op, 20+r.IntN(300))
	for i := range ops {
		ops[i] = d.op()
	}
	return d.cfg, ops
}

func (d *drawer) op() model.Op {
	if d.IntN(25) == 0 {
		d.mood = moods[d.IntN(len(moods))]
		if d.IntN(3) == 0 {
			d.mood = moods[0]
		}
	}
	o := model.Op{Kind: d.kind(), N: d.IntN(1000), D: time.Duration(d.ExpFloat64() * float64(d.pace)), Flag: d.IntN(2) == 0}
	if d.IntN(8) == 0 { // onto a limit
		o.D = max(d.pick(d.limits...), 0)
	}
	switch {
	case o.Kind != model.Update:
	case d.IntN(2) == 0:
		o.Config = d.config()
	default: // one setting
		o.Config = d.cfg
		o.Config.SlowCall = d.slowCall()
	}
	switch d.IntN(200) {
	case 0, 1:
		o.Kind = model.Crowd
	case 2, 3:
		o.Kind = model.Suspect
	}
	if o.Kind == model.Suspect {
		o.Flag = d.IntN(6) == 0
		o.D = time.Duration(float64(max(d.cfg.SlowCall, 0)) * (0.05 + 1.1*d.Float64()*d.Float64()))
	}
	return o
}

func (d *drawer) slowCall() time.Duration {
	return d.pick(recloser.Off, 50*time.Millisecond, time.Second, 20*time.Second)
}

func (d *drawer) config() recloser.Config {
	const off = recloser.Off
	return recloser.Config{
		Name:          "hotel-7",
		Window:        d.pick(0, 100*time.Millisecond, 2*time.Second, 10*time.Minute),
		MinCalls:      []int{0, 1, 3, 5, 12}[d.IntN(5)],
		FailureRate:   []float64{0, off, 0.25, 0.5, 0.8, 1}[d.IntN(6)],
		Consecutive:   []int{0, off, 1, 3, 8}[d.IntN(5)],
		Spread:        d.pick(0, off, 300*time.Millisecond, 5*time.Second),
		SlowCall:      d.slowCall(),
		OpenFor:       d.pick(0, 100*time.Millisecond, 5*time.Second),
		MaxOpenFor:    d.pick(0, 0, 5*time.Second, time.Minute),
		Jitter:        []float64{off, 0, 0.5}[d.IntN(3)],
		ResetAfter:    d.pick(0, time.Second),
		Trials:        []int{0, 1, 3}[d.IntN(3)],
		TrialTimeout:  d.pick(0, 0, 2*time.Second),
		Ramp:          d.pick(0, off, 3*time.Second),
		RetryAfterMax: d.pick(0, off, 2*time.Second),
		CancelOnTrip:  d.IntN(2) == 0,
		Shadow:        d.IntN(8) == 0,
	}
}

func (d *drawer) kind() model.Kind {
	sum := 0
	for _, w := range d.mood {
		sum += w
	}
	n := d.IntN(sum)
	for kind := range model.Kinds { // in order: the same seed gives the same steps
		if n -= d.mood[kind]; n < 0 {
			return kind
		}
	}
	panic("unreachable")
}

// tape draws from the bytes of a fuzz target, a byte for each number, so that a
// mutation changes one thing.
type tape []byte

func (t *tape) Uint64() uint64 {
	var b uint64
	if len(*t) > 0 {
		b = uint64((*t)[0])
		*t = (*t)[1:]
	}
	return 0x0101010101010101*b ^ 0x0000555500005555 // the rest of zero, math/rand would draw again and again
}

// drawFrom returns the settings and the sequence that a fuzz target's bytes mean.
func drawFrom(bytes []byte) (recloser.Config, []model.Op) {
	left := tape(bytes)
	d := newDrawer(rand.New(&left))
	var ops []model.Op
	for len(left) > 0 && len(ops) < 300 {
		ops = append(ops, d.op())
	}
	return d.cfg, ops
}

// shrink leaves out all steps that the fault does not need.
func shrink(ops []model.Op, fails func([]model.Op) bool) []model.Op {
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
