package message

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
)

var start = time.Date(2026, 11, 29, 20, 7, 22, 0, time.UTC)

func TestText(t *testing.T) {
	local := func(d time.Duration) string { return start.Add(d).Local().Format("15:04:05 MST") }
	trip := WhyOf(recloser.Transition{
		Name: "hotel/3", From: recloser.Closed, To: recloser.Open, At: start, Reason: recloser.ReasonRate,
		Counts: recloser.Counts{Good: 9, Failed: 30, Slow: 2, Run: 4}, OpenFor: 5 * time.Second,
		Cause: errors.New(`Get "https://ann:pw@hotel-3.example:8443/guests/Smith?token=abc": connection refused`),
	})
	trip.Limits = LimitsOf(recloser.Config{SlowCall: 2 * time.Second})
	back := WhyOf(recloser.Transition{From: recloser.HalfOpen, To: recloser.Closed, At: start.Add(760 * time.Second), Reason: recloser.ReasonTrialsGood})
	act := WhyOf(recloser.Transition{From: recloser.Closed, To: recloser.Isolated, At: start, Reason: recloser.ReasonIsolated, By: "Ann", Note: "new boiler"})
	item := Item{Dependency: "hotel/3", Name: "Aurora Central", State: recloser.Open, Since: start, Why: trip, Next: start.Add(9 * time.Second)}
	over := item
	over.State, over.Over, over.Now, over.Spared, over.Trips = recloser.Closed, start.Add(760*time.Second), back, 701, 3
	byHand := Item{Dependency: "hotel/3", Name: "Aurora Central", State: recloser.Isolated, Since: start, Why: act, Until: start.Add(time.Hour)}

	for _, c := range []struct {
		kind Kind
		item Item
		want []string
	}{
		{Started, item, []string{
			"Aurora Central is cut off",
			"78 % of the last 41 calls were bad (limit 50 %, window 10 s): 30 failed, 2 not answered within 2 s",
			"Callers get: an error (503) at once instead of waiting",
			`Last error: Get "https://hotel-3.example:8443": connection refused`,
			"Next trial: " + local(9*time.Second) + ", by itself: one real call",
			"To do: nothing here: trials and the way back come by themselves. Tell whoever runs it",
			"See it on the panel: http://127.0.0.1:8081/d/hotel%2F3",
		}},
		{Ended, over, []string{
			"Aurora Central is back", "Was out: 12 min 40 s, from ", " to " + local(760*time.Second), "78 % of the last 41 calls",
			"Cut off: 3 times meanwhile", "Now: its trial calls were good", "Spared: 701 calls refused at once instead of waiting",
		}},
		{Isolated, byHand, []string{"Aurora Central is cut off by hand", "By: Ann", "Reason given: new boiler", "Until: ", local(time.Hour)}},
	} {
		m := Message{Kind: c.kind, Items: []Item{c.item}, Of: 9, Panel: "http://127.0.0.1:8081"}
		for _, part := range c.want {
			if !strings.Contains(m.String(), part) {
				t.Errorf("%s lacks %q:\n%s", c.kind, part, m)
			}
		}
		if want := "http://127.0.0.1:8081/d/hotel%2F3"; m.Links()[0].URL != want {
			t.Errorf("%s: link %q, want %q", c.kind, m.Links()[0].URL, want)
		}
		if text := m.String(); strings.Contains(text, "Smith") || strings.Contains(text, "pw") || strings.Contains(text, "abc") {
			t.Errorf("a guest's name or a token is told:\n%s", text)
		}
	}
}

