package recloser

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestC90_LongCallsRecloseAfterAnOutage(t *testing.T) {
	const took, outage = 15 * time.Second, time.Minute
	for name, fault := range map[string]time.Duration{"fails at once": 20 * time.Millisecond, "fails after 30 s": 30 * time.Second} {
		for start, began := range map[string]time.Duration{"after a good time": 2 * time.Minute, "in the middle of the outage": -outage / 2} {
			t.Run(name+", started "+start, func(t *testing.T) {
				s := newSim(t, Config{}).checked()
				end := began + outage
				s.offer(time.Second, end+10*time.Minute, func() (time.Duration, error) {
					if now := s.now(); now >= began && now < end {
						return fault, errDown
					}
					return took, nil
				})
				s.run(end + 9*time.Minute)
				s.mustBe(Closed)
				if len(s.trips()) == 0 {
					t.Fatal("the outage did not trip it")
				}
				all := s.transitions()
				last := all[len(all)-1]
				mustEqual(t, "last transition", last.Reason, ReasonTrialsGood)
				if after := s.at(last) - end; after > 2*time.Minute {
					t.Errorf("reclosed %s after the outage", after)
				}
			})
		}
	}
}

// What a lease is worth is not forgotten by a period without a good call.
func TestC90_LeaseOutlivesAFailedRecovery(t *testing.T) {
	const took = 15 * time.Second
	s := newSim(t, strict())
	p := s.allow()
	s.advance(took)
	p.Done(nil)
	for range 3 {
		s.fail()
		s.advance(s.b.Stats().OpenFor)
		p = s.trial()
		s.advance(took)
		s.mustBe(HalfOpen)
		p.Done(nil)
		s.mustBe(Closed)
	}
}

func TestC91_DownloadsAreNotSlow(t *testing.T) {
	cfg := strict()
	cfg.SlowCall, cfg.MinCalls = 2*time.Second, 10
	t.Run("ten of 5 s", func(t *testing.T) {
		s := newSim(t, cfg)
		calls := s.allowed(10)
		s.advance(10 * time.Millisecond)
		for _, p := range calls {
			p.Answered()
		}
		for range 100 {
			s.advance(50 * time.Millisecond)
			s.mustBe(Closed)
		}
		for _, p := range calls {
			p.Done(nil)
		}
		s.mustBe(Closed)
		s.mustHave(Counts{Good: 10})
	})
	t.Run("headers too late", func(t *testing.T) {
		s := newSim(t, cfg)
		p := s.allow()
		s.advance(2 * time.Second)
		p.Answered()
		s.mustBe(Open)
		p.Done(nil)
		mustEqual(t, "slow", s.b.Stats().Slow, 1)
	})
	t.Run("a body that breaks", func(t *testing.T) {
		s := newSim(t, cfg)
		p := s.allow()
		p.Answered()
		s.advance(5 * time.Second)
		p.Done(errDown)
		mustEqual(t, "failed", s.mustTrip(ReasonRun).Counts.Failed, 1)
	})
	t.Run("a trial that streams for an hour", func(t *testing.T) {
		s := newHalfOpen(t, cfg)
		p := s.trial()
		s.advance(time.Second)
		p.Answered()
		s.advance(9*time.Second - 1)
		s.mustRefuse(ReasonTrialSlots)
		s.advance(1)
		s.mustBe(Closed) // at the end of its lease
		mustEqual(t, "in flight", s.b.Stats().InFlight, 1)
		s.advance(time.Hour)
		p.Done(errDown)
		s.mustBe(Closed)
		s.mustHave(Counts{})
		mustEqual(t, "late", s.b.Stats().Late, 1)
	})
	t.Run("its end after its lease", func(t *testing.T) {
		cfg := cfg
		cfg.Trials = 2
		s := newHalfOpen(t, cfg)
		p := s.trial()
		p.Answered()
		s.advance(10 * time.Second)
		s.mustBe(HalfOpen)
		p.Done(errDown) // it was good already
		s.mustBe(HalfOpen)
		s.trial().Done(nil)
		s.mustBe(Closed)
	})
	t.Run("a long upload", func(t *testing.T) {
		cfg := cfg
		cfg.OpenFor, cfg.MaxOpenFor = time.Minute, time.Minute
		s := newSim(t, cfg)
		p := s.allow()
		p.Sending()
		s.advance(time.Minute)
		s.mustBe(Closed)
		p.Sent()
		s.advance(1900 * time.Millisecond)
		p.Answered()
		s.advance(time.Minute)
		p.Done(nil)
		s.mustHave(Counts{Good: 1})

		p = s.allow()
		p.Sending()
		s.advance(time.Minute)
		p.Sent()
		s.advance(2250 * time.Millisecond)
		s.mustRefuse(ReasonOpen)
		mustEqual(t, "slow", s.mustTrip(ReasonRun).Counts.Slow, 1)
	})
}

