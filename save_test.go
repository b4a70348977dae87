package recloser

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// restarted returns a new breaker that was told what the old one saved, after the
// time that the restart took.
func restarted(t *testing.T, old *sim, took time.Duration) *sim {
	t.Helper()
	text, err := json.Marshal(old.b.Save())
	if err != nil {
		t.Fatal(err)
	}
	var saved Saved
	if err := json.Unmarshal(text, &saved); err != nil {
		t.Fatal(err)
	}
	s := newSim(t, old.b.Config())
	s.ticks.SetWall(old.ticks.Now().Add(took))
	if err := s.b.Restore(saved); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRestore(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		s := restarted(t, newSim(t, strict()), time.Second)
		s.mustBe(Closed)
		mustEqual(t, "transitions", len(s.transitions()), 0)
	})
	t.Run("open: the rest of the open time", func(t *testing.T) {
		s := restarted(t, newTripped(t, strict()), openFor/4)
		s.mustBe(Open)
		open := s.refusal(ReasonOpen)
		mustEqual(t, "time left", open.RetryAfter(), 3*openFor/4)
		mustEqual(t, "trip", open.Trip, ReasonRun)
		mustEqual(t, "cause", open.Cause.Error(), errDown.Error())
		mustEqual(t, "since", open.Since, epoch)
		e := s.mustTrip(ReasonRestored)
		mustEqual(t, "number", e.Seq, 2)
		s.advance(3 * openFor / 4)
		s.trial().Done(nil)
		s.mustBe(Closed)
	})
	t.Run("open: over meanwhile", func(t *testing.T) {
		restarted(t, newTripped(t, strict()), time.Minute).mustBe(HalfOpen)
	})
	t.Run("open: the wall clock was set back an hour", func(t *testing.T) {
		s := restarted(t, newTripped(t, strict()), -time.Hour)
		mustEqual(t, "time left", s.refusal(ReasonOpen).RetryAfter(), openFor)
	})
	t.Run("half-open, and the step", func(t *testing.T) {
		old := newHalfOpen(t, strict())
		old.trial().Done(errDown)
		old.advance(2 * openFor)
		old.mustBe(HalfOpen)
		s := restarted(t, old, time.Second)
		s.mustBe(HalfOpen)
		s.trial().Done(errDown)
		mustEqual(t, "open for", s.b.Stats().OpenFor, 4*openFor)
	})
	t.Run("steps are forgotten after a calm time", func(t *testing.T) {
		old := newHalfOpen(t, strict())
		old.trial().Done(nil)
		old.ok()
		old.advance(2 * time.Minute)
		s := restarted(t, old, time.Second)
		s.fail()
		mustEqual(t, "step", s.b.Stats().Step, 0)
	})
	t.Run("isolated", func(t *testing.T) {
		old := newSim(t, strict())
		if err := old.b.Isolate("ana", "works", epoch.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		s := restarted(t, old, time.Minute)
		s.mustBe(Isolated)
		o := s.b.Stats().Override
		if o.By != "ana" || o.Why != "works" || !o.Until.Equal(epoch.Add(time.Hour)) || !o.Since.Equal(epoch) {
			t.Errorf("got %+v", o)
		}
		s.advance(59 * time.Minute)
		s.mustBe(HalfOpen)
		restarted(t, old, 2*time.Hour).mustBe(HalfOpen)
	})
	t.Run("held closed in an outage", func(t *testing.T) {
		old := newTripped(t, strict())
		if err := old.b.HoldClosed("ana", "known", time.Time{}); err != nil {
			t.Fatal(err)
		}
		s := restarted(t, old, openFor/2)
		s.mustBe(HeldClosed)
		mustEqual(t, "automatic", s.b.Stats().Automatic, Open)
		s.ok()
		if !s.b.Release("ana", "") {
			t.Error("nothing to release")
		}
		s.mustBe(Open)
	})
	t.Run("over a breaker in use", func(t *testing.T) {
		saved := newSim(t, strict()).b.Save()
		s := newTripped(t, strict())
		if err := s.b.Restore(saved); err != nil {
			t.Fatal(err)
		}
		s.mustBe(Closed)
		s.ok()
	})
}

func TestRestoreNonsense(t *testing.T) {
	for name, c := range map[string]struct {
		saved Saved
		want  string
	}{
		"state":       {Saved{State: Isolated}, "state isolated"},
		"no end":      {Saved{State: Open, OpenFor: time.Second}, "no end"},
		"no length":   {Saved{State: Open, Until: epoch}, "no end"},
		"step":        {Saved{Step: -1}, "negative"},
		"leases":      {Saved{Leases: -1}, "negative"},
		"an override": {Saved{Override: &Override{State: Open}}, "override to open"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, strict())
			if err := s.b.Restore(c.saved); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			}
			s.mustBe(Closed)
		})
	}
}

// curious is an error that looks at the breaker while it is printed.
type curious struct{ b *Breaker }

func (c curious) Error() string { return c.b.State().String() }

func TestSaveAsksNobodyUnderTheLock(t *testing.T) {
	s := newSim(t, strict())
	_ = s.b.Do(t.Context(), func(context.Context) error { return curious{s.b} })
	mustEqual(t, "cause", s.b.Save().Cause, "open")
}

func TestRestoreOddTimes(t *testing.T) {
	t.Run("an override that began at no known time", func(t *testing.T) {
		s := newSim(t, strict())
		s.advance(time.Second)
		if err := s.b.Restore(Saved{Override: &Override{State: Isolated, By: "ana", Until: epoch.Add(time.Hour)}}); err != nil {
			t.Fatal(err)
		}
		s.mustBe(Isolated)
	})
	t.Run("open since the year 1", func(t *testing.T) {
		s := newSim(t, strict())
		s.advance(time.Second)
		if err := s.b.Restore(Saved{State: Open, Since: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), Until: epoch.AddDate(100, 0, 0), OpenFor: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if st := s.b.Stats(); st.Since.After(st.At) {
			t.Errorf("open since %s, and now is %s", st.Since, st.At)
		}
	})
	t.Run("held closed over an open time, and released", func(t *testing.T) {
		s := newSim(t, strict())
		saved := Saved{State: Open, Since: epoch.Add(-time.Hour), Until: epoch.Add(time.Second), OpenFor: 5 * time.Second, Override: &Override{State: HeldClosed, By: "ana", Since: epoch}}
		if err := s.b.Restore(saved); err != nil {
			t.Fatal(err)
		}
		s.b.Release("ana", "")
		all := s.transitions()
		mustEqual(t, "open for", all[len(all)-1].OpenFor, 5*time.Second)
	})
}

// How slow the slow start takes a call for is no matter of trials before a restore.
func TestRestoreForgetsEarlierTrials(t *testing.T) {
	cfg := strict()
	cfg.Ramp = time.Minute
	s := newHalfOpen(t, cfg)
	saved := s.b.Save()
	p := s.trial()
	s.advance(3 * time.Second)
	p.Done(nil)
	if err := s.b.Restore(saved); err != nil {
		t.Fatal(err)
	}
	s.trial().Done(nil)
	s.mustBe(Closed)
	p = s.allow()
	s.advance(time.Second) // slow
	p.Done(nil)
	mustEqual(t, "slow start", s.b.Stats().RampLimit, 1)
}
