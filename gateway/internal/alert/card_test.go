package alert

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/recloser-go/recloser"
)

var update = flag.Bool("update", false, "write the golden cards anew")

const ugly = `_*evil*_ [link](https://evil.example) <b> {{DATE(2020-01-01T00:00:00Z)}}`

// goldenMessages are the cards that were looked at in a browser.
func goldenMessages() map[string]Message {
	trip := recloser.Transition{
		Name: "hotel-3", From: recloser.Closed, To: recloser.Open, Automatic: recloser.Open, At: start, Reason: recloser.ReasonRun,
		Counts: recloser.Counts{Good: 36, Failed: 0, Slow: 5, Run: 5}, OpenFor: 5 * time.Second, Cause: errors.New(ugly),
	}
	back := recloser.Transition{Name: "hotel-3", From: recloser.HalfOpen, To: recloser.Closed, At: start.Add(760 * time.Second), Reason: recloser.ReasonTrialsGood}
	isolated := recloser.Transition{
		Name: "hotel-3", From: recloser.Closed, To: recloser.Isolated, At: start, Reason: recloser.ReasonIsolated, By: "ann@example.com", Note: "new boiler until *noon*",
	}
	const name, link = "Aurora_Central_", "https://recloser.example/#hotel-3"
	return map[string]Message{
		"trip":     {ID: "hotel-3", Name: name, Link: link, News: trip},
		"recovery": {ID: "hotel-3", Name: name, Link: link, News: back, Before: trip, Spared: 701},
		"isolated": {ID: "hotel-3", Name: name, Link: link, News: isolated, Until: start.Add(time.Hour)},
	}
}

func TestGoldenCards(t *testing.T) {
	for name, m := range goldenMessages() {
		t.Run(name, func(t *testing.T) {
			raw, err := Card(m)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("the card differs from %s (look at it, then run with -update):\n%s", file, got.Bytes())
			}
		})
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
		m := Message{
			News:   recloser.Transition{From: recloser.HalfOpen, To: recloser.Closed, At: start, Reason: recloser.ReasonTrialsGood},
			Before: recloser.Transition{From: recloser.Closed, To: recloser.Open, At: start, Reason: recloser.ReasonRun, Counts: c.counts},
			Spared: c.spared,
		}
		got := ""
		for _, f := range m.Facts(plainMoments()) {
			if f.Name == "Spared" {
				got = f.Value
			}
		}
		if got != c.want {
			t.Errorf("%+v: got %q, want %q", c, got, c.want)
		}
	}
}

// Only TextBlocks read Markdown: no text by others may stand in one.
func TestForeignTextIsNeverMarkdown(t *testing.T) {
	tr := recloser.Transition{Name: ugly, To: recloser.Open, At: start, Reason: recloser.ReasonTripped, OpenFor: time.Second, Cause: errors.New(ugly), By: ugly, Note: ugly}
	messages := []Message{
		{ID: ugly, Name: ugly + "!", News: tr},
		{ID: ugly, Name: ugly + "!", News: recloser.Transition{To: recloser.Closed, At: start, Reason: recloser.ReasonReset, By: ugly, Note: ugly}, Before: tr},
		{ID: ugly, Name: ugly + "!", News: recloser.Transition{To: recloser.HeldClosed, At: start, Reason: recloser.ReasonHeldClosed, By: ugly, Note: ugly}},
	}
	for _, m := range messages {
		raw, err := Card(m)
		if err != nil {
			t.Fatal(err)
		}
		var e envelope
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		runs := 0
		var walk func([]element)
		walk = func(list []element) {
			for _, el := range list {
				if strings.Contains(el.Text, "evil") {
					runs++
					if el.Type != "TextRun" {
						t.Errorf("a %s holds foreign text: %q", el.Type, el.Text)
					}
					if strings.Contains(el.Text, "{{") {
						t.Errorf("a macro of others: %q", el.Text)
					}
				}
				walk(el.Inlines)
				walk(el.Columns)
				walk(el.Items)
			}
		}
		walk(e.Attachments[0].Content.Body)
		if runs < 4 {
			t.Errorf("%s: foreign text shown %d times, want at least 4", m.News.To, runs)
		}
	}
}

// The limit counts after Microsoft has encoded the card again, perhaps as ASCII.
func TestCardIsUnder20kB(t *testing.T) {
	for _, unit := range []string{"x", "<", "😀", `\`, "日"} {
		long := strings.Repeat(unit, 5000)
		tr := recloser.Transition{Name: long, To: recloser.Open, At: start, Reason: recloser.ReasonRate, OpenFor: time.Second, Cause: errors.New(long), By: long, Note: long}
		back := recloser.Transition{Name: long, To: recloser.Closed, At: start, Reason: recloser.ReasonReset, By: long, Note: long}
		raw, err := Card(Message{ID: long, Name: long + "!", News: back, Before: tr, Link: "https://recloser.example/#" + strings.Repeat("%F0%9F%98%80", 63)})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, r := range string(raw) {
			if r < utf8.RuneSelf {
				n++
			} else {
				n += len(`\u0000`) * utf16.RuneLen(r)
			}
		}
		if n > 20_000 {
			t.Errorf("with %q: %d bytes, want at most 20000", unit, n)
		}
	}
}
