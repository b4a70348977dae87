package alert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

var start = time.Date(2026, 11, 29, 20, 7, 22, 0, time.UTC)

// steps are transitions of one breaker, a second apart.
func steps(id string, states ...recloser.State) []recloser.Transition {
	list := make([]recloser.Transition, 0, len(states))
	from := recloser.Closed
	for i, to := range states {
		list = append(list, recloser.Transition{
			Seq: uint64(i + 1), Name: id, From: from, To: to, At: start.Add(time.Duration(i) * time.Second),
		})
		from = to
	}
	return list
}

func TestListenTellsNews(t *testing.T) {
	const (
		closed, open, halfOpen = recloser.Closed, recloser.Open, recloser.HalfOpen
		isolated, held         = recloser.Isolated, recloser.HeldClosed
	)
	cases := []struct {
		name   string
		states []recloser.State
		want   []string
	}{
		{"trip and recovery", []recloser.State{open, halfOpen, closed}, []string{"h is cut off", "h is back"}},
		{"failed trials are no news", []recloser.State{open, halfOpen, open, halfOpen, open, halfOpen, closed}, []string{"h is cut off", "h is back"}},
		{"two incidents", []recloser.State{open, closed, open}, []string{"h is cut off", "h is back", "h is cut off"}},
		{"first seen in half-open", []recloser.State{halfOpen, open, halfOpen, closed}, []string{"h is cut off", "h is back"}},
		{"half-open to closed with nothing told before", []recloser.State{halfOpen, closed}, nil},
		{"isolated and released", []recloser.State{isolated, halfOpen, closed}, []string{"h is cut off by hand", "h is back"}},
		{"isolated, and bad when released", []recloser.State{isolated, halfOpen, open}, []string{"h is cut off by hand", "h is cut off"}},
		{"held while the rules change their mind", []recloser.State{held, held, held, closed}, []string{"h is held closed", "h is automatic again"}},
		{"held in an outage", []recloser.State{open, held, open, halfOpen, closed}, []string{"h is cut off", "h is held closed", "h is cut off", "h is back"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := New(Options{})
			for _, tr := range steps("h", c.states...) {
				a.Listen(tr)
			}
			var got []string
			for _, m := range a.Messages() {
				got = append(got, m.Title())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

func TestIncidentsOfDependenciesAreApart(t *testing.T) {
	a := New(Options{})
	a.Listen(steps("one", recloser.Open)[0])
	a.Listen(steps("two", recloser.Open)[0])
	a.Listen(recloser.Transition{Name: "one", From: recloser.HalfOpen, To: recloser.Closed, At: start.Add(time.Minute)})
	if n := len(a.Messages()); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	a := New(Options{})
	for range recentMessages {
		for _, tr := range steps("h", recloser.Open, recloser.Closed) {
			a.Listen(tr)
		}
	}
	got := a.Messages()
	if len(got) != recentMessages {
		t.Fatalf("%d messages kept, want %d", len(got), recentMessages)
	}
	if last := got[len(got)-1].Title(); last != "h is back" {
		t.Errorf("last message is %q", last)
	}
}

func TestMessageText(t *testing.T) {
	refused := uint64(40)
	var override *recloser.Override
	a := New(Options{
		PanelURL:    "http://127.0.0.1:8081/",
		DisplayName: func(string) string { return "Aurora Central" },
		Stats: func(string) recloser.Stats {
			return recloser.Stats{Override: override, Refused: map[recloser.Reason]uint64{recloser.ReasonOpen: refused, recloser.ReasonTrialSlots: 2}}
		},
	})
	a.Listen(recloser.Transition{
		Name: "hotel/3", From: recloser.Closed, To: recloser.Open, At: start, Reason: recloser.ReasonRate,
		Counts: recloser.Counts{Good: 9, Failed: 30, Slow: 2, Run: 4}, OpenFor: 5 * time.Second,
		Cause: errors.New(`Get "https://ann:pw@hotel-3.example:8443/guests/Smith?token=abc": connection refused`),
	})
	refused = 741
	a.Listen(recloser.Transition{
		Name: "hotel/3", From: recloser.HalfOpen, To: recloser.Closed, At: start.Add(760 * time.Second), Reason: recloser.ReasonTrialsGood,
	})
	override = &recloser.Override{State: recloser.Isolated, Until: start.Add(time.Hour)}
	a.Listen(recloser.Transition{
		Name: "hotel/3", From: recloser.Closed, To: recloser.Isolated, At: start, Reason: recloser.ReasonIsolated, By: "Ann", Note: "new boiler",
	})

	local := func(d time.Duration) string { return start.Add(d).Local().Format("15:04:05") }
	want := [][]string{
		{
			"Aurora Central is cut off",
			"78 % of the last 41 calls were bad: 30 failed, 2 too slow",
			`Last error: Get "https://hotel-3.example:8443": connection refused`,
			"Next trial: " + local(5*time.Second) + ", after 5 s: one real call",
		},
		{
			"Aurora Central is back",
			"Was out: 12 min 40 s, from ",
			" to " + local(760*time.Second),
			"78 % of the last 41 calls",
			"Now: its trial calls were good",
			"Spared: 701 calls refused",
		},
		{"Aurora Central is cut off by hand", "By: Ann", "Reason given: new boiler", "Until: ", local(time.Hour)},
	}
	got := a.Messages()
	if len(got) != len(want) {
		t.Fatalf("%d messages, want %d", len(got), len(want))
	}
	for i, parts := range want {
		for _, part := range parts {
			if !strings.Contains(got[i].String(), part) {
				t.Errorf("message %d lacks %q:\n%s", i, part, got[i])
			}
		}
		if want := "http://127.0.0.1:8081/#hotel%2F3"; got[i].Link != want {
			t.Errorf("message %d: link %q, want %q", i, got[i].Link, want)
		}
	}
	if text := got[0].String(); strings.Contains(text, "Smith") || strings.Contains(text, "pw") || strings.Contains(text, "abc") {
		t.Errorf("a guest's name or a token is told:\n%s", text)
	}
}

func TestListensToABreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := recloser.New(recloser.Config{Name: "h", Consecutive: 3, OpenFor: time.Second, Jitter: recloser.Off, Trials: 1})
		if err != nil {
			t.Fatal(err)
		}
		a := New(Options{Stats: func(string) recloser.Stats { return b.Stats() }})
		b.Subscribe(a.Listen)
		call := func(err error) {
			_ = b.Do(t.Context(), func(context.Context) error { return err })
		}
		for range 3 {
			call(errors.New("no database"))
		}
		synctest.Wait() // events come on a goroutine of their own
		for range 7 {
			call(nil) // refused
		}
		<-time.After(time.Second)
		call(nil)
		synctest.Wait()
		if err := b.Isolate("Ann", "boiler", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		var text strings.Builder
		for _, m := range a.Messages() {
			fmt.Fprintln(&text, m)
		}
		for _, want := range []string{
			"h is cut off", "Why: 3 bad calls in a row; of the last 3 calls: 0 good, 3 failed", "Last error: no database", "after 1 s: one real call",
			"h is back", "Was out: 1 s", "Spared: 7 calls",
			"h is cut off by hand", "By: Ann", "Until: " + time.Now().Add(time.Hour).Local().Format("2006-01-02 15:04:05"),
		} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("lacks %q:\n%s", want, text.String())
			}
		}
	})
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, key := range recloser.TransitionKeys() {
		tr := recloser.Transition{To: key.To, Reason: key.Reason, OpenFor: time.Second, Counts: recloser.Counts{Failed: 1, Run: 1}}
		switch text := why(tr); {
		case key.To == recloser.HalfOpen: // never told
		case text == string(key.Reason), text == "":
			t.Errorf("%v: no plain words, only %q", key, text)
		}
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
		if got := tidy(in); got != want {
			t.Errorf("tidy(%q) = %q, want %q", in, got, want)
		}
	}
}
