package probe

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

var epoch = time.Date(2026, 11, 29, 20, 7, 22, 0, time.UTC)

// stage has a watch look at a breaker that does what the test says, and send probes
// that find what the test says.
type stage struct {
	*testing.T
	w       *watch
	now     time.Time
	s       recloser.Stats
	finds   Verdict // what probes find
	takes   time.Duration
	arrives time.Time // of the probe on its way
	probes  []time.Duration
	acts    []string // "2s try"
	said    []string // "2s probe bad"
}

func newStage(t *testing.T) *stage {
	t.Helper()
	d := &dependency.Dependency{Dependency: config.Dependency{
		ID: "hotel-1", URL: &url.URL{Scheme: "http", Host: "hotel-1.example"},
		Probe: &config.Probe{Path: "/ping", Timeout: time.Second, Idle: time.Minute},
	}}
	g := &stage{T: t, now: epoch, finds: Good, takes: 5 * time.Millisecond}
	g.w = newWatch(epoch, d, func() float64 { return 0.5 }, func(_ time.Time, reason, _ string) {
		g.said = append(g.said, g.at()+reason)
	})
	return g
}

func (g *stage) at() string { return fmt.Sprintf("%s ", g.now.Sub(epoch).Round(10*time.Millisecond)) }

// run lets d pass.
func (g *stage) run(d time.Duration) {
	for end := g.now.Add(d); g.now.Before(end); {
		g.do(g.w.look(g.now, g.s))
		if g.w.wants(g.now) {
			g.probes = append(g.probes, g.now.Sub(epoch))
			g.w.send(g.now)
			g.arrives = g.now.Add(g.takes)
		}
		next := g.now.Add(50 * time.Millisecond)
		if g.w.sending && !g.arrives.After(next) {
			g.now = g.arrives
			g.do(g.w.look(g.now, g.s))
			g.do(g.w.take(g.now, Result{Verdict: g.finds}))
		}
		g.now = next
	}
}

func (g *stage) do(a act) {
	switch a.do {
	case try:
		g.acts = append(g.acts, g.at()+"try")
		g.turn(recloser.HalfOpen, recloser.ReasonEarly)
	case trip:
		g.acts = append(g.acts, g.at()+"trip")
		g.turn(recloser.Open, "probe")
	case hold:
		g.acts = append(g.acts, g.at()+"hold "+a.d.Round(10*time.Millisecond).String())
	case nothing:
	}
}

// turn puts the breaker in another state.
func (g *stage) turn(to recloser.State, reason recloser.Reason) {
	g.s.Began = recloser.Transition{Seq: g.s.Began.Seq + 1, From: g.s.State, To: to, At: g.now, Reason: reason}
	g.s.State, g.s.Automatic, g.s.Window.Run = to, to, 0
	if to == recloser.Isolated {
		g.s.Automatic = recloser.HalfOpen
	}
}

func (g *stage) trips() { g.turn(recloser.Open, recloser.ReasonRun) }

// trialFails has the open time pass and a trial fail.
func (g *stage) trialFails() {
	if g.s.State == recloser.Open {
		g.turn(recloser.HalfOpen, recloser.ReasonTime)
		g.run(50 * time.Millisecond)
	}
	g.turn(recloser.Open, recloser.ReasonTrialFailed)
}

func (g *stage) goodCall() { g.s.Success++; g.s.Window.Run = 0 }
func (g *stage) badCall()  { g.s.Failed++; g.s.Window.Run++ }

// becomesKnown has the endpoint probed once, good.
func (g *stage) becomesKnown() {
	g.Helper()
	g.run(7 * time.Second)
	if g.w.trust != known || len(g.probes) != 1 {
		g.Fatalf("trust %d after %v", g.w.trust, g.probes)
	}
}

// mustDo compares what was done since the last time.
func (g *stage) mustDo(want ...string) {
	g.Helper()
	if !slices.Equal(g.acts, want) {
		g.Errorf("at %sit did %q, want %q", g.at(), g.acts, want)
	}
	g.acts = nil
}

