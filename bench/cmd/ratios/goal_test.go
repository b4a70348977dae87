package main

import (
	"strings"
	"testing"

	"github.com/recloser-go/recloser/bench"
)

// hand returns a sheet with figures set by hand: ours, two rivals with a rate
// window, and one without.
func hand(base string, goals ...goal) *sheet {
	times := [][]float64{
		{50, 60, 70, 900},    // ours
		{100, 120, 140, 100}, // the fastest that counts
		{200, 240, 280, 1},
		{5, 5, 5, 5},
	}
	c := &column{title: "closed", base: base, goals: goals, calm: []bool{true, true, true, false}}
	for i, list := range times {
		var costs []bench.Cost
		for _, t := range list {
			costs = append(costs, bench.Cost{Time: t, Allocs: float64(i)})
		}
		c.costs = append(c.costs, costs)
	}
	return &sheet{bench.Group{Name: "one", Peers: []bench.Peer{
		{Name: "ours"}, {Name: "near", RateWindow: true}, {Name: "far", RateWindow: true}, {Name: "counter"},
	}}, []*column{c}}
}

func TestGoalLine(t *testing.T) {
	for _, c := range []struct {
		base string
		goal goal
		want string
	}{
		{"", goal{"ours", ratio, 0.5}, "| near | 0.50 | 0.5 | yes | 3 of 4 |"},
		{"", goal{"ours", ratio, 0.49}, "| near | 0.50 | 0.49 | **no** | 3 of 4 |"},
		{"counter", goal{"ours", ratio, 12}, "| counter | 12.00 | 12 | yes | 3 of 4 |"},
		{"counter", goal{"ours", added, 54}, "| counter | +55.0 ns | 54 | **no** | 3 of 4 |"},
		{"near", goal{"ours", added, 10}, "| near | -60.0 ns | 10 | yes | 3 of 4 |"},
		{"near", goal{"ours", addedAllocs, 0}, "| near | -1.0 allocs | 0 | yes | 3 of 4 |"},
		{"ours", goal{"near", addedAllocs, 0}, "| ours | +1.0 allocs | 0 | **no** | 3 of 4 |"},
		{"", goal{"ours", absolute, 60}, "|  | 60 | 60 | yes | 3 of 4 |"},
	} {
		s := hand(c.base, c.goal)
		if got := c.goal.line(s, s.columns[0]); !strings.HasSuffix(got, c.want) {
			t.Errorf("got  %s\nwant ... %s", got, c.want)
		}
	}
}

func TestGoalIsNotJudgedOnABusyMachine(t *testing.T) {
	g := goal{"ours", ratio, 0.01}
	s := hand("", g)
	s.columns[0].calm = []bool{true, false, false, true}
	if got := g.line(s, s.columns[0]); !strings.Contains(got, "not judged") {
		t.Errorf("two calm rounds, and it says %s", got)
	}
}

// A goal that names a peer which is not in its group would judge nothing.
func TestGoalsNamePeersThatThereAre(t *testing.T) {
	for _, s := range allSheets(nil) {
		for _, c := range s.columns {
			if c.base != "" && s.index(c.base) < 0 {
				t.Errorf("%s: %s: there is no %q to compare with", s.Name, c.title, c.base)
			}
			for _, g := range c.goals {
				if s.index(g.peer) < 0 {
					t.Errorf("%s: %s: there is no %q", s.Name, c.title, g.peer)
				}
			}
		}
	}
}
