package panel

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
)

var noon = time.Date(2027, time.January, 31, 12, 0, 0, 0, time.UTC)

// change is a change of state so many minutes after noon.
func change(minute int, from, to, by string) admin.Event {
	return admin.Event{At: noon.Add(time.Duration(minute) * time.Minute), Dependency: "hotel-1", From: from, To: to, By: by}
}

func TestSegments(t *testing.T) {
	for _, tt := range []struct {
		name   string
		state  string // now
		begins int    // the history, in minutes after noon
		events []admin.Event
		off    []interval
		want   string
	}{
		{"nothing happened", closed, 0, nil, nil, "closed 60"},
		{"it has been open since before", open, 0, nil, nil, "open 60"},
		{
			"an outage", closed, 0,
			[]admin.Event{change(10, closed, open, ""), change(15, open, halfOpen, ""), change(16, halfOpen, closed, "")},
			nil, "closed 10, open 5, half-open 1, closed 44",
		},
		{"the state before is that of the first change", open, 0, []admin.Event{change(10, open, closed, ""), change(20, closed, open, "")}, nil, "open 10, closed 10, open 40"},
		{"a maintenance is no act of people", isolated, 0, []admin.Event{change(10, closed, isolated, "maintenance backup"), change(20, isolated, halfOpen, ""), change(30, halfOpen, isolated, "ines")}, nil, "closed 10, maintenance 10, half-open 10, isolated 30"},
		{"before the history nobody knows", closed, 20, []admin.Event{change(30, closed, open, ""), change(40, open, closed, "")}, nil, "unknown 20, closed 10, open 10, closed 20"},
		{"a history without changes", closed, 20, nil, nil, "unknown 20, closed 40"},
		{"no gateway ran", closed, 0, nil, []interval{{noon.Add(10 * time.Minute), noon.Add(15 * time.Minute)}}, "closed 10, unknown 5, closed 45"},
	} {
		p := newPast(noon.Add(time.Duration(tt.begins)*time.Minute), tt.events, tt.off)
		var got []string
		for _, s := range p.segments(&admin.Dependency{ID: "hotel-1", State: tt.state}, noon, noon.Add(time.Hour)) {
			got = append(got, fmt.Sprintf("%s %.0f", s.S.Key, s.To.Sub(s.From).Minutes()))
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
}

// Availability counts what the rules decided; what people isolated, and what nobody
// knows, does not count.
func TestFared(t *testing.T) {
	p := newPast(noon.Add(10*time.Minute), []admin.Event{
		change(12, closed, open, ""), change(15, open, halfOpen, ""), change(16, halfOpen, closed, ""), // 4 min
		change(20, closed, open, ""), change(22, open, halfOpen, ""), change(23, halfOpen, open, ""), change(25, open, halfOpen, ""), change(30, halfOpen, closed, ""), // 10 min
		change(40, closed, isolated, "ines"), change(50, isolated, closed, ""),
		change(55, closed, open, ""), // not over
	}, nil)
	f := p.fared(&admin.Dependency{ID: "hotel-1", State: open}, noon, noon.Add(time.Hour))
	want := fared{Known: 40 * time.Minute, CutOff: 19 * time.Minute, ByHand: 10 * time.Minute, Trips: 3, Median: 7 * time.Minute, Worst: 10 * time.Minute}
	if f != want {
		t.Errorf("%+v, want %+v", f, want)
	}
	if got := f.Availability(); got != "52.50 %" {
		t.Errorf("availability %s", got)
	}
	if got := (fared{}).Availability(); got != "–" {
		t.Errorf("of nothing: %s", got)
	}
}

// Whoever has been put back and waits for a call is cut off by nobody's rules.
func TestFaredAfterAnIsolation(t *testing.T) {
	inShadow := func(e admin.Event) admin.Event {
		e.Shadow = true
		return e
	}
	for _, tt := range []struct {
		name   string
		now    admin.Dependency
		events []admin.Event
		want   fared // in minutes
	}{
		{
			"it waits for a call",
			admin.Dependency{},
			[]admin.Event{change(10, closed, isolated, "ines"), change(20, isolated, halfOpen, "ines"), change(50, halfOpen, closed, "")},
			fared{Known: 20, ByHand: 40},
		},
		{
			"and is down",
			admin.Dependency{},
			[]admin.Event{change(10, closed, isolated, "ines"), change(20, isolated, halfOpen, "ines"), change(50, halfOpen, open, ""), change(53, open, halfOpen, ""), change(54, halfOpen, closed, "")},
			fared{Known: 20, CutOff: 4, ByHand: 40, Trips: 1, Median: 4, Worst: 4},
		},
		{
			"it was put back before",
			admin.Dependency{},
			[]admin.Event{change(-20, closed, isolated, "ines"), change(-10, isolated, halfOpen, "ines"), change(30, halfOpen, closed, "")},
			fared{Known: 30, ByHand: 30},
		},
		{"before all that is known", admin.Dependency{State: halfOpen}, nil, fared{ByHand: 60}},
		{"before all that is known its rules cut it off", admin.Dependency{State: halfOpen, OutSince: &noon}, nil, fared{Known: 60, CutOff: 60}},
		{
			"a maintenance",
			admin.Dependency{State: halfOpen},
			[]admin.Event{change(10, closed, isolated, "maintenance backup"), change(20, isolated, halfOpen, "maintenance backup")},
			fared{Known: 10, ByHand: 50},
		},
		{
			"it was restored meanwhile",
			admin.Dependency{State: halfOpen},
			[]admin.Event{change(10, closed, isolated, "ines"), change(20, isolated, halfOpen, "ines"), change(30, closed, halfOpen, "")},
			fared{Known: 10, ByHand: 50},
		},
		{
			"held closed in between",
			admin.Dependency{},
			[]admin.Event{change(10, closed, isolated, "ines"), change(20, isolated, heldClosed, "ines"), change(30, heldClosed, halfOpen, "ines"), change(40, halfOpen, closed, "")},
			fared{Known: 30, ByHand: 30},
		},
		{
			"held closed when it had tripped",
			admin.Dependency{},
			[]admin.Event{change(10, closed, open, ""), change(20, open, heldClosed, "ines"), change(30, heldClosed, halfOpen, "ines"), change(40, halfOpen, closed, "")},
			fared{Known: 50, CutOff: 20, ByHand: 10, Trips: 1},
		},
		{
			"held closed its trials failed",
			admin.Dependency{},
			[]admin.Event{
				change(10, closed, isolated, "ines"), change(20, isolated, heldClosed, "ines"), change(22, heldClosed, heldClosed, ""),
				change(30, heldClosed, halfOpen, "ines"), change(40, halfOpen, closed, ""),
			},
			fared{Known: 40, CutOff: 10, ByHand: 20},
		},
		{
			"keys have breakers of their own, and calls without one may never come",
			admin.Dependency{State: halfOpen, Keys: &admin.Keys{}},
			[]admin.Event{change(10, closed, isolated, "ines"), change(20, isolated, halfOpen, "ines")},
			fared{Known: 50, ByHand: 10},
		},
		{
			"shadow mode cuts nobody off",
			admin.Dependency{},
			[]admin.Event{inShadow(change(10, closed, open, "")), inShadow(change(15, open, halfOpen, "")), inShadow(change(16, halfOpen, closed, ""))},
			fared{Known: 60, WouldBe: 6},
		},
		{"in shadow mode since before", admin.Dependency{State: open, Shadow: true}, nil, fared{Known: 60, WouldBe: 60}},
		{
			"shadow mode ends while it is down",
			admin.Dependency{},
			[]admin.Event{inShadow(change(10, closed, open, "")), change(15, open, halfOpen, ""), change(16, halfOpen, open, ""), change(20, open, halfOpen, ""), change(22, halfOpen, closed, "")},
			fared{Known: 60, CutOff: 7, WouldBe: 5, Trips: 1, Median: 6, Worst: 6},
		},
		{"what comes later says how it was", admin.Dependency{State: open}, []admin.Event{change(70, closed, open, "")}, fared{Known: 60}},
	} {
		tt.now.ID = "hotel-1"
		for _, d := range []*time.Duration{&tt.want.Known, &tt.want.CutOff, &tt.want.WouldBe, &tt.want.ByHand, &tt.want.Median, &tt.want.Worst} {
			*d *= time.Minute
		}
		if tt.now.State == "" {
			tt.now.State = closed
		}
		if f := newPast(noon.Add(-time.Hour), tt.events, nil).fared(&tt.now, noon, noon.Add(time.Hour)); f != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, f, tt.want)
		}
	}
}

