package maintenance

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

// night is a rule that is in force each day from 13:00 to 14:00, an hour after
// the stand's start.
func night(ids ...string) Window {
	return Window{Name: "night", Dependencies: ids, Calendar: &Calendar{Days: days[:], From: "13:00", For: time.Hour}}
}

func TestIsolatesByTheClock(t *testing.T) {
	s := newStand(t, "a", "b")
	s.put(night("a"))
	s.after(time.Hour-time.Nanosecond, "a", "closed")
	s.wasTold()
	s.after(time.Nanosecond, "a", "isolated by maintenance night")
	s.after(0, "b", "closed")
	s.wasTold("night has begun")
	if o := s.Override("a"); o.Why != "works" || !o.Until.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("%+v", o)
	}
	w, until, ok := s.runner.Of("a")
	if !ok || w.ID != "night" || !until.Equal(noon.Add(2*time.Hour)) || s.runner.Covers("b") {
		t.Errorf("of a: %v %v %v; covers b: %v", w.ID, until, ok, s.runner.Covers("b"))
	}
	s.after(time.Hour-time.Nanosecond, "a", "isolated by maintenance night")
	s.after(time.Nanosecond, "a", "half-open")
	s.wasTold("night has ended")
	if s.runner.Covers("a") {
		t.Error("covers after the end")
	}
	s.put(Window{Name: "once", Dependencies: []string{"b"}, From: s.v.Now().Add(1700 * time.Millisecond), To: noon.Add(3 * time.Hour)})
	s.runner.Look(t.Context())
	s.v.Run(time.Minute)
	if o := s.Override("b"); o == nil {
		t.Error("not isolated between two minutes")
	}
}

// G16: an end that changes nothing makes no event besides its own.
func TestG16_EndThatChangesNothing(t *testing.T) {
	s := newStand(t, "theirs", "free", "quiet")
	s.put(night("theirs", "free"))
	s.put(Window{Name: "talk", Dependencies: []string{"quiet"}, Effect: NoMessages, From: noon.Add(time.Hour), To: noon.Add(2 * time.Hour)})
	if err := s.Isolate("theirs", "ops", "broken", time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.after(90*time.Minute, "free", "isolated by maintenance night")
	s.Release("free", "ops", "it is fine")
	s.v.Run(time.Second)
	if !s.runner.Covers("quiet") || !s.runner.Covers("theirs") {
		t.Error("messages would be sent")
	}
	seq := func() (all []uint64) {
		for _, id := range []string{"theirs", "free", "quiet"} {
			all = append(all, s.all[id].Save().Seq)
		}
		return all
	}
	before := seq()
	s.v.Run(2 * time.Hour)
	if after := seq(); !slices.Equal(after, before) {
		t.Errorf("the ends made transitions: %v, before %v", after, before)
	}
	s.wasTold("night has begun", "talk has begun", "night has ended", "talk has ended")
}

func TestOperatorsOverrideStays(t *testing.T) {
	for _, c := range []struct {
		name  string
		act   func(s *stand)
		want  string // while it lasts, after it
		after string
	}{
		{"isolated before", func(s *stand) { _ = s.Isolate("a", "ops", "", noon.Add(5*time.Hour)) }, "isolated by ops", "isolated by ops"},
		{"held closed before", func(s *stand) { _ = s.all["a"].HoldClosed("ops", "", time.Time{}) }, "held-closed by ops", "held-closed by ops"},
		{"isolated during", func(s *stand) {
			s.v.Run(90 * time.Minute)
			_ = s.Isolate("a", "ops", "", time.Time{})
		}, "isolated by ops", "isolated by ops"},
		{"held closed during", func(s *stand) {
			s.v.Run(90 * time.Minute)
			_ = s.all["a"].HoldClosed("ops", "", noon.Add(5*time.Hour))
		}, "held-closed by ops", "held-closed by ops"},
		{"expires during", func(s *stand) { _ = s.Isolate("a", "ops", "", noon.Add(80*time.Minute)) }, "isolated by maintenance night", "half-open"},
		{"expires before", func(s *stand) { _ = s.Isolate("a", "ops", "", noon.Add(time.Minute)) }, "isolated by maintenance night", "half-open"},
		{"released before", func(s *stand) {
			_ = s.Isolate("a", "ops", "", time.Time{})
			s.v.Run(time.Minute)
			s.Release("a", "ops", "")
		}, "isolated by maintenance night", "half-open"},
		{"released just before", func(s *stand) {
			_ = s.Isolate("a", "ops", "", time.Time{})
			s.v.Run(59*time.Minute + 30*time.Second)
			s.Release("a", "ops", "")
		}, "isolated by maintenance night", "half-open"},
		{"released during", func(s *stand) {
			_ = s.Isolate("a", "ops", "", time.Time{})
			s.v.Run(90 * time.Minute)
			s.Release("a", "ops", "")
		}, "half-open", "half-open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStand(t, "a")
			s.put(night("a"))
			c.act(s)
			s.after(noon.Add(110*time.Minute).Sub(s.v.Now()), "a", c.want)
			s.after(20*time.Minute, "a", c.after)
		})
	}
}

