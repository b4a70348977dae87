package recloser

import (
	"strings"
	"testing"
	"time"
)

const (
	suspectAfter = 300 * time.Millisecond
	slowCall     = 2 * time.Second
)

// suspicious are settings with the slow rule, and a run that takes five calls.
func suspicious() Config {
	return Config{Name: "hotel-7", SlowCall: slowCall, Jitter: Off, CancelOnTrip: true}
}

func newSuspicious(t *testing.T, cfg Config) *sim {
	t.Helper()
	s := newSim(t, cfg)
	s.b.SetSuspect(suspectAfter)
	s.every(10*time.Millisecond, s.b.Check)
	return s
}

// hangs admits n calls, 50 ms apart, and lets no time pass after the last.
func (s *sim) hangs(n int) (calls []*Permit) {
	s.Helper()
	for i := range n {
		if i > 0 {
			s.run(50 * time.Millisecond)
		}
		calls = append(calls, s.allow())
	}
	return calls
}

// endAll ends what is still there, so that the books balance.
func (s *sim) endAll(calls []*Permit, err error) {
	s.Helper()
	for _, p := range calls {
		p.Done(err)
	}
	mustEqual(s, "in flight", s.b.Stats().InFlight, 0)
}

func TestTripBySuspicion(t *testing.T) {
	s := newSuspicious(t, suspicious())
	calls := s.hangs(7)
	s.run(200 * time.Millisecond)
	st := s.b.Stats()
	if st.State != Closed || st.Suspects < 3 || st.Overdue != 0 || st.Suspect != suspectAfter || st.Window.Judged() != 0 || st.Window.Run != 0 {
		t.Fatalf("after 0.5 s: %+v", st)
	}
	if why := s.b.Explain(); !strings.Contains(why, "running longer than usual (0.3 s)") {
		t.Errorf("explained: %s", why)
	}
	s.run(200 * time.Millisecond)
	e := s.mustTrip(ReasonSuspected)
	if at := s.at(e); at < 600*time.Millisecond || at > 650*time.Millisecond {
		t.Errorf("tripped after %s", at)
	}
	if e.Counts.Slow != uint64(e.Suspects) || e.Counts.Run != e.Suspects || e.Suspects < 5 || e.Rule != ReasonRun || e.Suspect != suspectAfter || e.Step != 0 {
		t.Errorf("%+v", e)
	}
	open := s.refusal(ReasonOpen)
	mustEqual(t, "trip", open.Trip, ReasonSuspected)
	mustEqual(t, "cause", open.Cause.Error(), "no answer within 0.3 s, longer than usual")
	s.endAll(calls, errDown)
}

func TestWhySuspected(t *testing.T) {
	run := Transition{From: Closed, To: Open, Reason: ReasonSuspected, Rule: ReasonRun, Suspects: 5, Suspect: 253 * time.Millisecond, Counts: Counts{Slow: 5, Run: 5}}
	one, mixed, rate, us := run, run, run, run
	one.Suspects, one.Counts.Run = 1, 1
	mixed.Suspects = 2
	rate.Rule, rate.Counts = ReasonRate, Counts{Good: 9, Failed: 3, Slow: 8, Run: 2}
	us.Reason, us.Counts.Run = ReasonUs, 41
	for want, e := range map[string]Transition{
		"5 calls in a row running longer than usual (0.253 s)":                        run,
		"1 call running longer than usual (0.253 s)":                                  one,
		"5 bad calls in a row, 2 of them running longer than usual (0.253 s)":         mixed,
		"11 of 20 calls bad, 5 of them running longer than usual (0.253 s)":           rate,
		"41 bad calls in a row; but other dependencies hang as well, so it may be us": us,
		"a call that was suspected ended well after 0.4 s":                            {From: Open, To: HalfOpen, Reason: ReasonWitness, Lifted: 400 * time.Millisecond},
	} {
		mustEqual(t, "why", e.Why(), want)
	}
}

