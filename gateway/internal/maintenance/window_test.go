package maintenance

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // a Monday

func TestValidate(t *testing.T) {
	good := func() Window {
		return Window{
			ID: "m1", Name: "Tuesday", Dependencies: []string{"hotel-1"}, From: noon, To: noon.Add(time.Hour),
			Effect: CutOff, Reason: "their database moves", By: "ops",
		}
	}
	rule := func() *Calendar {
		return &Calendar{Days: []string{"mon", "sun"}, From: "22:00", For: time.Hour, Zone: "Europe/Berlin"}
	}
	for _, c := range []struct {
		name   string
		change func(*Window)
		want   []string // parts of the error, a line each; none: it is valid
	}{
		{"once", func(*Window) {}, nil},
		{"rule", func(w *Window) { w.From, w.To, w.Calendar = time.Time{}, time.Time{}, rule() }, nil},
		{"rule in bounds, UTC", func(w *Window) { w.Calendar = rule(); w.Calendar.Zone = "" }, nil},
		{"labels only", func(w *Window) { w.Dependencies, w.Labels = nil, map[string]string{"region": ""} }, nil},
		{
			"empty",
			func(w *Window) { *w = Window{} },
			[]string{"id: is missing", "name: is missing", "reason: is missing", "by: is missing", "effect: \"\" is none: write cut-off or no-messages", "dependencies: nothing is selected: name", "from: is missing: say when", "to: is missing: say when"},
		},
		{"ends before it begins", func(w *Window) { w.To = noon }, []string{"to: 2026-03-02T12:00:00Z is not after from, 2026-03-02T12:00:00Z: give a later one"}},
		{"empty id of a dependency", func(w *Window) { w.Dependencies = []string{"a", " "} }, []string{"dependencies: is missing"}},
		{"too many", func(w *Window) { w.Groups = make([]string, 1001) }, []string{"groups: there are 1001: at most 1000"}},
		{"a line break", func(w *Window) { w.Reason = "a\nlevel=ERROR" }, []string{"reason: has a line break"}},
		{"too long", func(w *Window) { w.Name = strings.Repeat("x", 501) }, []string{"name: has 501 bytes: at most 500"}},
		{
			"no rule",
			func(w *Window) { w.Calendar = &Calendar{} },
			[]string{"calendar.days: is missing", "calendar.from: \"\" is no time of day: write it as 22:00", "calendar.for: 0s is out of range: from 1m to 24h"},
		},
		{
			"a wrong rule",
			func(w *Window) {
				w.Calendar = &Calendar{Days: []string{"Monday", "tue", "tue"}, From: "9:00", For: 25 * time.Hour, Zone: "Berlin"}
			},
			[]string{"calendar.days: \"Monday\" is no day: write sun, mon", "calendar.days: tue is listed twice", "calendar.from", "calendar.for: 25h0m0s", "calendar.zone: \"Berlin\" is no time zone"},
		},
		{"the machine's zone", func(w *Window) { w.Calendar = rule(); w.Calendar.Zone = "Local" }, []string{"calendar.zone"}},
		{"24:00", func(w *Window) { w.Calendar = rule(); w.Calendar.From = "24:00" }, []string{"calendar.from"}},
	} {
		w := good()
		c.change(&w)
		err := w.Validate()
		if len(c.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		lines := strings.Split(fmt.Sprint(err), "\n")
		if len(lines) != len(c.want) {
			t.Errorf("%s: %d faults, want %d:\n%v", c.name, len(lines), len(c.want), err)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(lines[i], "maintenance: "+want) {
				t.Errorf("%s: %q, want %q", c.name, lines[i], want)
			}
		}
	}
}

func TestCovers(t *testing.T) {
	hotel := Target{ID: "hotel-1", Group: "coast", Labels: map[string]string{"region": "north", "stars": "4"}}
	for _, c := range []struct {
		name string
		w    Window
		want bool
	}{
		{"by id", Window{Dependencies: []string{"x", "hotel-1"}}, true},
		{"another id", Window{Dependencies: []string{"hotel-10"}}, false},
		{"by group", Window{Groups: []string{"coast"}}, true},
		{"another group", Window{Groups: []string{"hills"}}, false},
		{"everyone", Window{Groups: []string{"*"}}, true},
		{"by labels", Window{Labels: map[string]string{"region": "north", "stars": "4"}}, true},
		{"one label differs", Window{Labels: map[string]string{"region": "north", "stars": "5"}}, false},
		{"a label that it does not have", Window{Labels: map[string]string{"x": ""}}, false},
		{"one of two ways", Window{Groups: []string{"hills"}, Dependencies: []string{"hotel-1"}}, true},
		{"nothing", Window{}, false},
	} {
		if got := c.w.Covers(hotel); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if w := (Window{Groups: []string{""}}); w.Covers(Target{ID: "a"}) {
		t.Error("no group is a group")
	}
}

func TestOnce(t *testing.T) {
	w := Window{From: noon, To: noon.Add(time.Hour)}
	for _, c := range []struct {
		now          time.Duration
		active, next bool
	}{
		{-time.Hour, false, true},
		{-time.Nanosecond, false, true},
		{0, true, true},
		{time.Hour - time.Nanosecond, true, true},
		{time.Hour, false, false},
	} {
		from, to, active := w.Active(noon.Add(c.now))
		_, _, next := w.Next(noon.Add(c.now))
		if active != c.active || next != c.next || active && (!from.Equal(noon) || !to.Equal(noon.Add(time.Hour))) {
			t.Errorf("at %s: active %v, next %v, %s to %s", c.now, active, next, from, to)
		}
	}
	if n := len(w.Occurrences(noon, 0)); n != 0 {
		t.Errorf("asked for none: %d", n)
	}
}
