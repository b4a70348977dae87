package recloser

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// stress is a breaker that goroutines use in every way at once, on a clock that
// they also move, with jumps: so calls become overdue, and somebody is always
// held up between reading the clock and acting.
type stress struct {
	b     *Breaker
	ticks ticks

	asked, refused, taken, witnesses atomic.Uint64 // by this test's count
}

func (s *stress) tick(r *rand.Rand) {
	step := r.Int64N(int64(time.Millisecond))
	if r.IntN(100) == 0 {
		step = r.Int64N(int64(300 * time.Millisecond))
	}
	s.ticks.Add(step)
}

func (s *stress) do(r *rand.Rand) {
	ctx := context.Background()
	switch s.tick(r); r.IntN(24) {
	default:
		s.call(func() error {
			return s.b.Do(ctx, func(context.Context) error { s.tick(r); return s.mayFail(r) })
		})
	case 0, 1, 2:
		s.call(func() error {
			_, err := Do(ctx, s.b, func(context.Context) (int, error) { s.tick(r); return 1, s.mayFail(r) })
			return err
		})
	case 3:
		s.call(func() error {
			defer func() { _ = recover() }()
			return s.b.Do(ctx, func(context.Context) error { panic("stress") })
		})
	case 4, 5, 6, 7, 8, 9:
		s.allow(ctx, r)
	case 10:
		s.b.Check()
		_ = s.b.Explain()
	case 11:
		_, _, _ = s.b.State(), s.b.Name(), s.b.Config()
	case 12:
		if st := s.b.Stats(); st.InFlight < 0 || st.Overdue < 0 || st.Overdue > st.InFlight {
			panic("counted wrong")
		}
	case 13:
		s.b.Subscribe(func(Transition) { s.b.Check() })()
	case 14:
		s.operate(r)
	}
}