func TestSuspectsAreProvisional(t *testing.T) {
	t.Run("a good end takes it back, and resets the run", func(t *testing.T) {
		s := newSuspicious(t, suspicious())
		calls := s.hangs(5)
		s.run(200 * time.Millisecond)
		for i := range 20 { // one after the other is answered, just before it would be enough
			calls[i].Done(nil)
			calls = append(calls, s.allow())
			s.run(50 * time.Millisecond)
		}
		s.mustBe(Closed)
		mustEqual(t, "good", s.b.Stats().Window.Good, 20)
		mustEqual(t, "slow", s.b.Stats().Slow, 0)
		s.endAll(calls[20:], nil)
	})
	t.Run("a bad end books it for good", func(t *testing.T) {
		s := newSuspicious(t, suspicious())
		s.b.SetSuspect(100 * time.Millisecond)
		calls := s.allowed(6)
		s.run(200 * time.Millisecond)
		mustEqual(t, "suspects", s.b.Stats().Suspects, 6)
		for _, p := range calls[:2] {
			p.Done(errDown)
		}
		st := s.b.Stats()
		if st.Window.Failed != 2 || st.Window.Run != 2 || st.Suspects != 4 || st.Failed != 2 {
			t.Fatalf("%+v", st)
		}
		s.endAll(calls[2:], nil)
	})
	t.Run("past SlowCall it is bad for good, once", func(t *testing.T) {
		cfg := suspicious()
		cfg.Consecutive, cfg.Spread = 5, 300*time.Millisecond
		s := newSuspicious(t, cfg)
		calls := s.allowed(4)
		s.run(3 * time.Second)
		st := s.b.Stats()
		if st.Window.Slow != 4 || st.Overdue != 4 || st.Suspects != 0 || st.State != Closed {
			t.Fatalf("%+v", st)
		}
		s.endAll(calls, errDown)
		mustEqual(t, "slow", s.b.Stats().Slow, 4)
		mustEqual(t, "slow in the window", s.b.Stats().Window.Slow, 4)
	})
	t.Run("answered in time it is none", func(t *testing.T) {
		s := newSuspicious(t, suspicious())
		calls := s.hangs(10)
		for _, p := range calls {
			p.Answered()
		}
		s.run(time.Minute)
		s.mustBe(Closed)
		mustEqual(t, "suspects", s.b.Stats().Suspects, 0)
		s.endAll(calls, nil)
	})
	t.Run("answered late it is bad, once", func(t *testing.T) {
		s := newSim(t, suspicious())
		s.b.SetSuspect(suspectAfter)
		p := s.allow()
		s.advance(slowCall - time.Millisecond)
		s.b.Check()
		mustEqual(t, "suspects", s.b.Stats().Suspects, 1)
		s.advance(time.Millisecond)
		p.Answered() // its slice is not over
		mustEqual(t, "slow in the window", s.b.Stats().Window.Slow, 1)
		mustEqual(t, "suspects", s.b.Stats().Suspects, 0)
		p.Done(nil)
		mustEqual(t, "slow", s.b.Stats().Slow, 1)
	})
}

func TestNoSuspectLimit(t *testing.T) {
	for name, limit := range map[string]time.Duration{"none": 0, "off": Off, "at SlowCall": slowCall, "above": time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newSuspicious(t, suspicious())
			s.b.SetSuspect(limit)
			calls := s.hangs(10)
			s.run(slowCall - 500*time.Millisecond)
			st := s.b.Stats()
			if st.Suspect != 0 || st.Suspects != 0 || st.State != Closed {
				t.Fatalf("%+v", st)
			}
			s.run(time.Second)
			s.mustTrip(ReasonRun)
			s.endAll(calls, errDown)
		})
	}
	t.Run("slow rule off", func(t *testing.T) {
		cfg := suspicious()
		cfg.SlowCall = Off
		s := newSuspicious(t, cfg)
		calls := s.hangs(10)
		s.run(time.Minute)
		s.mustBe(Closed)
		s.endAll(calls, nil)
	})
	t.Run("a limit that is lifted", func(t *testing.T) {
		s := newSuspicious(t, suspicious())
		calls := s.hangs(6)
		s.run(200 * time.Millisecond)
		if s.b.Stats().Suspects == 0 {
			t.Fatal("no suspects")
		}
		s.b.SetSuspect(time.Second)
		mustEqual(t, "suspects", s.b.Stats().Suspects, 0)
		s.run(500 * time.Millisecond)
		s.mustBe(Closed)
		s.run(500 * time.Millisecond)
		s.mustTrip(ReasonSuspected)
		s.endAll(calls, errDown)
	})
}

// Calls that are suspects already are none for as long as a lifted limit says, and
// nobody else need come for them to be suspects again.
func TestSuspectsOfALiftedLimit(t *testing.T) {
	s := newSuspicious(t, suspicious())
	s.b.SetSuspect(30 * time.Millisecond)
	first := s.allow()
	s.run(250 * time.Millisecond)
	rest := s.allowed(5)
	s.run(60 * time.Millisecond)
	mustEqual(t, "suspects", s.b.Stats().Suspects, 6)
	s.b.SetSuspect(time.Second)
	mustEqual(t, "suspects", s.b.Stats().Suspects, 0)
	s.run(900 * time.Millisecond)
	s.mustBe(Closed)
	s.run(200 * time.Millisecond)
	e := s.mustTrip(ReasonSuspected)
	mustEqual(t, "suspects", e.Suspects, 6)
	if at := s.at(e); at < 1250*time.Millisecond || at > 1310*time.Millisecond {
		t.Errorf("tripped at %s", at)
	}
	s.endAll(append(rest, first), errDown)
}

