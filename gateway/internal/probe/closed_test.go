package probe

import (
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

func TestFirstBadCallMakesTwoProbes(t *testing.T) {
	tests := []struct {
		name   string
		do     func(g *stage)
		probes []time.Duration // after the bad call at 7 s
		acts   []string
	}{
		{"both bad", func(g *stage) {
			g.finds = Bad
			g.badCall()
			g.run(2 * time.Second)
		}, seconds(7, 7.5), []string{"7.51s trip"}},
		{"never two on their way", func(g *stage) {
			g.finds, g.takes = Bad, time.Second
			g.badCall()
			g.run(3 * time.Second)
		}, seconds(7, 8), []string{"9s trip"}},
		{"the first is good", func(g *stage) {
			g.badCall()
			g.run(2 * time.Second)
		}, seconds(7), nil},
		{"the second is good", func(g *stage) {
			g.finds = Bad
			g.badCall()
			g.run(200 * time.Millisecond)
			g.finds = Good
			g.run(2 * time.Second)
		}, seconds(7, 7.5), nil},
		{"one has no say", func(g *stage) {
			g.finds = Neither
			g.badCall()
			g.run(2 * time.Second)
		}, seconds(7), nil},
		{"a good call meanwhile", func(g *stage) {
			g.finds = Bad
			g.badCall()
			g.run(200 * time.Millisecond)
			g.goodCall()
			g.run(2 * time.Second)
		}, seconds(7), nil},
		{"a good call while the second is on its way", func(g *stage) {
			g.finds, g.takes = Bad, 400*time.Millisecond
			g.badCall()
			g.run(700 * time.Millisecond)
			g.goodCall()
			g.run(2 * time.Second)
		}, seconds(7, 7.5), nil},
		{"a good call and another bad one meanwhile", func(g *stage) {
			g.finds = Bad
			g.badCall()
			g.run(200 * time.Millisecond)
			g.goodCall()
			g.badCall()
			g.run(2 * time.Second)
		}, seconds(7), nil},
		{"one is on its way already, and does not count", func(g *stage) {
			g.run(56 * time.Second)
			g.finds, g.takes = Bad, 600*time.Millisecond
			g.run(200 * time.Millisecond)
			g.badCall()
			g.run(3 * time.Second)
		}, seconds(63, 63.6, 64.2), []string{"1m4.8s trip"}},
		{"one is on its way for an earlier bad call, and does not count", func(g *stage) {
			g.finds, g.takes = Bad, 600*time.Millisecond
			g.badCall()
			g.run(100 * time.Millisecond)
			g.goodCall()
			g.run(100 * time.Millisecond)
			g.badCall()
			g.run(3 * time.Second)
		}, seconds(7, 7.6, 8.2), []string{"8.8s trip"}},
		{"more bad calls of the row make no more", func(g *stage) {
			for range 4 {
				g.badCall()
				g.run(2 * time.Second)
			}
		}, seconds(7), nil},
		{"the next row makes two again", func(g *stage) {
			g.badCall()
			g.run(2 * time.Second)
			g.goodCall()
			g.run(time.Second)
			g.badCall()
			g.run(2 * time.Second)
		}, seconds(7, 10), nil},
		{"endpoint not known", func(g *stage) {
			g.w.trust = unknown
			g.finds = Bad
			g.badCall()
			g.run(2 * time.Second)
		}, nil, nil},
		{"traffic enough", func(g *stage) {
			g.w.rate.busy = true
			g.finds = Bad
			g.badCall()
			g.run(2 * time.Second)
		}, nil, nil},
		{"it trips by its rules meanwhile", func(g *stage) {
			g.finds = Bad
			g.badCall()
			g.run(200 * time.Millisecond)
			g.trips()
			g.run(time.Second)
		}, seconds(7, 7.2), []string{"7.2s hold 1.5s", "7.21s hold 3.5s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newStage(t)
			g.becomesKnown()
			g.probes = nil
			tt.do(g)
			if tt.acts != nil { // what follows the trip is told elsewhere
				g.acts = g.acts[:min(len(tt.acts), len(g.acts))]
				g.probes = g.probes[:min(len(tt.probes), len(g.probes))]
			}
			g.mustProbe(tt.probes...)
			g.mustDo(tt.acts...)
		})
	}
}

// G10: three bad probes in a row trip a dependency that nobody calls; bad and good
// ones in turn never do.
func TestBadProbesInARow(t *testing.T) {
	each := func(g *stage, found ...Verdict) {
		for _, v := range found {
			g.finds = v
			g.run(time.Minute)
		}
	}
	tests := []struct {
		name  string
		do    func(g *stage)
		trips bool
	}{
		{"three", func(g *stage) { each(g, Bad, Bad, Bad) }, true},
		{"two", func(g *stage) { each(g, Bad, Bad) }, false},
		{"three after a good one", func(g *stage) { each(g, Good, Bad, Bad, Bad) }, true},
		{"in turn", func(g *stage) { each(g, Bad, Bad, Good, Bad, Bad, Good, Bad, Good, Bad, Good, Bad) }, false},
		{"one between that has no say", func(g *stage) { each(g, Bad, Bad, Neither, WrongPath, Bad) }, true},
		{"those that have no say", func(g *stage) { each(g, Neither, Neither, WrongPath, WrongPath, WrongPath) }, false},
		{"a good call between", func(g *stage) {
			each(g, Bad, Bad)
			g.goodCall()
			each(g, Bad, Bad, Bad, Bad) // calls have belied the endpoint
		}, false},
		{"a good call, and the endpoint was good again", func(g *stage) {
			each(g, Bad, Bad)
			g.goodCall()
			each(g, Good, Bad, Bad, Bad)
		}, true},
		{"a good call while the first is on its way", func(g *stage) {
			g.finds, g.takes = Bad, time.Second
			g.run(3500 * time.Millisecond)
			g.goodCall()
			each(g, Bad, Bad, Bad)
		}, false},
		{"isolated", func(g *stage) {
			g.turn(recloser.Isolated, recloser.ReasonIsolated)
			each(g, Bad, Bad, Bad, Bad)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newStage(t)
			tt.do(g)
			if tripped := len(g.acts) > 0; tripped != tt.trips {
				t.Errorf("it did %q", g.acts)
			}
		})
	}
}

// Only changes are told, and once an outage that the probe does not see it.
func TestWhatIsTold(t *testing.T) {
	t.Run("changes", func(t *testing.T) {
		g := newStage(t)
		for _, v := range []Verdict{Good, Good, Bad, Neither, Bad, Good, Good, Bad} {
			g.finds = v
			g.goodCall() // or three would trip
			g.run(time.Minute)
		}
		want := []string{"2m3.01s probe bad", "5m3.01s probe good", "7m3.01s probe bad"}
		if !slices.Equal(g.said, want) {
			t.Errorf("told %q, want %q", g.said, want)
		}
	})
	t.Run("G09: probe good, traffic bad", func(t *testing.T) {
		g := newStage(t)
		for range 2 {
			g.trips()
			g.run(3 * time.Second)
			for range 3 {
				g.trialFails()
				g.run(10 * time.Second)
			}
			g.turn(recloser.Closed, recloser.ReasonTrialsGood)
			g.run(time.Second)
		}
		if want := []string{"3s probe ok, traffic bad", "37.1s probe ok, traffic bad"}; !slices.Equal(g.said, want) {
			t.Errorf("told %q, want %q", g.said, want)
		}
	})
}

func TestView(t *testing.T) {
	g := newStage(t)
	if v := g.w.view(); v != (View{Target: "http://hotel-1.example/ping", Next: epoch.Add(3 * time.Second)}) {
		t.Errorf("before the first: %+v", v)
	}
	g.becomesKnown()
	want := View{
		Result: Result{Verdict: Good}, At: epoch.Add(3 * time.Second), Row: 1, Known: true,
		Target: "http://hotel-1.example/ping", Next: epoch.Add(63 * time.Second), Sent: 1,
	}
	if v := g.w.view(); v != want {
		t.Errorf("got %+v, want %+v", v, want)
	}
	g.w.rate.busy = true
	if v := g.w.view(); !v.Next.IsZero() {
		t.Errorf("with traffic enough the next is at %s", v.Next)
	}
	g.takes, g.finds = time.Second, Bad
	g.w.rate.busy = false
	g.badCall()
	g.run(100 * time.Millisecond)
	if v := g.w.view(); !v.Sending || v.Sent != 2 || !v.Next.Equal(epoch.Add(7500*time.Millisecond)) {
		t.Errorf("with a pair: %+v", v)
	}
}
