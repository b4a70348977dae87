package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/internal/vtime"
)

// Limits of what a run may take, so that no file runs for ever.
const (
	maxSpent   = 20_000_000 // things that happen, each about a microsecond
	maxRunning = 100_000    // calls at once
	maxTimes   = 1_000_000  // repetitions of an act
	maxPending = 1_000_000  // things that are due later
	maxHeard   = 200_000    // events, which are all kept
	maxFailed  = maxLines   // things that are not as expected
	often      = 1024       // after so many things events are heard, and an interruption is seen
)

// Result is what came of a scenario.
type Result struct {
	File         string
	Err          error // why it was not played: of Parse or Run, say. Then the rest is empty
	Expectations int   // that were looked at
	Failures     []Failure
	Virtual      time.Duration // how much time passed
	Calls        int           // how many were made
	Took         time.Duration // how long it took
}

// Good reports whether it was played and everything was as expected.
func (r *Result) Good() bool { return r.Err == nil && len(r.Failures) == 0 }

// Failure is a line of which something was not as expected.
type Failure struct {
	Line       int // from 1
	At         time.Duration
	Text       string // the line
	Mismatches []Mismatch
	Explain    string // what the breaker said of itself then
}

// Mismatch is one thing that was not as expected.
type Mismatch struct {
	Want, Seen string
	replace    *token // what Seen may be written for
}

// heard is an event, and when it was in the scenario.
type heard struct {
	recloser.Transition
	at time.Duration
}

// run is a scenario that runs.
type run struct {
	*Scenario
	ctx         context.Context // an interruption from outside
	base        context.Context // of all calls; done when the scenario is over
	virtual     *vtime.Virtual
	began       time.Time
	clock       *recloser.Clock // of the breaker
	standing    bool            // time passes that this clock does not see
	guardConfig guard.Config
	guard       *guard.Guard
	breaker     *recloser.Breaker
	retries     bool
	mayWait     bool // for room in the bulkhead
	held        bool // suspicions are
	random      *rand.Rand

	events  chan recloser.Transition
	heard   []heard
	named   map[string]*running
	last    *running
	load    load
	marked  marked
	current *step
	result  Result
	spent   int
	stopped error // why nothing happens any more
}

// load counts what became of calls.
type load struct {
	calls, reached, attempts, refused, good, bad, running int

	most int // running at once, since the mark
}

// marked is what was counted at the last mark.
type marked struct {
	load   load
	stats  recloser.Stats
	events int
}

// With returns the scenario with other settings of the guard and its breaker than
// its own. Run reports what is wrong with them.
func (s *Scenario) With(cfg guard.Config) *Scenario {
	other := *s
	other.guard = cfg
	return &other
}

// Run runs the scenario. It ends early, with an error, if ctx is done. The error is
// also of settings given to With that are wrong.
func (s *Scenario) Run(ctx context.Context) (*Result, error) {
	started := time.Now()
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	// Far from today: what asks the machine's clock by mistake is then found.
	start := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &run{
		Scenario: s, ctx: ctx, base: base, virtual: vtime.NewVirtual(start), began: start, clock: recloser.NewManualClock(start),
		guardConfig: s.guard, random: rand.New(rand.NewPCG(uint64(s.seed), 0)),
		events: make(chan recloser.Transition, often), named: map[string]*running{}, result: Result{File: s.File},
	}
	if err := r.build(); err != nil {
		return nil, err
	}
	for i := range s.steps {
		r.step(&s.steps[i])
	}
	r.result.Virtual, r.result.Calls = r.now(), r.load.calls
	r.stopped = errors.New("over")
	cancel()
	r.virtual.Run(0) // whoever waits comes back
	r.hear()         // the breaker's listener too
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.result.Took = time.Since(started)
	return &r.result, nil
}

// build makes the guard.
func (r *run) build() (err error) {
	r.virtual.OnMove(func(d time.Duration) {
		if !r.standing {
			r.clock.Advance(d)
		}
	})
	c := &r.guardConfig
	c.Breaker.Clock, c.Breaker.HoldSuspicion = r.clock, func() bool { return r.held }
	c.Breaker.Classify = func(err error) recloser.Outcome {
		if errors.Is(err, errIgnored) {
			return recloser.Ignored
		}
		return recloser.Default
	}
	backoff := rand.New(rand.NewPCG(uint64(r.seed), 1))
	if r.guard, err = guard.NewOn(*c, r.virtual, backoff.Float64); err != nil {
		return err
	}
	r.breaker = r.guard.Breaker()
	r.breaker.SetSuspect(r.suspect)
	r.breaker.Subscribe(func(t recloser.Transition) { r.events <- t })
	r.marked.stats = r.stats()
	d := c.WithDefaults()
	r.retries, r.mayWait = d.Retry.Attempts > 1, d.Bulkhead.Max > 0 && d.Bulkhead.Wait > 0
	return nil
}

