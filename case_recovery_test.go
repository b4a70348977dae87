package recloser

import (
	"slices"
	"testing"
	"time"
)

func TestC30_FirstTrialsAreSpread(t *testing.T) {
	const n, half = 1000, openFor / 2
	cfg := strict()
	cfg.Jitter = 0.5
	ticks := newTicks()
	var waiting []*Breaker
	for range n {
		b, err := New(ticks.on(cfg))
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.Done(errDown)
		waiting = append(waiting, b)
	}
	var first, last time.Duration
	for now := time.Duration(0); len(waiting) > 0 && now < 2*openFor; now += openFor / 200 {
		ticks.Store(int64(now))
		before := len(waiting)
		waiting = slices.DeleteFunc(waiting, func(b *Breaker) bool {
			p, err := b.Allow(t.Context())
			return err == nil && p.Trial()
		})
		if len(waiting) < before {
			if before == n {
				first = now
			}
			last = now
		}
	}
	mustEqual(t, "breakers without a trial", len(waiting), 0)
	if first < half || last > 3*half+openFor/200 || last-first < openFor*9/10 {
		t.Errorf("first trials from %s to %s, want at least 0.9 of %s to %s", first, last, half, 3*half)
	}
}

func TestC30_JitterStaysWithinTheCap(t *testing.T) {
	cfg := strict()
	cfg.Jitter, cfg.MaxOpenFor = 0.5, openFor
	for random, want := range map[float64]time.Duration{0: openFor / 2, 0.5: openFor * 3 / 4, 1: openFor} {
		rules := newSim(t, cfg).b.rules()
		mustEqual(t, "open time", time.Duration(rules.openTime(0, random)), want)
	}
}

// openTimes are the lengths of all open times so far.
func openTimes(s *sim) (times []time.Duration) {
	s.Helper()
	for _, e := range s.trips() {
		times = append(times, e.OpenFor)
	}
	return times
}

func TestC31_OpenTimesGrowUntilItWasCalm(t *testing.T) {
	s := newSim(t, strict())
	endOpen := func() {
		s.advance(s.b.Stats().OpenFor)
		s.ok()
		s.mustBe(Closed)
	}
	var want []time.Duration
	for i := range 5 { // flapping: good for one trial, then bad
		s.fail()
		want = append(want, openFor<<i)
		endOpen()
	}
	s.advance(10 * time.Minute) // closed, but without a good call
	s.fail()
	want = append(want, openFor<<5)
	endOpen()
	s.advance(50 * time.Second) // with good calls, but not for long enough
	s.ok()
	s.fail()
	want = append(want, openFor<<6)
	endOpen()
	s.ok()
	s.advance(time.Minute)
	s.fail()
	want = append(want, openFor)
	if got := openTimes(s); !slices.Equal(got, want) {
		t.Errorf("open times %v, want %v", got, want)
	}
}

func TestC31_StepDownOutOfALivelierPeriod(t *testing.T) {
	cfg := strict()
	cfg.MinCalls = 10
	s := newSim(t, cfg)
	s.fail()
	for range 3 { // bad trials
		s.advance(s.b.Stats().OpenFor)
		s.fail()
	}
	want := []time.Duration{openFor, 2 * openFor, 4 * openFor, 8 * openFor}
	for range 4 { // good for ten calls, then bad
		s.advance(s.b.Stats().OpenFor)
		for range 1 + 10 {
			s.ok()
		}
		s.fail()
	}
	want = append(want, 4*openFor, 2*openFor, openFor, openFor)
	if got := openTimes(s); !slices.Equal(got, want) {
		t.Errorf("open times %v, want %v", got, want)
	}
}

func TestC31_SameStepAfterAGoodTrialOrAnEarlyOne(t *testing.T) {
	cfg := strict()
	cfg.Trials = 2
	s := newHalfOpen(t, cfg)
	s.fail()
	s.advance(s.b.Stats().OpenFor)
	s.ok()
	s.fail() // a good trial before the bad one
	if !s.b.TryNow("ops", "try") {
		t.Fatal("not open")
	}
	s.fail() // early
	if got, want := openTimes(s), []time.Duration{openFor, 2 * openFor, 2 * openFor, 2 * openFor}; !slices.Equal(got, want) {
		t.Errorf("open times %v, want %v", got, want)
	}
}