// A limit that moves each second, as one that is learned does, loses no call.
func TestSuspectLimitMoves(t *testing.T) {
	s := newSuspicious(t, suspicious())
	l := s.offer(time.Millisecond, 30*time.Second, func() (time.Duration, error) { return 5 * time.Millisecond, nil })
	i := 0
	s.every(time.Second, func() {
		i++
		s.b.SetSuspect(suspectAfter + time.Duration(i*i%7)*40*time.Millisecond)
	})
	s.run(31 * time.Second)
	mustEqual(t, "good", l.good, l.offered)
	mustEqual(t, "in flight", s.b.Stats().InFlight, 0)
	mustEqual(t, "in the ring", s.b.cur.Load().running(), 0)
}

func TestHoldSuspicion(t *testing.T) {
	hold := true
	cfg := suspicious()
	cfg.OpenFor, cfg.Trials, cfg.Ramp, cfg.CancelOnTrip = time.Second, 1, Off, false
	cfg.HoldSuspicion = func() bool { return hold }
	s := newSuspicious(t, cfg)
	calls := s.hangs(40)
	s.mustBe(Closed)
	s.run(500 * time.Millisecond)
	e := s.mustTrip(ReasonUs)
	if e.Rule != ReasonRun || e.Step != 0 || e.Suspects != 0 || s.at(e) < slowCall {
		t.Fatalf("%+v", e)
	}
	s.endAll(calls, errDown)

	s.run(time.Second) // then trials, of which one fails: step 1
	s.trial().Done(errDown)
	s.run(2 * time.Second)
	s.trial().Done(nil)
	mustEqual(t, "step", s.b.Stats().Step, 1)
	calls = s.hangs(45)
	s.run(300 * time.Millisecond)
	s.mustBe(Open)
	trips := s.trips()
	mustEqual(t, "reason", trips[len(trips)-1].Reason, ReasonUs)
	mustEqual(t, "step", trips[len(trips)-1].Step, 1) // another would have gone up: there was no good call
	s.endAll(calls, errDown)

	s.run(2 * time.Second)
	s.trial().Done(nil)
	calls = s.hangs(20)
	s.mustBe(Closed)
	hold = false
	s.run(60 * time.Millisecond)
	trips = s.trips()
	mustEqual(t, "reason", trips[len(trips)-1].Reason, ReasonSuspected)
	mustEqual(t, "step", trips[len(trips)-1].Step, 2)
	s.endAll(calls, errDown)
}

// A suspicion that is no longer held trips although nothing else happens.
func TestSuspicionIsAskedAgain(t *testing.T) {
	hold := true
	cfg := suspicious()
	cfg.HoldSuspicion = func() bool { return hold }
	s := newSuspicious(t, cfg)
	calls := s.hangs(6)
	s.run(time.Second)
	s.mustBe(Closed)
	hold = false
	s.run(askAgain)
	s.mustTrip(ReasonSuspected)
	s.endAll(calls, errDown)
}

func TestHoldSuspicionPanics(t *testing.T) {
	cfg := suspicious()
	cfg.HoldSuspicion = func() bool { panic("hook") }
	s := newSuspicious(t, cfg)
	calls := s.hangs(12)
	s.run(100 * time.Millisecond)
	s.mustTrip(ReasonSuspected)
	s.endAll(calls, errDown)
}

func TestLastGood(t *testing.T) {
	s := newSim(t, strict())
	if at := s.b.Stats().LastGood; !at.IsZero() {
		t.Fatalf("before the first call: %s", at)
	}
	s.advance(time.Second)
	s.ok()
	mustLast := func(want time.Duration) {
		t.Helper()
		mustEqual(t, "last good call", s.b.Stats().LastGood.Sub(epoch), want)
	}
	mustLast(time.Second)
	s.advance(time.Second)
	s.fail()
	mustLast(time.Second)
	s.advance(openFor)
	s.mustBe(HalfOpen)
	mustLast(time.Second)
	s.trial().Done(nil)
	mustLast(2*time.Second + openFor)
	s.advance(time.Minute)
	s.fail()
	s.mustBe(Open)
	mustLast(2*time.Second + openFor)
}