// Which nodes have seen it fail is a fact of its own; what nodes say is no operator's reason.
func TestSeenByNodes(t *testing.T) {
	agreed := WhyOf(recloser.Transition{
		From: recloser.Closed, To: recloser.Open, At: start, Reason: recloser.ReasonFleet, Note: "probe: https://hotel.example/ping?token=abc: status *500*",
	})
	for _, c := range []struct {
		kind Kind
		item Item
		want []string
	}{
		{Started, Item{Name: "h", State: recloser.Open, Why: agreed, Seen: fleet.Seen{By: 2, Of: 3}}, []string{"Seen by: 2 of 3 nodes", "Why: all nodes together: probe: https://hotel.example status *500*"}},
		{Ended, Item{Name: "h", Over: start, Why: Why{Reason: recloser.ReasonRun}, Seen: fleet.Seen{By: 1, Of: 3, Who: "gate-1", Own: true}}, []string{"Seen by: 1 of 3 nodes: gate-1, by its own rules"}},
	} {
		m := Message{Kind: c.kind, Items: []Item{c.item}}
		for _, part := range c.want {
			if !strings.Contains(m.String(), part) {
				t.Errorf("%s lacks %q:\n%s", c.kind, part, m)
			}
		}
		if strings.Contains(m.String(), "Reason given") {
			t.Errorf("the nodes' words look like an operator's:\n%s", m)
		}
		for _, f := range m.Facts(Local()) {
			if (f.Name == "Seen by" || f.Name == "Why" && c.kind == Started) && !f.Foreign {
				t.Errorf("%s may be read as markup: %q", f.Name, f.Value)
			}
		}
	}
	both := Item{Name: "h", Why: Why{Reason: recloser.ReasonRun}, Seen: fleet.Seen{By: 2, Of: 3}}
	other := both
	other.Seen.By = 3
	for want, items := range map[bool][]Item{true: {both, both}, false: {both, other}} {
		if text := (Message{Kind: Started, Items: items}).String(); strings.Contains(text, "Seen by: 2 of 3 nodes") != want {
			t.Errorf("of two, %t: %s", want, text)
		}
	}
	alone := Message{Kind: Started, Items: []Item{{Name: "h", State: recloser.Open, Why: Why{Reason: recloser.ReasonRun}}}}
	if strings.Contains(alone.String(), "Seen by") {
		t.Errorf("without a fleet:\n%s", alone)
	}
}

// Who would have met an error at once was not spared a wait.
func TestSparedSaysWhatCallersWereSpared(t *testing.T) {
	for _, c := range []struct {
		counts recloser.Counts
		spared uint64
		want   string
	}{
		{recloser.Counts{Slow: 5, Run: 5}, 701, "701 calls refused at once instead of waiting"},
		{recloser.Counts{Failed: 4, Slow: 1, Run: 5}, 2, "2 calls refused at once instead of waiting"},
		{recloser.Counts{Failed: 5, Run: 5}, 411, "411 calls refused at once"},
		{recloser.Counts{Failed: 5, Run: 5}, 1, "1 call refused at once"},
		{recloser.Counts{}, 7, "7 calls refused at once"}, // cut off by hand
	} {
		i := Item{State: recloser.Closed, Over: start, Spared: c.spared, Why: Why{Reason: recloser.ReasonRun, Counts: c.counts}}
		got := ""
		for _, f := range (Message{Kind: Ended, Items: []Item{i}}).Facts(Local()) {
			if f.Name == "Spared" {
				got = f.Value
			}
		}
		if got != c.want {
			t.Errorf("%+v: got %q, want %q", c, got, c.want)
		}
	}
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, key := range recloser.TransitionKeys() {
		w := WhyOf(recloser.Transition{To: key.To, Reason: key.Reason, OpenFor: time.Second, Counts: recloser.Counts{Failed: 1, Run: 1}})
		switch text := w.InWords(); {
		case key.To == recloser.HalfOpen: // never told
		case text == string(key.Reason), text == "":
			t.Errorf("%v: no plain words, only %q", key, text)
		}
	}
}

func TestEveryKindHasWords(t *testing.T) {
	for _, k := range Kinds() {
		one := Message{Kind: k, Items: []Item{{Dependency: "h", Name: "h"}}, Of: 3}
		many := Message{Kind: k, Items: []Item{{Name: "h"}, {Name: "i"}}, Of: 3}
		if k != Test && (!strings.HasPrefix(one.Title(), "h ") || len(one.Title()) < 8 || !strings.HasPrefix(many.Title(), "2 of 3 ") || len(many.Title()) < 14) {
			t.Errorf("%s: %q, %q", k, one.Title(), many.Title())
		}
		if k != Test && len(one.Facts(Local())) == 0 {
			t.Errorf("%s has no facts", k)
		}
		if _, text := one.Items[0].Line(k, Local()); text == "" {
			t.Errorf("%s has no line", k)
		}
	}
}