// Calm is calm also if the period after it ended by no rule.
func TestC31_CalmIsForgottenNoLaterThanItsPeriod(t *testing.T) {
	for name, end := range map[string]func(*sim){
		"tripped by hand": func(s *sim) { _ = s.b.TripFor(time.Second, "ops", "") },
		"told to wait":    func(s *sim) { s.allow().Done(&WaitError{After: time.Second}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newHalfOpen(t, strict())
			for range 3 {
				s.fail()
				s.advance(s.b.Stats().OpenFor)
			}
			s.ok()
			s.ok()
			s.advance(time.Minute)
			mustEqual(t, "step shown", s.b.Stats().Step, 0)
			end(s)
			mustEqual(t, "step shown", s.b.Stats().Step, 0)
			s.advance(time.Second)
			s.fail() // a half-open without a good trial
			mustEqual(t, "open time", s.b.Stats().OpenFor, 2*openFor)
		})
	}
}

func TestC31_DeadForAnHourAtLittleTraffic(t *testing.T) {
	s := newSim(t, Config{OpenFor: 5 * time.Second, MaxOpenFor: 30 * time.Second, Jitter: Off})
	s.offer(47*time.Second, time.Hour, hangFor(20*time.Millisecond))
	s.run(time.Hour)
	got := openTimes(s)
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}
	for len(want) < len(got) {
		want = append(want, 30*time.Second)
	}
	if len(got) < 60 || !slices.Equal(got, want) {
		t.Errorf("open times %v, want 5s, 10s, 20s, 30s, 30s, ... and at least 60 of them", got)
	}
}

func TestC32_AThousandFailedTrials(t *testing.T) {
	for name, cfg := range map[string]Config{
		"without jitter": {Consecutive: 1, Jitter: Off, OpenFor: openFor, MaxOpenFor: time.Second},
		"with jitter":    {Consecutive: 1, Jitter: 0.5, OpenFor: openFor, MaxOpenFor: time.Second},
		"1 ms to 1 h":    {Consecutive: 1, Jitter: Off, OpenFor: time.Millisecond, MaxOpenFor: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTripped(t, cfg)
			for range 1000 {
				st := s.b.Stats()
				left := st.Until.Sub(epoch) - s.now()
				if st.State != Open || left <= 0 || left > cfg.MaxOpenFor {
					t.Fatalf("%s for %s, cap %s", st.State, left, cfg.MaxOpenFor)
				}
				s.advance(left)
				s.trial().Done(errDown)
			}
			mustEqual(t, "trips", s.b.Stats().Transitions[TransitionKey{Open, ReasonTrialFailed}], 1000)
		})
	}
}

func TestC33_OpenTimePassesWithNoCaller(t *testing.T) {
	s := newTripped(t, strict())
	refusal := s.refusal(ReasonOpen)
	mustEqual(t, "left at first", refusal.RetryAfter(), openFor)
	s.advance(10 * openFor)
	s.mustBe(HalfOpen)
	mustEqual(t, "left", refusal.RetryAfter(), 0)
	st := s.b.Stats()
	mustEqual(t, "until", st.Until, time.Time{})
	mustEqual(t, "since", st.Since.Sub(epoch), openFor)
	all := s.transitions()
	mustEqual(t, "dated", s.at(all[len(all)-1]), openFor)
	mustEqual(t, "reason", all[len(all)-1].Reason, ReasonTime)
}

func TestC34_SlowStartAfterReclosing(t *testing.T) {
	const took = 100 * time.Millisecond
	for name, trialTook := range map[string]time.Duration{"trials like all calls": took, "trials were cache hits": time.Millisecond} {
		for rule, slow := range map[string]time.Duration{"slow rule off": Off, "slow rule on": 2 * time.Second} {
			t.Run(name+", "+rule, func(t *testing.T) {
				s := newTripped(t, Config{Consecutive: 1, OpenFor: openFor, Jitter: Off, SlowCall: slow})
				s.run(openFor)
				trials := s.b.Config().Trials
				for range trials {
					p := s.trial()
					s.run(trialTook)
					p.Done(nil)
				}
				s.mustBe(Closed)
				reclosed := s.now()

				var most [20]int // running, in each second
				first := 0       // in the first 100 ms
				var l *load
				l = s.offer(time.Millisecond, 20*time.Second, func() (time.Duration, error) {
					after := s.now() - reclosed
					most[after/time.Second] = max(most[after/time.Second], l.running)
					if after < took {
						first = max(first, l.running)
					}
					return took, nil
				})
				s.run(20*time.Second - 1)
				mustEqual(t, "running in the first 100 ms", first, trials)
				for i, n := range most[:10] {
					if limit := trials << (i + 1); n > limit {
						t.Errorf("%d ran in second %d, want at most %d", n, i, limit)
					}
				}
				if l.lastRefused < reclosed || l.lastRefused > reclosed+10*time.Second {
					t.Errorf("last refused %s after reclosing", l.lastRefused-reclosed)
				}
				mustEqual(t, "trips", len(s.trips()), 1)
				if s.b.Stats().RampLimit > 0 {
					t.Error("still ramping after 20 s")
				}
			})
		}
	}
}