// now returns the time since the start.
func (r *run) now() time.Duration { return r.virtual.Now().Sub(r.began) }

func (r *run) stats() recloser.Stats { return r.breaker.Stats() }

// step lets the time pass up to a step, and does it.
func (r *run) step(s *step) {
	r.virtual.Run(s.at - r.now())
	r.current = s
	r.hear() // what a line does is not counted, and the breaker keeps only so much for a listener
	if s.act != nil {
		if r.stopped == nil {
			s.act.do(r, nil)
		}
		r.virtual.Run(0)
		return
	}
	var found []Mismatch
	if r.stopped == nil {
		r.result.Expectations += len(s.expects)
		for _, e := range s.expects {
			e.check(r, &found)
		}
	}
	r.fail(s.line, found...)
}

// fail notes what is not as expected.
func (r *run) fail(line int, found ...Mismatch) {
	if len(found) == 0 {
		return
	}
	r.result.Failures = append(r.result.Failures, Failure{
		Line: line, At: r.now(), Text: strings.TrimSpace(r.lines[line-1]), Mismatches: found, Explain: r.breaker.Explain(),
	})
}

// must notes that an act of an operator failed.
func (r *run) must(err error) {
	if err == nil || r.stopped != nil {
		return
	}
	if len(r.result.Failures) >= maxFailed {
		r.stop(fmt.Sprintf("more than %d things failed", maxFailed))
		return
	}
	r.fail(r.current.line, Mismatch{Want: "it is done", Seen: err.Error()})
}

// spend counts something that happens, and reports false if nothing more may.
func (r *run) spend() bool {
	if r.stopped != nil {
		return false
	}
	before := r.spent / often
	r.spent += 1 + r.virtual.Waiting()/16
	switch {
	case r.spent/often == before:
	case r.ctx.Err() != nil:
		r.stopped = r.ctx.Err()
	case r.spent > r.most:
		r.stop(fmt.Sprintf("more than %d things happened; let less happen, or for a shorter time", r.most))
	case r.virtual.Pending() > maxPending:
		r.stop(fmt.Sprintf("more than %d things are still to happen; let fewer begin, or for a shorter time", maxPending))
	default:
		r.hear()
		if len(r.heard) > maxHeard {
			r.stop(fmt.Sprintf("more than %d changes of state; let it change less often, or for a shorter time", maxHeard))
		}
	}
	if r.load.running >= maxRunning {
		r.stop(fmt.Sprintf("%d calls run at once; let fewer hang, or for a shorter time", maxRunning))
	}
	return r.stopped == nil
}

func (r *run) stop(why string) {
	r.fail(r.current.line, Mismatch{Want: "an end", Seen: "stopped: " + why})
	r.stopped = errors.New(why)
}

// hear takes in what the breaker has told its listener, all of it.
func (r *run) hear() {
	for seq := r.stats().Seq; len(r.heard) == 0 || r.heard[len(r.heard)-1].Seq < seq; {
		if seq == 0 {
			return
		}
		t := <-r.events
		r.heard = append(r.heard, heard{t, r.now() - r.clock.Now().Sub(t.At)})
	}
}

func (r *run) sinceMark() []heard {
	r.hear()
	return r.heard[r.marked.events:]
}

// mark has everything counted from now on.
func (r *run) mark() {
	r.hear()
	r.load.most = r.load.running
	r.marked = marked{load: r.load, stats: r.stats(), events: len(r.heard)}
}

// stall lets time pass in which this process does nothing. A coarse clock does
// not see it.
func (r *run) stall(d time.Duration) {
	r.hear()
	r.standing = !r.exact
	r.virtual.Stall(d)
	r.standing = false
}

// setWall sets the wall clock. Nothing else may come of it.
func (r *run) setWall(d time.Duration) {
	r.hear()
	r.clock.SetWall(r.clock.Now().Add(d))
}

// do repeats the act at its times, which a stall delays and does not move.
func (e every) do(r *run, done func()) {
	start := r.now()
	var next func(n int64)
	next = func(n int64) {
		if !r.spend() {
			return
		}
		e.act.do(r, nil)
		after := e.interval * time.Duration(n)
		if e.length > 0 && after >= e.length {
			if done != nil {
				done()
			}
			return
		}
		r.virtual.After(start+after-r.now(), func() { next(n + 1) })
	}
	next(1)
}

func (t times) do(r *run, done func()) {
	if t.atOnce {
		left := t.n
		for range t.n {
			if !r.spend() {
				return
			}
			t.act.do(r, func() {
				if left--; left == 0 && done != nil {
					done()
				}
			})
		}
		return
	}
	var next func(n int)
	next = func(n int) {
		if n == t.n {
			if done != nil {
				done()
			}
			return
		}
		if r.spend() {
			// Not at once: a million acts that are over at once are not to call each other.
			t.act.do(r, func() { r.virtual.After(0, func() { next(n + 1) }) })
		}
	}
	next(0)
}
