package main

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

func TestJudge(t *testing.T) {
	runs := func(figure string, values ...float64) (all []outcome) {
		for _, v := range values {
			f := figures{figure: v}
			if v < 0 { // never came to be
				f = figures{}
			}
			all = append(all, outcome{Row: "r", Gateways: map[string]figures{"ours": f}})
		}
		return all
	}
	for _, test := range []struct {
		name          string
		goal          goal
		all           []outcome
		median, worst float64
		held          bool
	}{
		{"at most: the median counts", goal{row: "r", figure: waited, must: 6}, runs(waited, 9, 6, 5), 6, 9, true},
		{"at most: the worst counts", goal{row: "r", figure: waited, must: 6, worst: true}, runs(waited, 9, 6, 5), 6, 9, false},
		{"a share is at least", goal{row: "r", figure: possible, must: 97}, runs(possible, 99, 98, 90), 98, 90, true},
		{"a share that is missed", goal{row: "r", figure: possible, must: 97}, runs(possible, 99, 96, 90), 96, 90, false},
		{"once never", goal{row: "r", figure: backToFull, must: 3}, runs(backToFull, 1, -1, 2), 2, math.Inf(1), true},
		{"once never, worst", goal{row: "r", figure: backToFull, must: 3, worst: true}, runs(backToFull, 1, -1, 2), 2, math.Inf(1), false},
		{"a share that never came to be", goal{row: "r", figure: named, must: 100}, runs(named, -1), math.Inf(-1), math.Inf(-1), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, ok := judge(test.all, "r", test.goal.figure, "ours")
			if !ok || v.median != test.median || v.worst != test.worst {
				t.Errorf("got %+v, %v, want median %v, worst %v", v, ok, test.median, test.worst)
			}
			if got := test.goal.held(v); got != test.held {
				t.Errorf("held: %v, want %v", got, test.held)
			}
		})
	}
	if _, ok := judge(runs(waited, 1), "another row", waited, "ours"); ok {
		t.Error("a row that was not run has a verdict")
	}
}

func TestGoalsNameWhatThereIs(t *testing.T) {
	there := map[string]bool{cpuRow: true}
	for _, r := range rows() {
		there[r.name] = true
	}
	shown := map[string]bool{}
	for _, name := range names {
		shown[name] = true
	}
	for _, g := range goals() {
		if !there[g.row] || !shown[g.figure] {
			t.Errorf("goal %+v names a row or a figure that there is not", g)
		}
	}
}

func TestWorstOfSeveralHotels(t *testing.T) {
	got := worst([]figures{
		{waited: 3, succeeded: 40, firstRefusal: 0.6},
		{waited: 5, succeeded: 20},
	})
	want := figures{waited: 5, succeeded: 20} // one of them was never refused
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAsksNameWhoIsMissing(t *testing.T) {
	p := phases{0, 10 * time.Second, 0}
	calls := []town.Call{
		{Due: 0, OK: true, Took: 10 * time.Millisecond},
		{Due: time.Second, Took: time.Second, Names: []string{"hotel-1"}},
		{Due: 2 * time.Second, Took: time.Second},
		{Due: 20 * time.Second, Took: 5 * time.Second}, // after the fault
	}
	got := ofAsks(calls, "hotel-1", p)
	want := figures{askP99: 1000, waited: 0, named: 50}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReport(t *testing.T) {
	r := report{
		Machine: []string{"a machine"}, Gateways: []string{"Recloser", "nginx"},
		Outcomes: []outcome{{Row: "black hole", LateMS: 1.5, Gateways: map[string]figures{"Recloser": {waited: 5}, "nginx": {waited: 46}}}},
	}
	var b strings.Builder
	r.print(&b)
	for _, want := range []string{
		"- a machine",
		"| black hole | callers over 1 s        | 5 (5)         | 46 (46)       | ≤ 6         | yes    |",
		"| black hole | first fast refusal, s   | never (never) | never (never) | ≤ 0.80      | **no** |",
		"p99 in ms, run by run: 1.50.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}