func TestC94_ABatchOfOverdueCallsIsNoRun(t *testing.T) {
	for _, slow := range []time.Duration{time.Second, 2 * time.Second} {
		t.Run("1 % hang, slow limit "+slow.String(), func(t *testing.T) {
			s := newSim(t, Config{SlowCall: slow}).checked()
			random := rand.New(rand.NewPCG(94, 0))
			l := s.offer(time.Millisecond, 2*time.Minute, func() (time.Duration, error) {
				if random.Float64() < 0.01 {
					return 30 * time.Second, errDown
				}
				return 100 * time.Millisecond, nil
			})
			s.run(2 * time.Minute)
			mustEqual(t, "refused", l.refused, 0)
			mustEqual(t, "transitions", len(s.transitions()), 0)
			if w := s.b.Stats().Window; w.Slow < 50 || w.Slow > 200 {
				t.Errorf("window %+v, want 1 %% slow", w)
			}
		})
	}
	t.Run("a blip of 1 s times out 30 s later", func(t *testing.T) {
		const at = 10 * time.Second
		s := newSim(t, Config{}).checked()
		l := s.offer(time.Millisecond, time.Minute, func() (time.Duration, error) {
			if now := s.now(); now >= at && now < at+time.Second {
				return 30 * time.Second, errDown
			}
			return 100 * time.Millisecond, nil
		})
		s.run(2 * time.Minute)
		mustEqual(t, "bad", l.bad, 1000)
		mustEqual(t, "refused", l.refused, 0)
		mustEqual(t, "transitions", len(s.transitions()), 0)
	})
}

func TestC95_HangsRightAfterTheTrials(t *testing.T) {
	for name, slow := range map[string]time.Duration{"slow limit 2 s": 2 * time.Second, "slow rule off": Off} {
		t.Run(name, func(t *testing.T) {
			s := newHalfOpen(t, Config{Consecutive: 1, SlowCall: slow, OpenFor: openFor, MaxOpenFor: time.Hour, Jitter: Off}).checked()
			trials, reached := 0, 0
			s.offer(time.Millisecond, time.Minute, func() (time.Duration, error) {
				if trials < 2 {
					trials++
					return 30 * time.Millisecond, nil
				}
				if len(s.trips()) == 1 {
					reached++
				}
				return 30 * time.Second, errDown
			})
			s.run(time.Minute)
			trips := s.trips()
			if len(trips) < 2 || trips[1].From != Closed {
				t.Fatalf("not open again: %+v", trips)
			}
			if reached > 20 || reached < 2 {
				t.Errorf("%d calls reached it before it was open again, want at most 20", reached)
			}
		})
	}
}

// patience makes a context that ends once its caller gives up.
type patience func(context.Context) (context.Context, func())

