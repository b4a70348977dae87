package recloser

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/defaults"
)

// Brief says the same as Stats, but for what it leaves out.
func TestBriefIsStatsWithoutTotals(t *testing.T) {
	s := newSim(t, byRate(4))
	s.ok()
	for range 3 { // three of four
		s.fail()
	}
	_ = s.b.TryNow("ops", "why")
	whole, brief := s.b.Stats(), s.b.Brief()
	if whole.State != HalfOpen || whole.Transitions == nil || whole.Refused == nil || whole.Latency.Count() == 0 {
		t.Fatalf("there is too little to compare: %+v", whole)
	}
	whole.Transitions, whole.Refused, whole.Latency = nil, nil, Histogram{}
	if !reflect.DeepEqual(brief, whole) {
		t.Errorf("brief %+v\nwhole %+v", brief, whole)
	}
}

func TestExplain(t *testing.T) {
	rated := byRate(20)
	rated.FailureRate = 0.07
	ramped := strict()
	ramped.Ramp, ramped.Trials = time.Minute, 2
	for _, c := range []struct {
		name string
		cfg  Config
		do   func(*sim)
		want string
	}{
		{"new", Config{}, func(*sim) {}, "closed (passing): too few calls to judge (0 of 20); 0 bad in a row, limit 5"},
		{"some calls", Config{MinCalls: 20}, func(s *sim) {
			for range 5 {
				s.ok()
			}
			for range 4 {
				s.fail()
			}
		}, "closed (passing): too few calls to judge (9 of 20); 4 bad in a row, limit 5"},
		{"enough calls", rated, func(s *sim) {
			for range 40 {
				s.ok()
			}
			s.fail()
		}, "closed (passing): 41 calls, 2 % bad, limit 7 %"},
		{"no rate rule", Config{FailureRate: Off}, func(s *sim) { s.fail() }, "closed (passing): 1 calls, 100 % bad; 1 bad in a row, limit 5"},
		{"tripped by the run rule", strict(), func(s *sim) { s.fail() }, "open (cut off): 1 bad call; trials in 100ms; last failure: down"},
		{
			"tripped by the rate rule", byRate(2), func(s *sim) { s.fail(); s.fail(); s.advance(openFor / 2) },
			"open (cut off): 2 calls, 100 % bad, limit 50 %; trials in 100ms; last failure: down",
		},
		{
			"told to wait", strict(), func(s *sim) { s.allow().Done(&WaitError{After: time.Minute}) },
			"open (cut off): told to wait; trials in 1m; last failure: told to wait 1m0s",
		},
		{"tripped by hand", strict(), func(s *sim) { _ = s.b.TripFor(time.Hour, "ann", "they asked") }, "open (cut off): tripped by ann; trials in 1h"},
		{"on trial", strict(), func(s *sim) { s.fail(); s.advance(openFor); s.trial() }, "half-open (on trial): 0 of 1 trials good, 1 running"},
		{"a trial failed", strict(), func(s *sim) { s.fail(); s.advance(openFor); s.fail() }, "open (cut off): trial failed; trials in 200ms; last failure: down"},
		{
			"slow start", ramped, func(s *sim) { s.fail(); s.advance(openFor); s.ok(); s.ok() },
			"closed (passing): too few calls to judge (0 of 20); 0 bad in a row, limit 1; slow start: at most 2 calls at once",
		},
		{"isolated", strict(), func(s *sim) { _ = s.b.Isolate("ann", "rebuild", time.Time{}) }, "isolated (cut off by hand): by ann: rebuild"},
		{
			"held closed", strict(), func(s *sim) { _ = s.b.HoldClosed("ann", "I know better", time.Time{}); s.fail() },
			"held closed (passing by hand) by ann: I know better; automatic would be open: 1 bad call; trials in 100ms; last failure: down",
		},
		{"released by somebody else", strict(), func(s *sim) {
			_ = s.b.TripFor(time.Hour, "ann", "")
			_ = s.b.HoldClosed("bob", "", time.Time{})
			s.b.Release("eve", "")
		}, "open (cut off): tripped by ann; trials in 1h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t, c.cfg)
			c.do(s)
			if got := s.b.Explain(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestStatsOfANewBreaker(t *testing.T) {
	s := newSim(t, Config{Name: "hotel-7", SlowCall: time.Second})
	st := s.b.Stats()
	mustEqual(t, "Name", st.Name, "hotel-7")
	mustEqual(t, "State", st.State, Closed)
	mustEqual(t, "Automatic", st.Automatic, Closed)
	mustEqual(t, "MinCalls", st.MinCalls, 20)
	mustEqual(t, "SlowCall", st.SlowCall, time.Second)
	mustEqual(t, "Since", st.Since, epoch)
	mustEqual(t, "Until", st.Until, time.Time{})
	mustEqual(t, "OpenFor", st.OpenFor, 0)
	mustEqual(t, "Seq", st.Seq, 0)
	mustEqual(t, "Window", st.Window, Counts{})
	if st.Override != nil || st.Cause != nil {
		t.Errorf("override %v, cause %v", st.Override, st.Cause)
	}
	// Every series is there from the start.
	for _, reason := range RefusalReasons() {
		if n, ok := st.Refused[reason]; !ok || n != 0 {
			t.Errorf("refused for %q: %d, %t", reason, n, ok)
		}
	}
	for _, key := range TransitionKeys() {
		if n, ok := st.Transitions[key]; !ok || n != 0 {
			t.Errorf("transitions %v: %d, %t", key, n, ok)
		}
	}
	st.Refused[ReasonOpen] = 7 // it is the reader's own
	mustEqual(t, "refused", s.b.Stats().Refused[ReasonOpen], 0)
}

func TestStatsOfAnOverride(t *testing.T) {
	s := newTripped(t, strict())
	end := epoch.Add(time.Hour)
	if err := s.b.HoldClosed("ann", "festival", end); err != nil {
		t.Fatal(err)
	}
	st := s.b.Stats()
	want := Override{State: HeldClosed, By: "ann", Why: "festival", Since: epoch, Until: end}
	if st.Override == nil || *st.Override != want {
		t.Errorf("override %+v, want %+v", st.Override, want)
	}
	mustEqual(t, "State", st.State, HeldClosed)
	mustEqual(t, "Automatic", st.Automatic, Open)
	mustEqual(t, "Reason", st.Reason, ReasonHeldClosed)
	mustEqual(t, "Until", st.Until, end)

	if err := s.b.Isolate("bob", "fire", time.Time{}); err != nil {
		t.Fatal(err)
	}
	st = s.b.Stats()
	want = Override{State: Isolated, By: "bob", Why: "fire", Since: epoch}
	if st.Override == nil || *st.Override != want {
		t.Errorf("override %+v, want %+v", st.Override, want)
	}
	mustEqual(t, "Automatic", st.Automatic, HalfOpen)
	if !s.b.Release("bob", "") || s.b.Stats().Override != nil {
		t.Error("the override stays after its release")
	}
	if s.b.Release("bob", "") {
		t.Error("released twice")
	}
}

func TestBadRatio(t *testing.T) {
	for _, c := range []struct {
		window Counts
		want   float64
		ok     bool
	}{
		{Counts{}, 0, false},
		{Counts{Good: 9}, 0, false},
		{Counts{Good: 9, Failed: 1}, 0.1, true},
		{Counts{Failed: 4, Slow: 6}, 1, true},
	} {
		got, ok := Stats{MinCalls: 10, Window: c.window}.BadRatio()
		if got != c.want || ok != c.ok {
			t.Errorf("%+v: %g, %t", c.window, got, ok)
		}
	}
}

func TestLatency(t *testing.T) {
	s := newSim(t, Config{})
	const bound = 1 << (histShift + 3)
	for _, took := range []time.Duration{0, 1, 1 << histShift, 1<<histShift + 1, bound, bound + 1, 68 * time.Second, 69 * time.Second, 100 * time.Hour} {
		p := s.allow()
		s.advance(took)
		p.Done(nil)
	}
	answered := s.allow()
	s.advance(bound)
	answered.Answered()
	s.advance(time.Hour) // the download is not the dependency's latency
	answered.Done(nil)
	failed := s.allow()
	s.advance(bound)
	failed.Done(errDown)
	s.allow().End(Ignored)

	h := s.b.Stats().Latency
	want := make([]uint64, histBuckets)
	want[0], want[1], want[3], want[4], want[histBuckets-2], want[histBuckets-1] = 3, 1, 3, 1, 1, 2
	if !slices.Equal(h.Counts, want) {
		t.Errorf("counts\n%v, want\n%v", h.Counts, want)
	}
	mustEqual(t, "count", h.Count(), 11)
	if len(h.Bounds) != len(h.Counts)-1 || !slices.IsSorted(h.Bounds) || h.Bounds[3] != bound {
		t.Errorf("bounds %v", h.Bounds)
	}
}

// The true sum is within a third of the estimated one, wherever in their
// buckets the calls are.
func TestLatencySum(t *testing.T) {
	for took := time.Duration(1<<(histShift-1)) + 1; took < time.Minute; took += took / 5 {
		s := newSim(t, Config{})
		const n = 12
		for range n {
			p := s.allow()
			s.advance(took)
			p.Done(nil)
		}
		if sum := s.b.Stats().Latency.Sum; n*took < sum*2/3 || n*took > sum*4/3 {
			t.Errorf("%d calls of %s: the sum is estimated at %s", n, took, sum)
		}
	}
}

func TestStateText(t *testing.T) {
	for _, state := range States() {
		text, err := state.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back State
		if err := back.UnmarshalText(text); err != nil || back != state {
			t.Errorf("%s: %v, %v", text, back, err)
		}
		if state.Effect() == "unknown" {
			t.Errorf("%s has no effect", state)
		}
	}
	var s State
	if err := s.UnmarshalText([]byte("ajar")); err == nil {
		t.Error("ajar is a state")
	}
	mustEqual(t, "a state that is none", State(9).String()+" "+State(9).Effect(), "State(9) unknown")
}

// A time that people read has no parts that are zero.
func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 1500 * time.Millisecond: "1.5s", time.Minute: "1m", 90 * time.Second: "1m30s", 10 * time.Second: "10s",
		time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s", 100 * time.Hour: "100h", 20 * time.Minute: "20m",
	} {
		mustEqual(t, d.String(), defaults.Short(d), want)
	}
}