// Trips go together if their outages do: one that was over is of another cause.
func TestTogether(t *testing.T) {
	at := func(second int, id, from, to string) admin.Event {
		return admin.Event{At: noon.Add(time.Duration(second) * time.Second), Dependency: id, From: from, To: to}
	}
	first, second := at(0, "hotel-7", closed, open), at(45, "hotel-3", closed, open)
	back := at(20, "hotel-7", halfOpen, closed)
	third, fourth := at(46, "hotel-5", closed, open), at(50, "hotel-7", closed, open)
	for _, tt := range []struct {
		name   string
		events []admin.Event
		want   string
	}{
		{"three", []admin.Event{first, second, third}, "3 dependencies were cut off within 46 s. "},
		{"one was over", []admin.Event{first, back, second, third}, ""},
		{"and tripped again", []admin.Event{first, back, second, third, fourth}, "3 dependencies were cut off within 5 s. "},
	} {
		p, rows := newPast(noon, tt.events, nil), []row{{Dependency: admin.Dependency{ID: "hotel-5", Automatic: halfOpen}}}
		text := ""
		if got := newTogether(p, rows, noon.Add(time.Minute)); got != nil {
			text, _, _ = strings.Cut(got.Text, "One cause")
		}
		if text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
		rows[0].Dependency.Automatic = closed
		if got := newTogether(p, rows, noon.Add(time.Minute)); got != nil {
			t.Errorf("%s: all are well again, and it says %q", tt.name, got.Text)
		}
	}
}