// mustProbe compares when probes were sent since the last time.
func (g *stage) mustProbe(want ...time.Duration) {
	g.Helper()
	if !slices.Equal(g.probes, want) {
		g.Errorf("at %sit probed at %v, want %v", g.at(), g.probes, want)
	}
	g.probes = nil
}

func seconds(all ...float64) (d []time.Duration) {
	for _, s := range all {
		d = append(d, time.Duration(s*float64(time.Second)).Round(time.Millisecond))
	}
	return d
}

func TestProbesOfAnOutage(t *testing.T) {
	g := newStage(t)
	g.finds = Bad
	g.trips()
	g.run(10 * time.Second)
	g.mustProbe(seconds(0, 2, 4, 6, 8)...)
	for range 20 {
		g.run(30 * time.Second)
		g.trialFails() // the outage goes on
	}
	for i, at := range g.probes[1:] {
		gap, want := at-g.probes[i], min(max(2*time.Second, g.probes[i]/30), 15*time.Second)
		if gap < want || gap >= want+50*time.Millisecond {
			t.Errorf("%s after the trip the gap is %s, want %s", g.probes[i], gap, want)
		}
	}
}

func TestProbesWhileClosed(t *testing.T) {
	traffic := func(g *stage, perSecond int, d time.Duration) {
		for range d / time.Second {
			g.s.Success += uint64(perSecond)
			g.run(time.Second)
		}
	}
	t.Run("idle", func(t *testing.T) {
		g := newStage(t)
		g.run(3 * time.Minute)
		g.mustProbe(seconds(3, 63, 123)...) // the first somewhere in a tenth of the gap
	})
	t.Run("off", func(t *testing.T) {
		g := newStage(t)
		g.w.dep.Probe.Idle = recloser.Off
		g.run(10 * time.Minute)
		g.mustProbe()
		g.trips()
		g.run(time.Second)
		g.mustProbe(seconds(600)...)
	})
	t.Run("little traffic", func(t *testing.T) {
		g := newStage(t)
		traffic(g, 4, 3*time.Minute)
		g.mustProbe(seconds(3, 63, 123)...)
	})
	t.Run("traffic enough, and then none", func(t *testing.T) {
		g := newStage(t)
		traffic(g, 5, 3*time.Minute)
		g.mustProbe(seconds(3)...)
		g.run(30 * time.Second)
		if len(g.probes) != 1 {
			t.Errorf("probes when traffic ends: %v", g.probes)
		}
	})
	t.Run("isolated", func(t *testing.T) {
		g := newStage(t)
		g.turn(recloser.Isolated, recloser.ReasonIsolated)
		g.run(2 * time.Minute)
		g.mustProbe(seconds(3, 63)...)
	})
	t.Run("after an outage", func(t *testing.T) {
		g := newStage(t)
		g.trips()
		g.run(3 * time.Second)
		g.turn(recloser.Closed, recloser.ReasonTrialsGood)
		g.run(time.Minute)
		g.mustProbe(seconds(0, 2, 62)...)
	})
}

func TestNeverMoreThanOneOnItsWay(t *testing.T) {
	g := newStage(t)
	g.takes = 5 * time.Second
	g.trips()
	g.run(14 * time.Second)
	g.mustProbe(seconds(0, 5, 10)...)
}

func TestJitter(t *testing.T) {
	g := newStage(t)
	for _, tt := range []struct {
		random float64
		want   time.Duration
	}{{0, 54 * time.Second}, {0.5, time.Minute}, {1, 66 * time.Second}} {
		g.w.random = func() float64 { return tt.random }
		if got := g.w.gap(g.now).Round(time.Millisecond); got != tt.want {
			t.Errorf("at %v the gap is %s, want %s", tt.random, got, tt.want)
		}
	}
}