// Who is released by an operator stays so, restarts included, until the window
// comes again.
func TestReleasedUntilTheNextTime(t *testing.T) {
	s := newStand(t, "a", "b")
	s.put(night("a", "b"))
	s.put(Window{Name: "long", Dependencies: []string{"a"}, From: noon, To: noon.Add(100 * time.Minute)})
	s.after(70*time.Minute, "a", "isolated by maintenance night")
	s.Release("a", "ops", "it is fine")
	s.after(10*time.Minute, "a", "half-open")
	s.restart()
	s.after(10*time.Minute, "a", "half-open")
	s.after(0, "b", "isolated by maintenance night")
	s.put(night("a", "b")) // a change of the window changes nothing here
	s.after(5*time.Minute, "a", "half-open")
	s.Release("b", "ops", "")
	s.after(time.Minute, "b", "half-open")
	s.after(0, "a", "half-open")
	s.after(24*time.Hour, "a", "isolated by maintenance night")
	if got := s.windows["night"].Released; len(got) != 2 {
		t.Errorf("released: %v", got)
	}
	s.Release("b", "ops", "")
	s.v.Run(time.Second)
	if got := s.windows["night"].Released; len(got) != 1 || got["b"].IsZero() {
		t.Errorf("what was released the day before is kept: %v", got)
	}
}

func TestEndsEarly(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(s *stand)
		told string
	}{
		{"deleted", func(s *stand) { delete(s.windows, "night") }, "night has ended early"},
		{"ended", func(s *stand) {
			w := s.windows["night"]
			w.To = s.v.Now()
			s.windows["night"] = w
		}, "night has ended early"},
		{"only no messages", func(s *stand) {
			w := s.windows["night"]
			w.Effect = NoMessages
			s.windows["night"] = w
		}, ""},
		{"leaves", func(s *stand) { s.put(night("b")) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStand(t, "a", "b")
			s.put(night("a"))
			s.after(90*time.Minute, "a", "isolated by maintenance night")
			s.told = nil
			c.end(s)
			s.runner.Look(t.Context())
			s.after(0, "a", "half-open")
			if c.told != "" {
				s.wasTold(c.told)
			} else {
				s.wasTold()
			}
		})
	}
}

func TestDependenciesComeAndGo(t *testing.T) {
	s := newStand(t, "a")
	w := night()
	w.Labels = map[string]string{"region": "coast"}
	s.put(w)
	s.v.Run(80 * time.Minute)
	s.add(Target{ID: "new", Labels: map[string]string{"region": "coast"}})
	s.after(time.Second, "new", "isolated by maintenance night")
	s.targets["new"] = Target{ID: "new"}
	s.after(time.Second, "new", "half-open")
	s.targets["new"] = Target{ID: "new", Labels: map[string]string{"region": "coast"}}
	s.after(time.Second, "new", "isolated by maintenance night") // by us released, not by an operator
	delete(s.targets, "new")
	s.v.Run(time.Second)
	if len(s.runner.mine) > 0 || s.runner.Covers("new") {
		t.Errorf("known still: %v", s.runner.mine)
	}
}