func TestC34_SlowStartRefusesNobodyAtLittleTraffic(t *testing.T) {
	s := newHalfOpen(t, Config{Consecutive: 1, OpenFor: openFor, Jitter: Off})
	s.ok()
	s.ok()
	s.mustBe(Closed)
	l := s.offer(50*time.Millisecond, time.Minute, func() (time.Duration, error) { return 3 * time.Millisecond, nil })
	s.run(time.Minute)
	mustEqual(t, "refused", l.refused, 0)
	mustEqual(t, "good", l.good, 1200)
}

// The first few calls say little: the slow start is over only once the limit
// has doubled with nobody refused since it had doubled before.
func TestC34_FirstDoublingIsNotTheEnd(t *testing.T) {
	s := newHalfOpen(t, Config{Consecutive: 1, OpenFor: openFor, Jitter: Off})
	for range 2 + 2 { // trials, and as many calls
		s.ok()
	}
	for range 100 {
		s.advance(9 * time.Millisecond)
		s.ok()
	}
	if s.b.Stats().RampLimit == 0 {
		t.Error("over within the first second")
	}
	s.advance(time.Second)
	for range 4 {
		s.ok()
	}
	if s.b.Stats().RampLimit > 0 {
		t.Error("not over after the second doubling, though nobody was refused")
	}
}

// In a slow start fewer bad calls in a row trip, but not before the calls on
// the way are decided; until then nobody is let in.
func TestC34_RunDuringTheSlowStart(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*Permit)
		want State
	}{
		"the last one fails":      {func(p *Permit) { p.Done(errDown) }, Open},
		"the last one is good":    {func(p *Permit) { p.Done(nil) }, Closed},
		"the last one is ignored": {func(p *Permit) { p.End(Ignored) }, Open},
		"the last one is no call": {(*Permit).Cancel, Open},
		"the last one hangs":      {func(*Permit) {}, Open},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, Config{OpenFor: time.Minute, SlowCall: time.Second})
			_ = s.b.TripFor(openFor, "test", "")
			s.advance(openFor)
			s.ok()
			s.ok()
			last := s.allow()
			s.fail()
			s.mustBe(Closed)
			s.fail() // two of at most two
			for range 3 {
				s.mustBe(Closed)
				s.mustRefuse(ReasonRamp)
			}
			if c.end(last); name == "the last one hangs" {
				s.advance(1125 * time.Millisecond)
			}
			s.mustBe(c.want)
			if c.want == Closed {
				s.allow()
			}
		})
	}
}

// Without the slow rule nothing says of a call that it will never end, so it
// keeps its slot for as long as it runs.
func TestC34_LongCallsKeepTheirSlots(t *testing.T) {
	s := newHalfOpen(t, Config{Consecutive: 1, OpenFor: openFor, Jitter: Off})
	s.ok()
	s.ok()
	l := s.offer(10*time.Millisecond, 15*time.Second, func() (time.Duration, error) { return 15 * time.Second, nil })
	s.run(14 * time.Second)
	mustEqual(t, "running", l.running, 2)
}

func TestC35_GoodAgainAfterAMinute(t *testing.T) {
	const took, interval, outage = 20 * time.Millisecond, 10 * time.Millisecond, time.Minute
	for name, cfg := range map[string]Config{
		"standard settings": {Jitter: Off},
		"with jitter":       {},
		"slow rule":         {Jitter: Off, SlowCall: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, cfg).checked()
			s.offer(interval, 3*outage, func() (time.Duration, error) {
				if now := s.now(); now >= 10*time.Second && now < 10*time.Second+outage {
					return took, errDown
				}
				return took, nil
			})
			s.run(10*time.Second + outage)
			end := s.b.Stats().Until.Sub(epoch) // of the open time in force
			if s.b.State() != Open || end > s.now()+30*time.Second {
				t.Fatalf("%s until %s at the end of the outage", s.b.State(), end)
			}
			s.run(2*outage - 10*time.Second)
			all := s.transitions()
			last := all[len(all)-1]
			mustEqual(t, "last transition", last.Reason, ReasonTrialsGood)
			if at, latest := s.at(last), end+2*(took+interval); at > latest {
				t.Errorf("closed at %s, want by %s", at, latest)
			}
		})
	}
}
