package demo

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

var update = flag.Bool("update", false, "write the golden files")

// duringOutage is a moment of the script at which everything is on the screen.
func duringOutage() view {
	now := 17200 * ms
	guests := func(n int, v visit) []visit {
		all := make([]visit, n)
		for i := range all {
			all[i] = v
		}
		return all
	}
	v := view{
		now: now, script: DefaultScript(), clock: clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)},
		outage: outage{begun: true, from: 10 * time.Second},
		panel:  "http://127.0.0.1:40123",
	}
	var calm []visit
	for at := time.Duration(0); at < now; at += time.Second / scansPerSecond {
		calm = append(calm, visit{hotel: 1, start: at, end: at + 30*ms, result: answered, letIn: true})
	}
	v.with = viewOf(append(guests(5, visit{hotel: 3, start: 10 * time.Second, end: 11200 * ms, result: refused}), calm...), now)
	var crowd []visit
	for at := 10 * time.Second; at < now; at += time.Second / 10 {
		crowd = append(crowd, visit{hotel: 3, start: at, result: waiting})
	}
	crowd = append(crowd, guests(9, visit{hotel: 5, start: 16900 * ms, end: 16930 * ms, result: failed})...)
	v.without = viewOf(append(crowd, calm...), now)

	start := v.clock.start
	v.events = []recloser.Transition{
		{
			Name: "hotel-3", From: recloser.Closed, To: recloser.Open, At: start.Add(11200 * ms), OpenFor: 2 * time.Second,
			Reason: recloser.ReasonRun, Counts: recloser.Counts{Good: 190, Slow: 6, Run: 6},
		},
		{Name: "hotel-3", From: recloser.Open, To: recloser.HalfOpen, At: start.Add(13200 * ms), Reason: recloser.ReasonTime},
		{
			Name: "hotel-3", From: recloser.HalfOpen, To: recloser.Open, At: start.Add(14 * time.Second), OpenFor: 4 * time.Second,
			Reason: recloser.ReasonTrialFailed,
		},
	}
	v.with.hotels = rowsOf(func(n int) row {
		s := recloser.Stats{Name: hotelID(n)}
		switch n {
		case 3:
			s.State, s.Until = recloser.Open, start.Add(18*time.Second)
		case 5:
			s.State = recloser.HalfOpen
		}
		return guardedRow(s, lastTrip(v.events, s.Name), start.Add(now))
	})
	v.without.hotels = rowsOf(func(n int) row { return directRow(v.without.crowd, n, v.outage, now) })
	return v
}

func TestDrawGolden(t *testing.T) {
	tests := []struct {
		width, height int
		style         style
	}{
		{119, 32, style{}},
		{99, 23, style{}},
		{79, 23, style{}},
		{79, 23, style{ascii: true}},
	}
	for _, tt := range tests {
		name := fmt.Sprintf("screen-%dx%d.txt", tt.width, tt.height)
		if tt.style.ascii {
			name = "ascii-" + name
		}
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, l := range draw(duringOutage(), tt.width, tt.height) {
				b.WriteString(tt.style.encode(l) + "\n")
			}
			golden(t, name, b.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant (run with -update if it is meant)\n%s", got, want)
	}
}

// Every size gets a screen that fits, and both lanes' numbers are on it.
func TestDrawFits(t *testing.T) {
	v := duringOutage()
	for width := 40; width <= 220; width += 9 {
		for height := 10; height <= 70; height += 12 {
			lines := draw(v, width, height)
			if len(lines) > height {
				t.Errorf("%dx%d: %d lines", width, height, len(lines))
			}
			for _, l := range lines {
				if l.width() != width {
					t.Errorf("%dx%d: a line is %d wide: %s", width, height, l.width(), raw(l))
				}
			}
		}
	}
}

func TestDrawSaysWhatMatters(t *testing.T) {
	for _, size := range [][2]int{{119, 30}, {99, 23}, {98, 23}, {79, 23}} {
		var all strings.Builder
		for _, l := range draw(duringOutage(), size[0], size[1]) {
			all.WriteString(raw(l) + "\n")
		}
		for _, want := range []string{
			"WITH RECLOSER", "WITHOUT", "guests waiting now", "the longest 7.2 s", "open: cut off, next trial in 0.8 s", "6 calls in a row too slow",
			"half-open: on trial", "72 waiting", "9 failed", "http://127.0.0.1:40123", "all recover in 13 s", "17 s of 45 s",
		} {
			if !strings.Contains(all.String(), want) {
				t.Errorf("%v: the screen does not say %q:\n%s", size, want, all.String())
			}
		}
	}
}

func TestCaption(t *testing.T) {
	tests := []struct {
		now    time.Duration
		outage outage
		want   string
	}{
		{4 * time.Second, outage{}, "all hotels are well · in 6 s: hotel-3 hangs"},
		{12 * time.Second, outage{begun: true}, "· all recover in 18 s"},
		{31 * time.Second, outage{begun: true, ended: true}, "well again · the demo ends in 14 s"},
		{45500 * ms, outage{begun: true, ended: true}, "ends in 0 s"},
	}
	for _, tt := range tests {
		got := caption(view{now: tt.now, outage: tt.outage, script: DefaultScript()})
		if !strings.Contains(got, tt.want) {
			t.Errorf("at %s: got %q, want it to say %q", tt.now, got, tt.want)
		}
	}
}