// giveUp makes calls that hang, one a second for d, until their callers give up.
func giveUp(t *testing.T, b *Breaker, d time.Duration, wait patience) {
	var wg sync.WaitGroup
	for range d / time.Second {
		wg.Go(func() {
			ctx, stop := wait(t.Context())
			defer stop()
			_ = b.Do(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		})
		<-time.After(time.Second)
	}
	wg.Wait()
}

func TestC96_CallersWhoGiveUp(t *testing.T) {
	const slow = 2 * time.Second
	cancelled := func(after time.Duration) patience {
		return func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(ctx)
			timer := time.AfterFunc(after, cancel)
			return ctx, func() { timer.Stop(); cancel() }
		}
	}
	deadline := func(after time.Duration) patience {
		return func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, after)
			return ctx, cancel
		}
	}
	for name, c := range map[string]struct {
		patience patience
		healthy  int
		slow     time.Duration
		wantOpen bool
	}{
		"cancel":                      {cancelled(1500 * time.Millisecond), 0, slow, true},
		"own deadline":                {deadline(1500 * time.Millisecond), 0, slow, true},
		"cancel, healthy before":      {cancelled(1500 * time.Millisecond), 100, slow, true},
		"deadline, healthy before":    {deadline(1500 * time.Millisecond), 100, slow, true},
		"too early to say anything":   {cancelled(900 * time.Millisecond), 0, slow, false},
		"deadline too early":          {deadline(900 * time.Millisecond), 0, slow, false},
		"cancel with slow rule off":   {cancelled(1500 * time.Millisecond), 0, Off, false},
		"deadline with slow rule off": {deadline(900 * time.Millisecond), 0, Off, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, err := New(Config{SlowCall: c.slow, OpenFor: 5 * time.Second, Jitter: Off})
				if err != nil {
					t.Fatal(err)
				}
				for range c.healthy {
					_ = b.Do(t.Context(), func(context.Context) error { <-time.After(100 * time.Millisecond); return nil })
				}
				var trips []Transition
				defer b.Subscribe(func(e Transition) { trips = append(trips, e) })()
				began := time.Now()
				giveUp(t, b, 10*time.Second, c.patience)
				synctest.Wait()
				switch {
				case !c.wantOpen:
					mustEqual(t, "transitions", len(trips), 0)
				case len(trips) == 0 || trips[0].At.Sub(began) > 10*time.Second:
					t.Fatalf("not open within 10 s: %+v", trips)
				default:
					mustEqual(t, "reason", trips[0].Reason, ReasonRun)
					mustEqual(t, "counts", trips[0].Counts, Counts{Good: uint64(c.healthy), Run: 5})
				}

				_ = b.TripFor(time.Second, "test", "")
				<-time.After(time.Second)
				mustEqual(t, "state", b.State(), HalfOpen)
				giveUp(t, b, time.Second, c.patience)
				want := HalfOpen
				if c.wantOpen {
					want = Open
				}
				mustEqual(t, "state after such a trial", b.State(), want)
			})
		})
	}
}

// Who gives up says nothing if another call ended well meanwhile.
func TestC96_OthersWereAnswered(t *testing.T) {
	s := newSim(t, Config{SlowCall: 2 * time.Second, Consecutive: 5})
	ctx, cancel := context.WithCancel(t.Context())
	var impatient [10]Permit
	for i := range impatient {
		if err := s.b.admit(ctx, s.b.now(), &impatient[i].call); err != nil {
			t.Fatal(err)
		}
		impatient[i].b, impatient[i].ctx = s.b, ctx
	}
	s.advance(time.Second)
	s.ok()
	s.advance(500 * time.Millisecond)
	cancel()
	for i := range impatient {
		impatient[i].Done(ctx.Err())
	}
	s.mustBe(Closed)
	s.mustHave(Counts{Good: 1})
}

func TestC99_FewJudgedCalls(t *testing.T) {
	t.Run("85 % ignored", func(t *testing.T) {
		cfg := byRate(20)
		cfg.OpenFor = time.Hour
		s := newSim(t, cfg)
		judged := 0
		for i := range 180 { // 6 min
			switch p := s.allow(); {
			case i%20 != 3 && i%20 != 10 && i%20 != 17:
				p.End(Ignored)
			case judged%2 == 0:
				p.Done(nil)
				judged++
			default:
				p.Done(errDown)
				judged++
			}
			if judged == 20 {
				break
			}
			s.mustBe(Closed)
			s.advance(2 * time.Second)
		}
		if at := s.at(s.mustTrip(ReasonRate)); at > 6*time.Minute {
			t.Errorf("open after %s", at)
		}
	})
	t.Run("MinCalls 15", func(t *testing.T) {
		cfg := byRate(15)
		cfg.OpenFor = time.Hour
		s := newSim(t, cfg)
		for i := range 15 {
			s.mustBe(Closed)
			if i%5 == 2 {
				s.ok()
			} else {
				s.fail()
			}
			s.advance(5 * time.Second)
		}
		mustEqual(t, "counts", s.mustTrip(ReasonRate).Counts, Counts{Good: 3, Failed: 12, Run: 2})
	})
}
