package recloser

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The sum is that of the breakers one by one.
func TestSetStatsIsTheSum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, nil)
		empty := s.Stats()
		mustEqual(t, "refusal reasons of nothing", len(empty.Refused), len(RefusalReasons()))
		mustEqual(t, "transitions of nothing", len(empty.Transitions), len(TransitionKeys()))
		mustEqual(t, "latencies of nothing", empty.Latency.Count(), 0)
		for i, key := range []string{"a", "b", "c"} {
			for range 10 * (i + 1) {
				_ = s.Get(key).Do(t.Context(), func(context.Context) error {
					<-time.After(time.Duration(i) * time.Second)
					return nil
				})
			}
		}
		fail(t, s.Get("a"))
		_ = s.Get("a").Do(t.Context(), func(context.Context) error { return nil }) // refused
		running, err := s.Get("b").Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer running.Done(nil)
		want := newSum()
		for _, b := range s.All() {
			one := b.Stats()
			want.Success += one.Success
			want.Failed += one.Failed
			want.InFlight += one.InFlight
			want.LastGood = one.LastGood // that of the last key was the last
			want.Latency.Sum += one.Latency.Sum
			for i, n := range one.Latency.Counts {
				want.Latency.Counts[i] += n
			}
			for reason, n := range one.Refused {
				want.Refused[reason] += n
			}
			for key, n := range one.Transitions {
				want.Transitions[key] += n
			}
		}
		mustEqual(t, "calls", want.Success, 60)
		mustEqual(t, "calls that run", want.InFlight, 1)
		if got := s.Stats(); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

func newSum() (s Stats) {
	s.beginTotals()
	return s
}

// What a dropped breaker had counted stays counted.
func TestSetStatsKeepsWhatWasDropped(t *testing.T) {
	s := newSmallSet(t, 2)
	for i := range 500 {
		key := fmt.Sprint(i)
		if err := s.Get(key).Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		_ = s.Get(key).Do(t.Context(), func(context.Context) error { return context.Canceled })
	}
	mustEqual(t, "Len", s.Len(), 2)
	got := s.Stats()
	mustEqual(t, "good calls", got.Success, 500)
	mustEqual(t, "latencies", got.Latency.Count(), got.Success+got.Failed)
	s.Stats().Refused[ReasonOpen]++ // what a caller does to it is his own affair
	s.Stats().Latency.Counts[0]++
	again := s.Stats()
	got.LastGood, again.LastGood = time.Time{}, time.Time{} // reckoned back from now, each time
	if !reflect.DeepEqual(got, again) {
		t.Errorf("got  %+v\nthen %+v", got, again)
	}
}

// A call that begins while its breaker is dropped does not run for ever.
func TestSetStatsForgetsWhatRan(t *testing.T) {
	s := newTestSet(t, nil)
	b := s.Get("a")
	if err := b.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	running, err := b.Allow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer running.Done(nil)
	s.keep(b)
	mustEqual(t, "calls that run in what is gone", s.gone.InFlight, 0)
	mustEqual(t, "good calls of what is gone", s.gone.Success, 1)
}

// Add adds every number of which there is a sum, and keeps the others.
func TestAdd(t *testing.T) {
	ofOne := []string{"State", "Automatic", "OpenFor", "Step", "Seq", "MinCalls", "SlowCall", "Suspect", "RampLimit", "openLeft"}
	one := newSum()
	v := reflect.ValueOf(&one).Elem()
	var summed []string
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case slices.Contains(ofOne, field.Name):
		case v.Field(i).CanInt():
			v.Field(i).SetInt(3)
			summed = append(summed, field.Name)
		case v.Field(i).CanUint():
			v.Field(i).SetUint(3)
			summed = append(summed, field.Name)
		}
	}
	one.Refused[ReasonOpen], one.Transitions[TransitionKey{Open, ReasonRun}], one.Latency.Counts[4], one.Latency.Sum = 3, 3, 3, 3
	at := time.Unix(1, 0)
	one.LastGood = at
	var sum Stats
	sum.Add(one)
	sum.Add(one)
	got := reflect.ValueOf(sum)
	for _, name := range summed {
		if n := fmt.Sprint(got.FieldByName(name)); n != "6" {
			t.Errorf("%s is %s, want 6", name, n)
		}
	}
	if len(summed) != 9 || sum.Refused[ReasonOpen] != 6 || sum.Transitions[TransitionKey{Open, ReasonRun}] != 6 || sum.Latency.Count() != 6 || sum.Latency.Sum != 6 || !sum.LastGood.Equal(at) {
		t.Errorf("of %q: %+v", summed, sum)
	}
	before := Stats{State: Open, Step: 2, Seq: 7, Success: 1}
	before.Add(Stats{State: HalfOpen, Step: 9, Seq: 9, Success: 2}) // of Brief: no maps
	if want := (Stats{State: Open, Step: 2, Seq: 7, Success: 3}); !reflect.DeepEqual(before, want) {
		t.Errorf("%+v, want %+v", before, want)
	}
}

