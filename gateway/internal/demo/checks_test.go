package demo

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// goodReport keeps every promise, each at its limit.
func goodReport() Report {
	lane := func(slow Hotel, reached int) Lane {
		l := Lane{Hotels: map[string]Hotel{}}
		for n := 1; n <= hotelsPerLane; n++ {
			h := Hotel{OK: 450}
			switch f := faultOf(n); f {
			case Hang, Slow:
				h = slow
				h.Fault = f
			case Errors:
				h = Hotel{Fault: f, CallsReached: reached}
			case NoFault:
			}
			l.Hotels[hotelID(n)] = h
		}
		return l
	}
	return Report{Lanes: Lanes{
		Protected:   lane(Hotel{WaitedOver1s: 10, FirstRefusalS: new(1.8), FullAgainS: new(8.0)}, 30),
		Unprotected: lane(Hotel{WaitedOver1s: 150}, 400),
	}}
}

func TestChecks(t *testing.T) {
	change := func(id string, do func(h *Hotel)) func(*Report) {
		return func(r *Report) {
			h := r.Lanes.Protected.Hotels[id]
			do(&h)
			r.Lanes.Protected.Hotels[id] = h
		}
	}
	tests := []struct {
		name    string
		change  func(*Report)
		wrongly int
		broken  []string // a part of each promise that is broken, in order
	}{
		{name: "all at their limits"},
		{name: "one more waits", change: change("hotel-3", func(h *Hotel) { h.WaitedOver1s++ }), broken: []string{
			"hotel-3 (hang): at most 10 guests wait over 1 s: 11", "hotel-3 (hang): at least 15 times fewer",
		}},
		{name: "nobody waits on either way", change: func(r *Report) {
			for _, l := range []Lane{r.Lanes.Protected, r.Lanes.Unprotected} {
				h := l.Hotels["hotel-7"]
				h.WaitedOver1s = 0
				l.Hotels["hotel-7"] = h
			}
		}, broken: []string{"hotel-7 (slow): at least 15 times fewer"}},
		{
			name: "the first refusal is late", change: change("hotel-7", func(h *Hotel) { h.FirstRefusalS = new(1.801) }),
			broken: []string{"hotel-7 (slow): the first is turned away within 1.8 s: 1.80 s"},
		},
		{
			name: "nobody is refused", change: change("hotel-7", func(h *Hotel) { h.FirstRefusalS = nil }),
			broken: []string{"turned away within 1.8 s: never"},
		},
		{
			name: "it comes back late", change: change("hotel-3", func(h *Hotel) { h.FullAgainS = new(9.0) }),
			broken: []string{"hotel-3 (hang): all are served again within 8 s: 9.00 s"},
		},
		{
			name: "it never comes back", change: change("hotel-3", func(h *Hotel) { h.FullAgainS = nil }),
			broken: []string{"served again within 8 s: never"},
		},
		{
			name: "errors reach guests", change: change("hotel-5", func(h *Hotel) { h.CallsReached++ }),
			broken: []string{"hotel-5 (errors): at most 30 calls reach it while it is ill: 31"},
		},
		{
			name: "a well hotel is cut off", change: change("hotel-12", func(h *Hotel) { h.Refused = 1 }),
			broken: []string{"the 9 other hotels"},
		},
		{
			name: "a well hotel gets no call", change: change("hotel-1", func(h *Hotel) { h.OK = 0 }),
			broken: []string{"the 9 other hotels"},
		},
		{name: "a guest of nobody goes in", wrongly: 1, broken: []string{"let in without a hotel's yes: 1 were"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := goodReport()
			if tt.change != nil {
				tt.change(&r)
			}
			var broke []string
			for _, c := range checks(r, DefaultScript(), tt.wrongly) {
				switch c.verdict {
				case broken:
					broke = append(broke, c.String())
				case notSeen:
					t.Errorf("not judged: %s", c.String())
				case held:
				}
			}
			if !slices.EqualFunc(broke, tt.broken, strings.Contains) {
				t.Errorf("broken: %q, want %q", broke, tt.broken)
			}
		})
	}
}

func TestChecksOfAShortRun(t *testing.T) {
	tests := []struct {
		length  time.Duration
		notSeen int
	}{
		{29 * time.Second, 11},
		{30 * time.Second, 2},
		{39 * time.Second, 0},
	}
	for _, tt := range tests {
		script := DefaultScript()
		script.Length = tt.length
		all := checks(goodReport(), script, 0)
		unseen := 0
		for _, c := range all {
			if c.verdict == notSeen {
				unseen++
				if c.found != "" {
					t.Errorf("%s: not judged, but found: %s", tt.length, c)
				}
			}
		}
		if len(all) != 11 || unseen != tt.notSeen {
			t.Errorf("%s: %d of %d not judged, want %d of 11", tt.length, unseen, len(all), tt.notSeen)
		}
	}
}

func TestLetInWrongly(t *testing.T) {
	tests := []struct {
		name  string
		visit visit
		want  int
	}{
		{"own hotel says yes", visit{hotel: 3, result: answered, letIn: true}, 0},
		{"a hotel says yes", visit{hotel: 3, ask: true, result: yes, letIn: true}, 0},
		{"unknown, kept out", visit{hotel: 3, ask: true, result: unknown}, 0},
		{"unknown, let in", visit{hotel: 3, ask: true, result: unknown, letIn: true}, 1},
		{"refused, let in", visit{hotel: 3, result: refused, letIn: true}, 1},
		{"a guest of no hotel, let in", visit{hotel: 0, ask: true, result: yes, letIn: true}, 1},
	}
	for _, tt := range tests {
		if got := letInWrongly([]visit{tt.visit}); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}
