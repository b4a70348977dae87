package recloser

import (
	"strings"
	"testing"
	"time"
)

func TestC60_Isolate(t *testing.T) {
	t.Run("without an end", func(t *testing.T) {
		s := newTripped(t, strict())
		if err := s.b.Isolate("ops", "their database is being moved", time.Time{}); err != nil {
			t.Fatal(err)
		}
		all := s.transitions()
		mustEqual(t, "automatic", all[len(all)-1].Automatic, HalfOpen) // where a release leads
		for range 100 {
			s.advance(openFor)
			mustEqual(t, "left", s.refusal(ReasonIsolated).RetryAfter(), 0)
		}
		s.mustBe(Isolated)
		if !s.b.Release("ops", "moved") || s.b.Release("ops", "again") {
			t.Error("Release must report whether there was an override")
		}
		s.trial().Done(nil)
		s.mustBe(Closed)
	})
	t.Run("until T", func(t *testing.T) {
		s := newSim(t, strict())
		if err := s.b.Isolate("ops", "maintenance", epoch.Add(openFor)); err != nil {
			t.Fatal(err)
		}
		s.advance(openFor - 1)
		mustEqual(t, "left", s.refusal(ReasonIsolated).RetryAfter(), 1)
		s.advance(openFor)
		s.mustBe(HalfOpen)
		all := s.transitions()
		mustEqual(t, "transitions", len(all), 2)
		mustEqual(t, "reason", all[1].Reason, ReasonExpired)
		mustEqual(t, "dated", s.at(all[1]), openFor)
		mustEqual(t, "by", all[1].By, "ops")
		s.trial().Done(nil)
		s.mustBe(Closed)
	})
	t.Run("over a running trial", func(t *testing.T) {
		s := newHalfOpen(t, strict())
		p := s.trial()
		if err := s.b.Isolate("ops", "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		p.Done(errDown)
		s.mustBe(Isolated)
		s.b.Release("ops", "")
		mustEqual(t, "in flight", s.b.Stats().InFlight, 0)
		s.trial()
	})
	t.Run("until a time that has passed", func(t *testing.T) {
		s := newSim(t, strict())
		if err := s.b.Isolate("ops", "", epoch); err == nil {
			t.Error("no error")
		}
		s.mustBe(Closed)
		mustEqual(t, "transitions", len(s.transitions()), 0)
	})
}

func TestC61_TripFor(t *testing.T) {
	for name, s := range map[string]*sim{
		"closed":    newSim(t, strict()),
		"open":      newTripped(t, strict()),
		"half-open": newHalfOpen(t, strict()),
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.b.TripFor(5*time.Second, "ops", "they asked for it"); err != nil {
				t.Fatal(err)
			}
			for left := 5 * time.Second; left > 0; left -= 250 * time.Millisecond {
				mustEqual(t, "left", s.refusal(ReasonOpen).RetryAfter(), left)
				mustEqual(t, "until", s.b.Stats().Until.Sub(epoch), s.now()+left)
				s.advance(250 * time.Millisecond)
			}
			s.trial().Done(nil)
			s.mustBe(Closed)
			for _, e := range s.transitions() {
				if e.Reason == ReasonTripped {
					mustEqual(t, "by", e.By, "ops")
					mustEqual(t, "open for", e.OpenFor, 5*time.Second)
					mustEqual(t, "step", e.Step, 0)
				}
			}
		})
	}
}

func TestC64_HeldClosedDuringAnOutage(t *testing.T) {
	s := newSim(t, strict())
	if err := s.b.HoldClosed("ops", "we need every answer", time.Time{}); err != nil {
		t.Fatal(err)
	}
	shows := func(automatic State) {
		t.Helper()
		s.mustBe(HeldClosed)
		mustEqual(t, "automatic", s.b.Stats().Automatic, automatic)
	}
	shows(Closed)
	for range 50 { // each one passes
		s.fail()
	}
	shows(Open)
	all := s.transitions()
	trip := all[len(all)-1]
	mustEqual(t, "from and to", [2]State{trip.From, trip.To}, [2]State{HeldClosed, HeldClosed})
	mustEqual(t, "automatic", trip.Automatic, Open)
	mustEqual(t, "reason", trip.Reason, ReasonRun)

	s.advance(openFor)
	shows(HalfOpen)
	s.fail() // a trial
	shows(Open)
	for range 50 {
		s.fail()
	}
	s.b.Release("ops", "enough")
	s.mustBe(Open)
	mustEqual(t, "left", s.refusal(ReasonOpen).RetryAfter(), 2*openFor)
	mustEqual(t, "failed", s.b.Stats().Failed, 101)
	mustEqual(t, "in flight", s.b.Stats().InFlight, 0)
}

func TestC64_HeldClosedUntilItExpires(t *testing.T) {
	s := newHalfOpen(t, strict())
	p := s.trial()
	if err := s.b.HoldClosed("ops", "", epoch.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	p.Done(errDown) // without a verdict
	s.mustBe(HeldClosed)
	mustEqual(t, "automatic", s.b.Stats().Automatic, HalfOpen)
	s.advance(time.Second)
	s.mustBe(HalfOpen)
	all := s.transitions()
	last := all[len(all)-1]
	mustEqual(t, "reason", last.Reason, ReasonExpired)
	mustEqual(t, "from", last.From, HeldClosed)
	mustEqual(t, "dated", s.at(last), time.Second)
	s.trial().Done(nil)
	s.mustBe(Closed)
}

func TestC63_ShadowPassesEverything(t *testing.T) {
	cfg := strict()
	cfg.Shadow, cfg.CancelOnTrip = true, true
	s := newSim(t, cfg)
	running := s.allow()
	s.fail() // would trip
	s.mustBe(Open)
	events := s.transitions()
	if len(events) != 1 || events[0].To != Open || events[0].Reason != ReasonRun {
		t.Fatalf("events %v, want one to open", events)
	}
	const effect = "would be cut off (shadow: calls pass)"
	for what, says := range map[string]string{"stats": s.b.Stats().Effect(), "transition": events[0].Effect(), "explain": s.b.Explain()} {
		if !strings.Contains(says, effect) {
			t.Errorf("%s says %q, want %q in it", what, says, effect)
		}
	}
	if text := events[0].String(); !strings.HasSuffix(text, "; shadow: calls pass") {
		t.Errorf("the event is told as %q", text)
	}
	select {
	case <-running.Released().Done():
		t.Error("a call was released")
	default:
	}
	for range 3 {
		s.ok() // passes all the same
	}
	s.mustBe(Open) // and decides nothing
	s.advance(openFor)
	s.ok() // a trial, as it would be
	s.mustBe(Closed)
	if n := s.b.Stats().Refused[ReasonOpen]; n != 0 {
		t.Errorf("%d refused", n)
	}
	if err := s.b.Isolate("ops", "works", time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.mustRefuse(ReasonIsolated)
	mustEqual(t, "an operator's act in shadow", s.b.Stats().Effect(), Isolated.Effect())
}