// Where windows overlap nobody passes in between, and one without a gap after
// the other is one isolation.
func TestOverlap(t *testing.T) {
	s := newStand(t, "a")
	s.put(Window{Name: "one", Groups: []string{"*"}, From: noon.Add(time.Hour), To: noon.Add(3 * time.Hour)})
	s.put(Window{Name: "two", Groups: []string{"*"}, From: noon.Add(2 * time.Hour), To: noon.Add(4 * time.Hour)})
	s.after(time.Hour, "a", "isolated by maintenance one")
	s.after(time.Hour, "a", "isolated by maintenance two")
	s.after(time.Hour, "a", "isolated by maintenance two")
	delete(s.windows, "two")
	s.after(time.Second, "a", "half-open")

	s = newStand(t, "a")
	s.put(Window{Name: "always", Groups: []string{"*"}, Calendar: &Calendar{Days: days[:], From: "12:01", For: 24 * time.Hour}})
	s.put(Window{Name: "talk", Groups: []string{"*"}, Effect: NoMessages, From: noon, To: noon.AddDate(1, 0, 0)})
	s.runner.Look(t.Context())
	for _, d := range []time.Duration{time.Minute - 1, 1, time.Second} { // one day ends, the next begins
		s.after(d, "a", "isolated by maintenance always")
		if w, _, _ := s.runner.Of("a"); w.ID != "always" {
			t.Errorf("of %q", w.ID)
		}
	}
	if o := s.Override("a"); !o.Until.Equal(noon.Add(48*time.Hour + time.Minute)) {
		t.Errorf("until %s", o.Until)
	}
}

// A restart makes no message, and lets nobody pass.
func TestRestartDuringMaintenance(t *testing.T) {
	s := newStand(t, "a", "b")
	s.put(night("a"))
	s.after(80*time.Minute, "a", "isolated by maintenance night")
	s.wasTold("night has begun")
	s.restart()
	s.wasTold()
	until := s.Override("a").Until
	s.after(0, "a", "isolated by maintenance night")
	if seq := s.all["a"].Save().Seq; !until.Equal(noon.Add(2*time.Hour)) || seq != 2 { // isolated, restored
		t.Errorf("until %s, %d transitions", until, seq)
	}
	delete(s.windows, "night")
	s.after(time.Second, "a", "half-open") // it was known as ours

	// The gateway was down when it began.
	s = newStand(t, "a")
	s.put(night("a"))
	s.cancel()
	s.v.Run(80 * time.Minute)
	s.restart()
	s.after(0, "a", "isolated by maintenance night")
}

func TestStorageIsBroken(t *testing.T) {
	s := newStand(t, "a")
	s.put(night("a"))
	s.v.Run(time.Minute)
	s.broken = true
	s.after(80*time.Minute, "a", "isolated by maintenance night")
	s.Release("a", "ops", "")
	s.after(5*time.Minute, "a", "half-open") // not kept, and not isolated again
	s.broken = false
	s.after(5*time.Minute, "a", "half-open")
	s.restart()
	s.after(5*time.Minute, "a", "half-open")
}

// Start and Stop on the machine's clock.
func TestStartAndStop(t *testing.T) {
	s := newStand(t, "a")
	now := time.Now()
	s.put(Window{Name: "now", Dependencies: []string{"a"}, From: now.Add(-time.Hour), To: now.Add(time.Hour)})
	isolated := false
	r := New(Options{
		Breakers: isolates{s, func() { isolated = true }},
		Windows:  func(context.Context) ([]Window, error) { return slices.Collect(maps.Values(s.windows)), nil },
		Save:     func(context.Context, Window) error { return nil },
	})
	r.Start()
	if !isolated || !r.Covers("a") {
		t.Errorf("not in force when Start returns: isolated %v, covers %v", isolated, r.Covers("a"))
	}
	var looks sync.WaitGroup
	for range 4 {
		looks.Go(func() {
			for range 20 {
				r.Look(t.Context())
				r.Covers("a")
			}
		})
	}
	looks.Wait()
	r.Stop()
}

// isolates are breakers that only say that they are isolated.
type isolates struct {
	*stand
	called func()
}

func (i isolates) Isolate(string, string, string, time.Time) error {
	i.called()
	return nil
}

func TestBy(t *testing.T) {
	for by, want := range map[string]string{"ines": "ines", "maintenance new database": "maintenance", "maintenance move": "maintenance move", "new database": "new database"} {
		if got := By(by, "new database"); got != want {
			t.Errorf("%s: %s, want %s", by, got, want)
		}
	}
}
