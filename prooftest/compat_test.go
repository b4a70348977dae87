package prooftest

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	theirs "github.com/sony/gobreaker/v2"

	ours "github.com/recloser-go/recloser/compat/gobreaker"
)

var errOdd = errors.New("odd")

// compatSide is one library in the hands of a test: a breaker of each of its
// types, with the same settings, and what their hooks heard.
type compatSide struct {
	execute        func(func() (int, error)) (int, error)
	allow          func() (func(error), error)
	one, two       func() (state string, counts ours.Counts) // as the breaker says
	counts         func() ours.Counts                        // of one, without asking for the state first
	oneLog, twoLog *compatLog
}

// compatLog is what an OnStateChange hook heard, with the time of each change.
type compatLog struct {
	began time.Time
	lines []string
	last  time.Time
}

func (l *compatLog) hear(name string, from, to fmt.Stringer) {
	l.last = time.Now()
	l.lines = append(l.lines, fmt.Sprintf("%v %s: %v -> %v", l.last.Sub(l.began), name, from, to))
}

func newCompatLog() *compatLog { return &compatLog{began: time.Now(), last: time.Now()} }

func ourSide(st ours.Settings) *compatSide {
	s := &compatSide{oneLog: newCompatLog(), twoLog: newCompatLog()}
	with := func(log *compatLog) ours.Settings {
		st.OnStateChange = func(name string, from, to ours.State) { log.hear(name, from, to) }
		return st
	}
	one, two := ours.NewCircuitBreaker[int](with(s.oneLog)), ours.NewTwoStepCircuitBreaker[int](with(s.twoLog))
	s.execute, s.allow, s.counts = one.Execute, two.Allow, one.Counts
	s.one = func() (string, ours.Counts) { return one.State().String(), one.Counts() }
	s.two = func() (string, ours.Counts) { return two.State().String(), two.Counts() }
	return s
}

func theirSide(st ours.Settings) *compatSide {
	s := &compatSide{oneLog: newCompatLog(), twoLog: newCompatLog()}
	with := func(log *compatLog) theirs.Settings {
		converted := theirSettings(st)
		converted.OnStateChange = func(name string, from, to theirs.State) { log.hear(name, from, to) }
		return converted
	}
	one, two := theirs.NewCircuitBreaker[int](with(s.oneLog)), theirs.NewTwoStepCircuitBreaker[int](with(s.twoLog))
	s.execute, s.allow = one.Execute, two.Allow
	s.counts = func() ours.Counts { return ours.Counts(one.Counts()) }
	s.one = func() (string, ours.Counts) { return one.State().String(), ours.Counts(one.Counts()) }
	s.two = func() (string, ours.Counts) { return two.State().String(), ours.Counts(two.Counts()) }
	return s
}

// theirSettings converts settings, without the hook for changes.
func theirSettings(st ours.Settings) theirs.Settings {
	converted := theirs.Settings{
		Name:         st.Name,
		MaxRequests:  st.MaxRequests,
		Interval:     st.Interval,
		BucketPeriod: st.BucketPeriod,
		Timeout:      st.Timeout,
		IsSuccessful: st.IsSuccessful,
		IsExcluded:   st.IsExcluded,
	}
	if st.ReadyToTrip != nil {
		converted.ReadyToTrip = func(c theirs.Counts) bool { return st.ReadyToTrip(ours.Counts(c)) }
	}
	return converted
}

// passes makes a call in one step that ends with err, and says whether it was let through.
func (s *compatSide) passes(err error) bool {
	called := false
	_, _ = s.execute(func() (int, error) {
		called = true
		return 0, err
	})
	return called
}

// twoStep makes a call in two steps that ends with err, and returns why it was refused.
func (s *compatSide) twoStep(err error) error {
	done, refused := s.allow()
	if refused == nil {
		done(err)
	}
	return refused
}

// wait lets time pass, on the clock of a bubble.
func wait(d time.Duration) { <-time.After(d) }

// What docs/guides/from-gobreaker.md says of both libraries, where both can be
// shown to do it.
func TestCompatDifferences(t *testing.T) {
	atOnce := func(ours.Counts) bool { return true }
	cases := []struct {
		name     string
		settings ours.Settings
		do       func(s *compatSide) any
		theirs   any
		ours     any
	}{
		{
			"a trial that never ends",
			ours.Settings{ReadyToTrip: atOnce},
			func(s *compatSide) any {
				_ = s.twoStep(errDown)
				wait(time.Hour)
				_, _ = s.allow()
				wait(1000 * time.Hour)
				_, err := s.allow()
				return err == nil
			}, false, true,
		},
		{
			"an end told twice",
			ours.Settings{},
			func(s *compatSide) any {
				done, _ := s.allow()
				done(errDown)
				done(errDown)
				_, counts := s.two()
				return counts.TotalFailures
			}, uint32(2), uint32(1),
		},
		{
			"counts of an interval that is over",
			ours.Settings{Interval: time.Second},
			func(s *compatSide) any {
				s.passes(errDown)
				wait(time.Minute)
				return s.counts().TotalFailures
			}, uint32(1), uint32(0),
		},
		{
			"a row that outlives its failures",
			ours.Settings{Interval: 2 * time.Second, BucketPeriod: time.Second},
			func(s *compatSide) any {
				late, _ := s.allow()
				wait(time.Second)
				_ = s.twoStep(errDown)
				late(nil) // began before that row
				_ = s.twoStep(errDown)
				wait(time.Second)
				s.two()
				wait(time.Second)
				_, counts := s.two()
				return counts
			},
			ours.Counts{ConsecutiveFailures: 1},
			ours.Counts{},
		},
		{
			"a failure seen by a ReadyToTrip that panics",
			ours.Settings{ReadyToTrip: func(ours.Counts) bool { panic("oops") }},
			func(s *compatSide) (seen any) {
				defer func() {
					value := recover()
					seen = fmt.Sprintf("%v, %d failures", value, s.counts().TotalFailures)
				}()
				s.passes(errDown)
				return nil
			}, "oops, 2 failures", "<nil>, 1 failures",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := c.do(theirSide(c.settings)); got != c.theirs {
					t.Errorf("gobreaker: %v, and the guide says %v", got, c.theirs)
				}
				if got := c.do(ourSide(c.settings)); got != c.ours {
					t.Errorf("recloser: %v, want %v", got, c.ours)
				}
			})
		})
	}
}
