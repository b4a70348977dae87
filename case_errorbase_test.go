package recloser

import (
	"math/rand/v2"
	"testing"
	"time"
)

// stream is calls that all take the same time, so they end as they began.
type stream struct {
	took  time.Duration
	err   error
	calls []*Permit
	ends  []time.Duration
}

func (l *stream) begin(p *Permit, now time.Duration) {
	l.calls, l.ends = append(l.calls, p), append(l.ends, now+l.took)
}

func (l *stream) end(now time.Duration) {
	for len(l.ends) > 0 && l.ends[0] <= now {
		l.calls[0].Done(l.err)
		l.calls, l.ends = l.calls[1:], l.ends[1:]
	}
}

// base has 1 000 calls/s run for d, a share of which fails, and wants no trip.
// It does without the events of sim since it makes millions of calls.
func base(t *testing.T, share float64, failed, good, d time.Duration) {
	s := newSim(t, Config{})
	random := rand.New(rand.NewPCG(93, uint64(good)))
	bad, fine := stream{took: failed, err: errDown}, stream{took: good}
	ctx := t.Context()
	for i := range d / time.Millisecond {
		now := i * time.Millisecond
		s.ticks.Store(int64(now))
		if i%50 == 0 {
			s.b.Check()
		}
		bad.end(now)
		fine.end(now)
		p, err := s.b.Allow(ctx)
		if err != nil {
			t.Fatalf("at %s: %v: %s", now, err, s.b.Explain())
		}
		if random.Float64() < share {
			bad.begin(&p, now)
		} else {
			fine.begin(&p, now)
		}
	}
	mustEqual(t, "transitions", len(s.transitions()), 0)
}

func TestC93_BaseOfErrors(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		share        float64
		failed, good time.Duration
	}{
		"10 %, at once":            {0.1, 0, 0},
		"10 %, answers take 0.1 s": {0.1, 20 * ms, 100 * ms},
		"10 %, answers take 1 s":   {0.1, 20 * ms, 1000 * ms},
		"30 %, at once":            {0.3, 0, 0},
		"30 %, answers take 0.1 s": {0.3, 20 * ms, 100 * ms},
		"30 %, answers take 1 s":   {0.3, 20 * ms, 1000 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			d := time.Hour
			if c.share > 0.1 {
				d /= 6
			}
			if raceDetector {
				d /= 60
			}
			base(t, c.share, c.failed, c.good, d)
		})
	}
}

func TestC93_FastErrorsDuringTheSlowStart(t *testing.T) {
	const outage = 20 * time.Second
	for seed := range seeds {
		s := newSim(t, Config{}).checked()
		random := rand.New(rand.NewPCG(93, seed))
		s.b.seed = uint32(seed) + 1
		s.offer(time.Millisecond, outage, hangFor(20*time.Millisecond))
		s.run(outage)
		s.mustBe(Open)
		l := s.offer(time.Millisecond, 5*time.Minute, func() (time.Duration, error) {
			if random.Float64() < 0.05 {
				return 20 * time.Millisecond, errDown
			}
			return 100 * time.Millisecond, nil
		})
		s.run(6 * time.Minute)
		if pass := float64(l.good) / (0.95 * float64(l.offered)); pass < 0.8 {
			t.Errorf("seed %d: %.0f %% of the good calls passed, want 80 %%", seed, 100*pass)
		}
	}
}

func TestC93_ABlipIsNoOutage(t *testing.T) {
	const blip = 100 * time.Millisecond
	for name, at := range map[string]time.Duration{"after a good time": 10 * time.Second, "just started": 0} {
		for _, took := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, time.Second} {
			t.Run(name+", answers take "+took.String(), func(t *testing.T) {
				s := newSim(t, Config{}).checked()
				s.offer(time.Millisecond, at+5*time.Second, func() (time.Duration, error) {
					if now := s.now(); now >= at && now < at+blip {
						return 20 * time.Millisecond, errDown
					}
					return took, nil
				})
				s.run(at + 10*time.Second)
				s.mustBe(Closed)
				mustEqual(t, "failed", s.b.Stats().Failed, 100)
				mustEqual(t, "transitions", len(s.transitions()), 0)
			})
		}
	}
}
