package main

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

func TestFlat(t *testing.T) {
	series := func(value func(i int) float64) []sample {
		var all []sample
		for i := range 1000 {
			all = append(all, sample{float64(i), value(i)})
		}
		return all
	}
	noise := func(i int, size float64) float64 { // stays for as long as a window
		return size * float64(i/50*7%20) / 20
	}
	for _, test := range []struct {
		name  string
		value func(i int) float64
		flat  bool
	}{
		{"constant", func(int) float64 { return 50 }, true},
		{"saw teeth of the collector", func(i int) float64 { return 50 + float64(i%30) }, true},
		{"peaks of faults, at the end only", func(i int) float64 { return 50 + float64(max(0, i-900)%7) }, true},
		{"a leak", func(i int) float64 { return 50 + float64(i)*0.05 }, false},
		{"a leak under saw teeth", func(i int) float64 { return 50 + float64(i%30) + float64(i)*0.05 }, false},
		{"a leak in noise", func(i int) float64 { return 50 + float64(i)*0.05 + noise(i, 10) }, false},
		{"noise that rises by chance", func(i int) float64 { return 50 + float64(i)*0.01 + noise(i, 100) }, true},
		{"a twentieth more", func(i int) float64 { return 50 + float64(i)*0.0025 }, true},
		{"less and less", func(i int) float64 { return 50 - float64(i)*0.03 }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			line := trendOf(series(test.value))
			if line.flat() != test.flat {
				t.Errorf("flat: %v, want %v: %+v", line.flat(), test.flat, line)
			}
		})
	}
}

func TestWrongStates(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	hangs, errors := trouble{name: "black hole", hangs: true}, trouble{name: "errors"}
	for _, test := range []struct {
		name    string
		partner *partner
		state   string
		wrong   bool
	}{
		{"well for a while, open", &partner{since: ago(59 * time.Second)}, "open", false},
		{"well for long, open", &partner{since: ago(61 * time.Second)}, "open", true},
		{"well for long, closed", &partner{since: ago(61 * time.Second)}, "closed", false},
		{"well for long, isolated not long ago", &partner{since: ago(time.Hour), touched: ago(time.Second)}, "half-open", false},
		{"well for long, isolated now", &partner{since: ago(time.Hour), touched: now.Add(time.Second)}, "isolated", false},
		{"hangs since just now", &partner{trouble: hangs, since: ago(4 * time.Second)}, "closed", false},
		{"hangs, closed", &partner{trouble: hangs, since: ago(6 * time.Second)}, "closed", true},
		{"hangs, on trial", &partner{trouble: hangs, since: ago(6 * time.Second)}, "half-open", false},
		{"hangs, reset just now", &partner{trouble: hangs, since: ago(time.Minute), touched: ago(time.Second)}, "closed", false},
		{"fails in another way", &partner{trouble: errors, since: ago(time.Minute)}, "closed", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.partner.Hotel = &town.Hotel{ID: "hotel-1"}
			if got := test.partner.wrong(test.state, now); (got != "") != test.wrong {
				t.Errorf("got %q, wrong should be %v", got, test.wrong)
			}
		})
	}
}