// What a message says holds at the moment it is written, however it began.
func TestWordsFollowTheState(t *testing.T) {
	item := func(s recloser.State) Item {
		return Item{Name: "h", Dependency: "h", State: s, Why: Why{Reason: recloser.ReasonRun}}
	}
	stale := item(recloser.Open)
	stale.LastKnown, stale.Next = 15*time.Minute, start
	for name, c := range map[string]struct {
		m    Message
		want []string
		not  []string
	}{
		"cut off":            {Message{Kind: Started, Items: []Item{item(recloser.Open)}}, []string{"h is cut off", "503", "Tell whoever runs it"}, []string{"Next trial"}},
		"with a last answer": {Message{Kind: Started, Items: []Item{stale}}, []string{"on routes with last_known: its last good answer, if there is one of the last 15 min; else an error (503)", "Next trial"}, nil},
		"on trial":           {Message{Kind: Reminder, Items: []Item{item(recloser.HalfOpen)}}, []string{"Next trial: now", "ask whoever runs it"}, nil},
		"passing again":      {Message{Kind: Started, Items: []Item{item(recloser.Closed)}}, []string{"h was cut off", "as usual"}, []string{"is cut off", "503", "Tell"}},
		"held closed":        {Message{Kind: Reminder, Items: []Item{item(recloser.HeldClosed)}}, []string{"every call is let through"}, []string{"503"}},
		"us":                 {Message{Kind: Started, Us: true, Items: []Item{item(recloser.Open)}}, []string{"Others hang as well: look at your own network first"}, []string{"Tell"}},
		"many":               {Message{Kind: Started, Items: []Item{item(recloser.Open), stale, item(recloser.Closed)}}, []string{"3 dependencies cut off", "passing again", "Tell whoever runs them", "the first "}, []string{"Callers get"}},
		"many alike":         {Message{Kind: Isolated, Items: []Item{item(recloser.Isolated), item(recloser.Isolated)}}, []string{"Callers get: an error (503)", "until somebody puts it back"}, nil},
		"many by hand":       {Message{Kind: Endless, Items: []Item{item(recloser.Isolated), item(recloser.HeldClosed)}}, []string{"put them back", "cut off by hand until", "passing by hand until"}, nil},
		"a test":             {Message{Kind: Test, By: "ann", Panel: "http://p"}, []string{"Asked for by: ann", "Open the panel: http://p/"}, []string{"To do"}},
	} {
		text := c.m.String()
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q:\n%s", name, part, text)
			}
		}
		for _, part := range c.not {
			if strings.Contains(text, part) {
				t.Errorf("%s says %q:\n%s", name, part, text)
			}
		}
	}
}

func TestTextOfMany(t *testing.T) {
	m := Message{Kind: Started, Of: 200}
	for range 200 {
		m.Items = append(m.Items, Item{Name: "h", State: recloser.Open, Why: Why{Reason: recloser.ReasonProbe}})
	}
	if text := m.String(); !strings.HasPrefix(text, "200 of 200 cut off") || !strings.Contains(text, "and 188 more") || strings.Count(text, "probes of it failed") != 12 {
		t.Error(text)
	}
}

func TestForAndMerge(t *testing.T) {
	m := Message{Kind: Started, Of: 4, Items: []Item{{Dependency: "a"}, {Dependency: "b"}}}
	if part, ok := m.For(func(i Item) bool { return i.Dependency == "b" }); !ok || len(part.Items) != 1 || len(m.Items) != 2 {
		t.Errorf("%v %v", part, ok)
	}
	if _, ok := m.For(func(Item) bool { return false }); ok {
		t.Error("nothing is left, and it is a message")
	}
	later := m.Merge(Message{Kind: Started, Of: 5, At: start, Items: []Item{{Dependency: "c"}}})
	if len(later.Items) != 3 || !later.Us || !later.At.Equal(start) || later.Of != 5 {
		t.Errorf("%+v", later)
	}
}

func TestTidy(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                                 "plain",
		" two\r\nlines\tand\x00nul ":            "two lines and nul",
		"right\u202eto left":                    "right to left",
		"bad \xff utf-8":                        "bad utf-8",
		strings.Repeat("ü", maxText):            strings.Repeat("ü", maxText),
		strings.Repeat("😀", maxText):            strings.Repeat("😀", maxText/2-1) + "…",
		strings.Repeat("ü", maxText+1):          strings.Repeat("ü", maxText-1) + "…",
		"Привет, 日本 – *this* stays [as](it) is": "Привет, 日本 – *this* stays [as](it) is",
	} {
		if got := Tidy(in); got != want {
			t.Errorf("Tidy(%q) = %q, want %q", in, got, want)
		}
	}
}
