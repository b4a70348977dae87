package guard

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/vtime"
)

// server works on as many calls at once as it has workers; the others queue, and
// it does not see who gives up.
type server struct {
	on    *vtime.Virtual
	rand  *rand.Rand
	free  []time.Time                    // when each worker is
	takes func(*rand.Rand) time.Duration // for one call, without the queue
	fails func(*rand.Rand) bool
}

func (s *server) call(ctx context.Context) error {
	now := s.on.Now()
	worker := 0
	for i, at := range s.free {
		if at.Before(s.free[worker]) {
			worker = i
		}
	}
	if s.free[worker].Before(now) {
		s.free[worker] = now
	}
	s.free[worker] = s.free[worker].Add(s.takes(s.rand))
	s.on.Wait(ctx, s.free[worker].Sub(now), nil)
	if s.fails != nil && s.fails(s.rand) {
		return errDown
	}
	return ctx.Err()
}

// resize sets the number of workers.
func (s *server) resize(workers int) {
	now := s.on.Now()
	for len(s.free) < workers {
		s.free = append(s.free, now)
	}
	slices.SortFunc(s.free, time.Time.Compare)
	s.free = s.free[len(s.free)-workers:]
}

func always(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

// spread is exponential: the standard deviation is as large as the mean.
func spread(mean time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(mean)) }
}

// load is a guard with a limit that adapts, and calls through it that come at
// random, as many a second as rate says.
type load struct {
	*Guard
	server
	t    *testing.T
	rate float64

	// Since the last report.
	limits    []int
	latencies []time.Duration
}

func newLoad(t *testing.T, bulkhead Bulkhead, timeout time.Duration, workers int, takes func(*rand.Rand) time.Duration) *load {
	t.Helper()
	l := &load{t: t}
	l.on, l.rand, l.takes = vtime.NewVirtual(time.Unix(1e9, 0)), rand.New(rand.NewPCG(1, 2)), takes
	l.resize(workers)
	g, err := NewOn(Config{Breaker: tolerant(), Bulkhead: bulkhead, AttemptTimeout: timeout}, l.on, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Guard = g
	l.on.Go(func() {
		for {
			if l.rate == 0 {
				l.on.Wait(t.Context(), time.Second, nil)
				continue
			}
			l.on.Wait(t.Context(), time.Duration(l.rand.ExpFloat64()/l.rate*1e9), nil)
			l.on.Go(l.one)
		}
	})
	return l
}

func (l *load) one() {
	began := l.on.Now()
	err := l.Do(l.t.Context(), l.call)
	if errors.Is(err, ErrFull) {
		return
	}
	l.latencies = append(l.latencies, l.on.Now().Sub(began))
	l.limits = append(l.limits, l.BulkheadLimit())
}

// report is what was seen in a while.
type report struct {
	low, mean, high int           // of the limit
	median          time.Duration // that calls took
	perSecond       float64       // calls that were let through
}

func (l *load) run(d time.Duration) (r report) {
	l.limits, l.latencies = []int{l.BulkheadLimit()}, nil
	l.on.Run(d)
	sum := 0
	for _, n := range l.limits {
		sum += n
	}
	r.low, r.mean, r.high = slices.Min(l.limits), sum/len(l.limits), slices.Max(l.limits)
	if n := len(l.latencies); n > 0 {
		slices.Sort(l.latencies)
		r.median, r.perSecond = l.latencies[n/2], float64(n)/d.Seconds()
	}
	if b := l.cfg.Bulkhead; r.low < b.Min || r.high > b.Max {
		l.t.Errorf("the limit went from %d to %d, and may from %d to %d", r.low, r.high, b.Min, b.Max)
	}
	return r
}

// A dependency that takes 20 calls at once, asked for more than it can do.
func TestLimitFindsTheCapacity(t *testing.T) {
	const workers, takes = 20, 100 * time.Millisecond
	for name, c := range map[string]struct {
		takes func(time.Duration) func(*rand.Rand) time.Duration
		share float64 // of what the dependency can do that it must do
	}{
		"all calls take as long": {always, 0.99},
		"some take far longer":   {spread, 0.7},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoad(t, Bulkhead{Min: 2, Max: 200}, 0, workers, c.takes(takes))
			l.rate = 1.5 * workers / takes.Seconds()
			if l.BulkheadLimit() != 2 {
				t.Errorf("the limit starts at %d, want Min", l.BulkheadLimit())
			}
			near := func(when string, workers int, takes time.Duration) {
				t.Helper()
				l.run(20 * time.Second)
				r := l.run(20 * time.Second)
				if r.mean < workers/2 || r.mean > 2*workers+2 {
					t.Errorf("%s: the limit is %d, with room for %d", when, r.mean, workers)
				}
				if most := 5 * takes / 2; r.median > most {
					t.Errorf("%s: half of the calls take over %s, and %s without a queue", when, most, takes)
				}
				if least := c.share * float64(workers) / takes.Seconds(); r.perSecond < least {
					t.Errorf("%s: %.0f calls a second, want %.0f", when, r.perSecond, least)
				}
			}
			near("at first", workers, takes)
			l.resize(workers / 4)
			near("with a quarter of the workers", workers/4, takes)
			l.resize(workers)
			near("with all again", workers, takes)
			l.takes = c.takes(4 * takes)
			near("slower", workers, 4*takes)
			l.takes = c.takes(takes)
			near("as fast as before", workers, takes)
		})
	}
}