func TestHeadline(t *testing.T) {
	for _, tt := range []struct{ keys, text, also string }{
		{"", "No dependencies are configured", ""},
		{"closed", "The dependency is passing calls", ""},
		{"closed closed", "All 2 dependencies are passing calls", ""},
		{"open closed", "1 of 2 dependencies is cut off", ""},
		{"open", "1 of 1 dependency is cut off", ""},
		{"open isolated closed", "2 of 3 dependencies are cut off", "1 of them by hand"},
		{"maintenance closed", "1 of 2 dependencies is cut off", "1 of them as planned"},
		{"half-open closed", "1 of 2 dependencies is on trial", ""},
		{"open half-open at-risk held-closed", "1 of 4 dependencies is cut off", "1 on trial, 1 at risk, 1 passing by hand"},
		{"at-risk closed", "All 2 dependencies are passing calls", "1 at risk"},
	} {
		var rows []row
		for key := range strings.FieldsSeq(tt.keys) {
			rows = append(rows, row{S: stateOf(key)})
		}
		if h := newHeadline(rows); (h.Do != "") != (strings.Contains(tt.keys, open) || strings.Contains(tt.keys, halfOpen)) {
			t.Errorf("%s: what to do: %q", tt.keys, h.Do)
		} else if h.Text != tt.text || h.Also != tt.also {
			t.Errorf("%s: %q, %q; want %q, %q", tt.keys, h.Text, h.Also, tt.text, tt.also)
		}
	}
}

// What people or a plan have set is not tried again by itself, and nobody says it is.
func TestWhatToDo(t *testing.T) {
	for keys, want := range map[string]string{
		"open closed":                      "It is tried again by itself: there is nothing to press here. Tell the partner.",
		"open half-open":                   "They are tried again by themselves: there is nothing to press here. Tell the partners.",
		"open isolated closed":             "The other one is tried again by itself: there is nothing to press here. Tell the partner.",
		"open half-open maintenance":       "The others are tried again by themselves: there is nothing to press here. Tell the partners.",
		"isolated maintenance held-closed": "",
	} {
		var rows []row
		for key := range strings.FieldsSeq(keys) {
			rows = append(rows, row{S: stateOf(key)})
		}
		if h := newHeadline(rows); h.Do != want {
			t.Errorf("%s: %q, want %q", keys, h.Do, want)
		}
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{"hotel-1": "hotel-1", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "": "''", "-x": "'-x'"} {
		if got := quoted(word); got != want {
			t.Errorf("quoted(%q) = %s, want %s", word, got, want)
		}
	}
}

// The timeline opens on the shortest range that shows all there is, up to a day.
func TestTimelineRange(t *testing.T) {
	for _, tt := range []struct {
		key   string
		known time.Duration
		want  string
	}{
		{"", time.Minute, "1h"},
		{"", 61 * time.Minute, "6h"},
		{"", 7 * time.Hour, "24h"},
		{"", 900 * time.Hour, "24h"},
		{"7d", time.Minute, "7d"},
		{"nonsense", time.Minute, "1h"},
	} {
		if got := backs()[chosenOf(backs(), tt.key, tt.known)].Key; got != tt.want {
			t.Errorf("%q, %v known: %s, want %s", tt.key, tt.known, got, tt.want)
		}
	}
}
