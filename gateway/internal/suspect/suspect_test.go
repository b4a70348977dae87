package suspect

import (
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

const (
	ms       = time.Millisecond
	slowCall = 2 * time.Second
)

var start = time.Date(2026, 11, 29, 20, 7, 22, 0, time.UTC)

// warm is a moment at which a Latency made at start may be trusted.
var warm = start.Add(time.Minute)

// learned returns one that has seen n good answers that took so long.
func learned(n int, took time.Duration) *Latency {
	l := NewLatency(start)
	for range n {
		l.Good(took)
	}
	return l
}

func TestLimit(t *testing.T) {
	tests := []struct {
		name     string
		l        *Latency
		slowCall time.Duration
		at       time.Time
		value    time.Duration
		origin   Origin
	}{
		{"nothing learned", learned(0, 0), slowCall, warm, slowCall, Default},
		{"one sample too few", learned(29, 3*ms), slowCall, warm, slowCall, Default},
		{"enough samples", learned(30, 3*ms), slowCall, warm, 253364 * time.Microsecond, Learned},
		{"our first seconds", learned(30, 3*ms), slowCall, start.Add(10*time.Second - 1), slowCall, Default},
		{"after them", learned(30, 3*ms), slowCall, start.Add(10 * time.Second), 253364 * time.Microsecond, Learned},
		{"capped", learned(30, 1900*ms), slowCall, warm, slowCall, Learned},
		{"slow rule off", learned(30, 3*ms), recloser.Off, warm, recloser.Off, Learned},
		{"fixed", fixed(700 * ms), slowCall, warm, 700 * ms, Fixed},
		{"fixed, also in our first seconds", fixed(700 * ms), slowCall, start, 700 * ms, Fixed},
		{"fixed above the cap", fixed(3 * time.Second), slowCall, warm, slowCall, Fixed},
		{"off", fixed(recloser.Off), slowCall, warm, recloser.Off, Fixed},
		{"lifted", lifted(learned(30, 3*ms), 1200*ms), slowCall, warm, 1200 * ms, Learned},
		{"lifted above the cap", lifted(learned(30, 3*ms), 5*time.Second), slowCall, warm, slowCall, Learned},
		{"lifted to less than there is", lifted(learned(30, 3*ms), 100*ms), slowCall, warm, 253364 * time.Microsecond, Learned},
		{"lifted to less than before", lifted(lifted(learned(30, 3*ms), 1200*ms), 900*ms), slowCall, warm, 1200 * ms, Learned},
		{"fixed and lifted", lifted(fixed(700*ms), 1200*ms), slowCall, warm, 1200 * ms, Fixed},
		{"off and lifted", lifted(fixed(recloser.Off), 1200*ms), slowCall, warm, recloser.Off, Fixed},
	}
	for _, tt := range tests {
		if v := tt.l.Limit(tt.slowCall, tt.at); v.Value != tt.value || v.Origin != tt.origin {
			t.Errorf("%s: %s %s, want %s %s", tt.name, v.Value, v.Origin, tt.value, tt.origin)
		}
	}
}

func fixed(limit time.Duration) *Latency {
	l := learned(30, 3*ms)
	l.Fix(limit)
	return l
}

func lifted(l *Latency, to time.Duration) *Latency {
	l.Lift(to / 3)
	return l
}

// A fifth of a dependency's calls taking 40 ms is p95, not p50.
func TestViewShowsWhatTheLimitIsMadeFrom(t *testing.T) {
	l := learned(80, 3*ms)
	for range 20 {
		l.Good(40 * ms)
	}
	const p95 = 45248 * time.Microsecond // 2^(2/4) in the octave from 32 ms
	want := View{Value: p95 + 250*ms, Origin: Learned, P50: 3364 * time.Microsecond, P95: p95, Samples: 100}
	if v := l.Limit(slowCall, warm); v != want {
		t.Errorf("got %+v, want %+v", v, want)
	}
}

func healthy() recloser.Stats { return recloser.Stats{Window: recloser.Counts{Good: 100}} }

func TestFeedsOnHealthyTrafficOnly(t *testing.T) {
	tests := []struct {
		name  string
		s     recloser.Stats
		feeds bool
	}{
		{"all good", healthy(), true},
		{"no calls", recloser.Stats{}, true},
		{"a tenth bad", recloser.Stats{Window: recloser.Counts{Good: 90, Failed: 5, Slow: 5}}, true},
		{"more than a tenth bad", recloser.Stats{Window: recloser.Counts{Good: 89, Failed: 5, Slow: 5}}, false},
		{"open", recloser.Stats{State: recloser.Open, Automatic: recloser.Open}, false},
		{"half-open", recloser.Stats{State: recloser.HalfOpen, Automatic: recloser.HalfOpen}, false},
		{"isolated", recloser.Stats{State: recloser.Isolated, Automatic: recloser.HalfOpen}, false},
		{"held closed, and the rules say closed", recloser.Stats{State: recloser.HeldClosed, Automatic: recloser.Closed}, true},
		{"held closed, and the rules say open", recloser.Stats{State: recloser.HeldClosed, Automatic: recloser.Open}, false},
		{"ramping", recloser.Stats{RampLimit: 2, Window: recloser.Counts{Good: 100}}, false},
	}
	for _, tt := range tests {
		l := NewLatency(start)
		l.Tick(start, tt.s)
		l.Good(ms)
		if v := l.Limit(slowCall, warm); (v.Samples == 1) != tt.feeds || v.FrozenSince.IsZero() != tt.feeds {
			t.Errorf("%s: %+v, want it to feed: %v", tt.name, v, tt.feeds)
		}
	}
}

func TestFrozenSince(t *testing.T) {
	l := NewLatency(start)
	for s := range 5 {
		stats := healthy()
		if s == 2 || s == 3 {
			stats.Automatic = recloser.Open
		}
		l.Tick(start.Add(time.Duration(s)*time.Second), stats)
		var want time.Time
		if s == 2 || s == 3 {
			want = start.Add(2 * time.Second)
		}
		if v := l.Limit(slowCall, warm); !v.FrozenSince.Equal(want) {
			t.Errorf("after %d s: frozen since %s, want %s", s, v.FrozenSince, want)
		}
	}
}

func TestHalving(t *testing.T) {
	open := recloser.Stats{Automatic: recloser.Open}
	tests := []struct {
		name  string
		n     int
		after time.Duration
		s     recloser.Stats
		want  uint64
	}{
		{"too soon", 400, 5*time.Minute - 1, healthy(), 400},
		{"in time", 400, 5 * time.Minute, healthy(), 200},
		{"odd", 401, 5 * time.Minute, healthy(), 201},
		{"too few", 399, 5 * time.Minute, healthy(), 399},
		{"frozen", 400, 5 * time.Minute, open, 400},
	}
	for _, tt := range tests {
		l := learned(tt.n, 3*ms)
		l.Tick(start.Add(tt.after), tt.s)
		l.Tick(start.Add(tt.after), tt.s) // no second time
		if v := l.Limit(slowCall, warm); v.Samples != tt.want {
			t.Errorf("%s: %d samples, want %d", tt.name, v.Samples, tt.want)
		}
	}
}

// G30: a dependency goes from 3 ms to 400 ms for good. The limit follows within
// minutes, through calls that are longer than it; a lift bridges them and then wears
// off.
func TestLimitFollowsALastingChange(t *testing.T) {
	const perSecond = 20
	l := NewLatency(start)
	now := start
	run := func(d, took time.Duration) {
		for end := now.Add(d); now.Before(end); now = now.Add(time.Second) {
			l.Tick(now, healthy())
			for range perSecond {
				l.Good(took)
			}
		}
	}
	limit := func() time.Duration { return l.Limit(slowCall, now).Value }

	run(time.Hour, 3*ms)
	if got := limit(); got >= 300*ms {
		t.Fatalf("at 3 ms the limit is %s", got)
	}
	l.Lift(400 * ms)
	run(2*time.Minute, 400*ms)
	if got := limit(); got < 1200*ms/2 {
		t.Errorf("soon after the lift the limit is %s", got)
	}
	run(20*time.Minute, 400*ms)
	if got := limit(); got < 650*ms || got > 750*ms {
		t.Errorf("in the end the limit is %s", got)
	}
	run(30*time.Minute, 3*ms)
	if got := limit(); got >= 300*ms {
		t.Errorf("back at 3 ms the limit is %s", got)
	}
}

func TestGoodWhileTheRestGoesOn(t *testing.T) {
	const callers, calls = 4, 5000
	l := NewLatency(start)
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for range calls {
				l.Good(3 * ms)
			}
		})
	}
	for i := range 1000 {
		l.Tick(start.Add(time.Duration(i)*time.Millisecond), healthy())
		l.Limit(slowCall, warm)
		l.Lift(time.Second)
		l.Save()
	}
	running.Wait()
	if v := l.Limit(slowCall, warm); v.Samples != callers*calls {
		t.Errorf("%d samples, want %d", v.Samples, callers*calls)
	}
}

func TestGoodAllocatesNothing(t *testing.T) {
	l := NewLatency(start)
	if n := testing.AllocsPerRun(100, func() { l.Good(3 * ms) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A trial that ends well and takes longer than what was learned lifts the limit,
// as a witness does.
func TestSlowTrialLifts(t *testing.T) {
	l := learned(100, 3*ms)
	onTrial := healthy()
	onTrial.Automatic, onTrial.State = recloser.HalfOpen, recloser.HalfOpen
	l.Tick(warm, onTrial)
	before := l.Limit(slowCall, warm)
	l.Good(4 * ms)
	if got := l.Limit(slowCall, warm); got.Value != before.Value || got.Samples != before.Samples {
		t.Errorf("a quick trial changed %+v to %+v", before, got)
	}
	l.Good(500 * ms)
	if got := l.Limit(slowCall, warm).Value; got != 1500*ms {
		t.Errorf("after a good trial of 500 ms the limit is %s, want 1.5 s", got)
	}
}
