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
		outage:   outage{begun: true, from: 10 * time.Second},
		number:   1,
		panelURL: "http://127.0.0.1:40123", pageURL: "http://127.0.0.1:40124",
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
	v.told = []notice{{
		ID: "1", Kind: "started", Title: "hotel-3 is cut off", About: "hotel-3", At: start.Add(12700 * ms),
		Facts: []string{"Since: 2026-05-01 12:00:11", "Reason: 6 bad calls in a row"},
	}}
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
		{69, 29, style{}},
		{59, 19, style{}},
		{39, 15, style{}},
		{39, 3, style{}},
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

// Every size gets a screen that fits, and where there is room for it both
// lanes' numbers are on it, whole.
func TestDrawFits(t *testing.T) {
	before := view{script: DefaultScript(), panelURL: "http://127.0.0.1:40123"}
	before.with.hotels = []row{{mark: markWell, id: "hotel-3", status: "closed: passing"}}
	before.without.hotels = before.with.hotels
	after := duringOutage()
	after.outage.ended = true
	for name, v := range map[string]view{"before": before, "during": duringOutage(), "after": after} {
		for _, width := range []int{1, 35, 36, 39, 47, 48, 58, 59, 69, 75, 76, 79, 98, 99, 120, 121, 155, 156, 220} {
			for height := 1; height <= 40; height++ {
				lines := draw(v, width, height)
				if len(lines) > height {
					t.Fatalf("%s at %dx%d: %d lines", name, width, height, len(lines))
				}
				all := ""
				for _, l := range lines {
					all += raw(l) + "\n"
					if l.width() != width {
						t.Fatalf("%s at %dx%d: a line is %d wide: %s", name, width, height, l.width(), raw(l))
					}
				}
				if width < 36 || height < 3 {
					continue
				}
				if strings.Contains(all, "…") || strings.Count(all, " waiting") < 2 {
					t.Fatalf("%s at %dx%d: the screen is cut:\n%s", name, width, height, all)
				}
			}
		}
	}
}

func TestDrawOnAlmostNoTerminal(t *testing.T) {
	for _, size := range [][2]int{{35, 20}, {80, 2}} {
		if got := raw(draw(duringOutage(), size[0], size[1])[0]); !strings.HasPrefix(got, "too small a terminal") {
			t.Errorf("%v: %q", size, got)
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
		now, length time.Duration
		outage      outage
		want        string
	}{
		{4 * time.Second, 45 * time.Second, outage{}, "all well · in 6 s: hotel-3 hangs"},
		{4 * time.Second, 5 * time.Second, outage{}, "all hotels are well · the demo ends in 1 s, before any falls ill"},
		{12 * time.Second, 45 * time.Second, outage{begun: true}, "· all recover in 18 s"},
		{12 * time.Second, 20 * time.Second, outage{begun: true}, "· the demo ends in 8 s"},
		{31 * time.Second, 45 * time.Second, outage{begun: true, ended: true}, "well again · the demo ends in 14 s"},
		{45500 * ms, 45 * time.Second, outage{begun: true, ended: true}, "ends in 0 s"},
	}
	for _, tt := range tests {
		script := DefaultScript()
		script.Length = tt.length
		got := caption(view{now: tt.now, outage: tt.outage, script: script})
		if !strings.Contains(got, tt.want) {
			t.Errorf("at %s: got %q, want it to say %q", tt.now, got, tt.want)
		}
	}
}

// One outage after another: which it is, when the next comes, and that it is the end.
func TestAgainIsSaid(t *testing.T) {
	v := duringOutage()
	v.again, v.number = true, 7
	if got := clockText(v); got != "outage 7 · 17 s of 45 s" {
		t.Errorf("clock %q", got)
	}
	short := v
	short.script.Length = 20 * time.Second
	if got, want := caption(short), "· all recover in 3 s"; !strings.HasSuffix(got, want) {
		t.Errorf("an outage that the end of its script ends: %q, want %q", got, want)
	}
	v.now, v.outage.ended = 40*time.Second, true
	if got, want := caption(v), "all hotels are well again · the next outage in 15 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	v.ending = true
	if got, want := caption(v), "no more guests come: the last of them leave"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What people were told in an outage before is not told of this one.
func TestToldLine(t *testing.T) {
	v := duringOutage()
	if got, want := raw(toldLine(v)), "people were told after 12.7 s: hotel-3 is cut off"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	v.clock.start = v.clock.start.Add(time.Minute)
	if got := raw(toldLine(v)); got != "" {
		t.Errorf("in the next outage: %q", got)
	}
}