// What is never reached is not raised: it would be no limit when it is needed.
func TestLimitThatIsNotUsedStays(t *testing.T) {
	l := newLoad(t, Bulkhead{Min: 10, Max: 60}, 0, 1000, always(100*time.Millisecond))
	l.rate = 20 // two at once
	if r := l.run(5 * time.Minute); r.high > 15 {
		t.Errorf("two calls at once, and the limit is up at %d", r.high)
	}
	l.rate = 500
	if r := l.run(10 * time.Second); r.high < 45 {
		t.Errorf("50 calls at once, and the limit is only %d", r.high)
	}
	l.rate = 1500
	if r := l.run(5 * time.Second); r.high != 60 {
		t.Errorf("150 calls at once, and the limit is up at %d, want Max", r.high)
	}
}

func TestLimitFallsWithBadCalls(t *testing.T) {
	half := func(r *rand.Rand) bool { return r.IntN(2) == 0 }
	for name, c := range map[string]struct {
		fails func(*rand.Rand) bool
		takes time.Duration
		most  int
	}{
		"they fail":       {func(*rand.Rand) bool { return true }, 100 * time.Millisecond, 2},
		"half of them do": {half, 100 * time.Millisecond, 10},
		"they time out":   {nil, time.Minute, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoad(t, Bulkhead{Min: 2, Max: 100}, time.Second, 20, always(100*time.Millisecond))
			l.rate = 300
			if r := l.run(10 * time.Second); r.high < 20 {
				t.Fatalf("the limit is up at %d", r.high)
			}
			l.fails, l.takes = c.fails, always(c.takes)
			l.run(20 * time.Second)
			if r := l.run(10 * time.Second); r.mean > c.most {
				t.Errorf("the limit is at %d, want %d at most", r.mean, c.most)
			}
			l.fails, l.takes, l.free = nil, always(100*time.Millisecond), make([]time.Time, len(l.free))
			l.run(20 * time.Second)
			if r := l.run(10 * time.Second); r.mean < 20 || r.perSecond < 190 {
				t.Errorf("it does not come back: %+v", r)
			}
		})
	}
}

// Only what a call tells about the dependency moves the limit.
func TestWhatMovesTheLimit(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	notFound := errors.New("not found")
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want sampleKind
	}{
		"good":                 {nil, nil, good},
		"good for the hook":    {nil, notFound, good},
		"failed":               {nil, errDown, bad},
		"told to wait":         {nil, &recloser.WaitError{Throttled: true, Err: errDown}, bad},
		"gave up":              {ended, errDown, givenUp},
		"cancelled inside":     {nil, context.Canceled, silent},
		"refused by a limit":   {nil, &LimitError{}, silent},
		"refused by a breaker": {nil, &recloser.OpenError{}, silent},
		"the hook panics":      {nil, errors.New("panic"), bad},
	} {
		cfg := Config{Bulkhead: Bulkhead{Min: 1, Max: 2}}
		cfg.Breaker.Classify = func(err error) recloser.Outcome {
			if err.Error() == "panic" {
				panic(err)
			}
			if errors.Is(err, notFound) {
				return recloser.Success
			}
			return recloser.Default
		}
		g := newTest(t, cfg)
		call, err := g.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.ctx != nil {
			call.seen.Context = c.ctx
		}
		call.permit.Done(c.err)
		if got := call.kindOf(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		call.End(recloser.Ignored)
	}
}

// A call that nobody waits for to its end says only that it would have taken
// longer, so it says nothing if it was given up early.
func TestCallsGivenUpInARound(t *testing.T) {
	a := newAdaptive(1, 100)
	a.full = true
	for range leastRound {
		a.see(sample{took: time.Second, kind: good}, 1)
	}
	for _, c := range []struct {
		took time.Duration
		want float64
	}{{time.Millisecond, 0}, {2 * time.Second, 1}} {
		a.good = 0
		a.see(sample{began: 1, took: c.took, kind: givenUp}, 2)
		if a.good != c.want {
			t.Errorf("%v samples of a call given up after %s, want %v", a.good, c.took, c.want)
		}
	}
	a.see(sample{began: 0, kind: bad}, 2)
	if a.bad != 0 {
		t.Error("a call counts that began before the round")
	}
}

func TestOnlyTheTimeToTheAnswerMovesTheLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Bulkhead: Bulkhead{Min: 1, Max: 2}})
		call, err := g.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		call.Answered()
		pass(time.Hour)
		call.Done(nil)
		if a := g.bulkhead.moves; a.good != 1 || a.sum != 0 {
			t.Errorf("%v calls with %v as the sum of logarithms, want one of a second", a.good, a.sum)
		}
	})
}

// What a call ended with is judged once, by the breaker.
func TestHookIsAskedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := 0
		cfg := Config{Breaker: tolerant(), Bulkhead: Bulkhead{Min: 1, Max: 2}}
		cfg.Breaker.Classify = func(error) recloser.Outcome { asked++; return recloser.Ignored }
		_ = newTest(t, cfg).Do(t.Context(), fails)
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}