// Read while breakers come and go, it neither goes down nor counts one twice.
func TestSetStatsOnlyGoesUp(t *testing.T) {
	s := newSmallSet(t, 4)
	const callers, calls = 4, 2000
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range calls {
				_ = s.Get(fmt.Sprint(c, i%50)).Do(t.Context(), func(context.Context) error { return nil })
			}
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	var last uint64
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		now := s.Stats().Success
		if now < last || now > callers*calls {
			t.Fatalf("%d calls after %d", now, last)
		}
		last = now
	}
	if last < callers*calls*9/10 { // some are made by a breaker that was dropped just before
		t.Errorf("%d of %d calls", last, callers*calls)
	}
}

// The result of the last trial is told apart from what opened the breaker.
func TestLastTrial(t *testing.T) {
	cfg := strict()
	cfg.SlowCall, cfg.Trials = 50*time.Millisecond, 2
	late := errors.New("late")
	for name, c := range map[string]struct {
		end   func(*sim, *Permit)
		took  time.Duration
		bad   func(error) bool
		state State
	}{
		"good":           {func(s *sim, p *Permit) { s.advance(20 * time.Millisecond); p.Done(nil) }, 20 * time.Millisecond, func(err error) bool { return err == nil }, HalfOpen},
		"failed":         {func(s *sim, p *Permit) { s.advance(10 * time.Millisecond); p.Done(late) }, 10 * time.Millisecond, func(err error) bool { return errors.Is(err, late) }, Open},
		"slow":           {func(s *sim, _ *Permit) { s.advance(60 * time.Millisecond); s.b.Check() }, 50 * time.Millisecond, func(err error) bool { return errors.As(err, new(slowError)) }, Open},
		"told to wait":   {func(_ *sim, p *Permit) { p.Done(&WaitError{After: time.Minute}) }, 0, func(err error) bool { return errors.As(err, new(*WaitError)) }, Open},
		"says nothing":   {func(_ *sim, p *Permit) { p.Done(context.Canceled) }, -1, nil, HalfOpen},
		"given up late":  {func(s *sim, p *Permit) { s.advance(40 * time.Millisecond); p.Done(context.Canceled) }, -1, nil, HalfOpen},
		"not yet at end": {func(*sim, *Permit) {}, -1, nil, HalfOpen},
		"never made":     {func(_ *sim, p *Permit) { p.Cancel() }, -1, nil, HalfOpen},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHalfOpen(t, cfg)
			mustEqual(t, "before", s.b.Stats().LastTrial, Trial{})
			p := s.trial()
			c.end(s, p)
			got := s.b.Stats()
			mustEqual(t, "state", got.State, c.state)
			if c.bad == nil {
				mustEqual(t, "the last trial", got.LastTrial, Trial{})
				return
			}
			if !c.bad(got.LastTrial.Bad) || got.LastTrial.Took != c.took || got.LastTrial.At.IsZero() || got.LastTrial.At.After(got.At) {
				t.Errorf("%+v, want it after %v", got.LastTrial, c.took)
			}
			if err := s.b.TripFor(time.Minute, "ana", ""); err != nil {
				t.Fatal(err)
			}
			mustEqual(t, "the last trial after a trip by hand", s.b.Stats().LastTrial.Took, c.took)
		})
	}
}