func (s *stress) operate(r *rand.Rand) {
	until := epoch.Add(time.Duration(s.ticks.Load()) + time.Duration(r.Int64N(int64(time.Second))))
	switch r.IntN(12) {
	case 8, 9:
		s.b.SetSuspect(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
	case 10:
		s.b.TripNow("ann", "stress")
	case 11:
		s.b.HoldTrials(time.Duration(r.Int64N(int64(5 * time.Millisecond))))
	case 0:
		_ = s.b.Isolate("ann", "stress", until)
	case 1:
		_ = s.b.HoldClosed("ann", "stress", until)
	case 2:
		_ = s.b.TripFor(10*time.Millisecond, "ann", "stress")
	case 3:
		s.b.Reset("ann", "stress")
	case 4:
		s.b.Release("ann", "stress")
	default:
		s.b.TryNow("ann", "stress")
	}
}

// sometimes holds every third suspicion.
func sometimes() func() bool {
	var asked atomic.Uint64
	return func() bool { return asked.Add(1)%3 == 0 }
}

func btoi(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (s *stress) mayFail(r *rand.Rand) error {
	switch r.IntN(8) {
	case 0:
		return errors.New("down")
	case 1:
		return &WaitError{After: time.Millisecond, Throttled: r.IntN(4) != 0}
	}
	return nil
}

// call counts what became of one that Do makes.
func (s *stress) call(do func() error) {
	s.asked.Add(1)
	if err := do(); errors.Is(err, ErrOpen) {
		var open *OpenError
		if errors.As(err, &open); open.Reason != ReasonReleased {
			s.refused.Add(1)
		}
		if open.RetryAfter() < 0 {
			panic("negative")
		}
	}
}

func (s *stress) allow(ctx context.Context, r *rand.Rand) {
	s.asked.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := s.b.Allow(ctx)
	if err != nil {
		s.refused.Add(1)
		return
	}
	for range r.IntN(4) {
		switch s.tick(r); r.IntN(4) {
		case 0:
			p.Sending()
		case 1:
			p.Sent()
		case 2:
			p.Answered()
		case 3:
			_, _, _ = p.Trial(), p.Released().Done(), p.Released().Err()
			s.witnesses.Add(btoi(p.Witness()))
		}
	}
	switch r.IntN(6) {
	case 0:
		cancel()
		p.Done(ctx.Err())
	case 1:
		p.Cancel()
		s.taken.Add(1)
	case 2:
		p.End(Outcome(r.IntN(4)))
	default:
		// The end is reported by two: it counts once.
		var both sync.WaitGroup
		both.Go(func() { p.Done(nil) })
		p.Done(s.mayFail(r))
		both.Wait()
	}
}

// chain is a listener that checks what each transition must be after the one
// before it. Only heard is safe for concurrent use: were the listener called
// twice at once, the race detector would see it.
type chain struct {
	t     *testing.T
	last  Transition
	heard atomic.Uint64
}

func (c *chain) next(t Transition) {
	switch {
	case t.Seq != c.last.Seq+1:
		c.t.Errorf("number %d after %d", t.Seq, c.last.Seq)
	case t.From != c.last.To:
		c.t.Errorf("%d is from %s, but %d was to %s", t.Seq, t.From, c.last.Seq, c.last.To)
	case t.At.Before(c.last.At):
		c.t.Errorf("%d (%s) is dated %s before %d (%s)", t.Seq, t.Reason, c.last.At.Sub(t.At), c.last.Seq, c.last.Reason)
	}
	c.last = t
	c.heard.Store(t.Seq)
}

// check is for when all is quiet again.
func (s *stress) check(t *testing.T, events *chain) {
	t.Helper()
	st := s.b.Stats()
	eventually.True(t, 10*time.Second, func() bool { return events.heard.Load() == st.Seq }, "the listener to have heard of all transitions")
	if events.last.To != st.State || st.State != s.b.State() {
		t.Errorf("the last transition is to %s, the statistics say %s, State says %s", events.last.To, st.State, s.b.State())
	}
	if st.InFlight != 0 || st.Overdue != 0 {
		t.Errorf("no call runs, but %d are counted, %d of them overdue", st.InFlight, st.Overdue)
	}
	ended := st.Success + st.Failed + st.Slow + st.Ignored
	if asked, refused, taken := s.asked.Load(), s.refused.Load(), s.taken.Load(); asked != ended+refused+taken {
		t.Errorf("%d calls asked, but %d ended, %d were refused, %d taken back", asked, ended, refused, taken)
	}
	var refused uint64
	for reason, n := range st.Refused {
		if reason != ReasonReleased {
			refused += n
		}
	}
	if refused != s.refused.Load() {
		t.Errorf("%d refusals counted, %d seen", refused, s.refused.Load())
	}
	if st.Late > ended || st.Latency.Count() != ended-st.Ignored {
		t.Errorf("%d late, %d latencies, %d calls ended, %d ignored", st.Late, st.Latency.Count(), ended, st.Ignored)
	}
	// The parts of InFlight may not just cancel out.
	if p := s.b.cur.Load(); s.b.adrift.Load() != 0 || p.out != 0 || p.overdue != 0 || len(p.suspects) != 0 || st.Trials != 0 {
		t.Errorf("%d adrift, %d out of the ring, %d slices of suspects, %d trials", s.b.adrift.Load(), p.out, len(p.suspects), st.Trials)
	}
	s.checkReleases(t)
	if len(s.b.events().subs) != 1 {
		t.Errorf("%d listeners are left", len(s.b.events().subs))
	}
}

// checkReleases wants no call to be counted that has ended.
func (s *stress) checkReleases(t *testing.T) {
	t.Helper()
	p := s.b.cur.Load()
	if p.releases == nil {
		return
	}
	for _, r := range p.releases.all {
		if n := r.calls.Load(); n != 0 {
			t.Errorf("a context for %d calls that run, but none does", n)
		}
	}
}

func TestEveryMethodAtOnce(t *testing.T) {
	for name, cfg := range map[string]Config{
		"all on":       {SlowCall: 5 * time.Millisecond, MinCalls: 5, OpenFor: 2 * time.Millisecond, Ramp: 20 * time.Millisecond, CancelOnTrip: true},
		"no slow rule": {MinCalls: 5, OpenFor: 2 * time.Millisecond, TrialTimeout: time.Millisecond},
		"twitchy":      {SlowCall: time.Millisecond, Consecutive: 1, OpenFor: time.Millisecond, Trials: 1, Ramp: Off},
		"suspicious":   {SlowCall: 20 * time.Millisecond, MinCalls: 5, Spread: time.Millisecond, OpenFor: 2 * time.Millisecond, Ramp: Off, CancelOnTrip: true, HoldSuspicion: sometimes()},
		"lazy":         {SlowCall: 20 * time.Millisecond, FailureRate: 1, Consecutive: Off},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stress{ticks: newTicks()}
			var err error
			if s.b, err = New(s.ticks.on(cfg)); err != nil {
				t.Fatal(err)
			}
			events := &chain{t: t}
			s.b.Subscribe(events.next)
			var all sync.WaitGroup
			for g := range uint64(8) {
				all.Go(func() {
					r := rand.New(rand.NewPCG(g, 1))
					for range 3000 {
						s.do(r)
					}
				})
			}
			all.Wait()
			s.check(t, events)
		})
	}
}
