package channel

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

const ugly = `_*evil*_ [link](https://evil.example) <b> {{DATE(2020-01-01T00:00:00Z)}}`

// uglyMessages are of every kind, with all that others can write.
func uglyMessages() []message.Message {
	why := message.WhyOf(recloser.Transition{To: recloser.Open, At: start, Reason: recloser.ReasonTripped, OpenFor: time.Second, Cause: errors.New(ugly), By: ugly, Note: ugly})
	var all []message.Message
	for _, k := range message.Kinds() {
		i := message.Item{Dependency: ugly, Name: ugly + "!", Group: ugly, State: recloser.Open, Since: start, Over: start.Add(time.Minute), Why: why, Now: why}
		all = append(all,
			message.Message{ID: "1", Kind: k, At: start, Items: []message.Item{i}, Of: 3, Panel: "https://recloser.example"},
			message.Message{ID: "2", Kind: k, At: start, Items: []message.Item{i, i, i}, Of: 3, Panel: "https://recloser.example", Us: true})
	}
	return all
}

// Only TextBlocks read Markdown: no text by others may stand in one.
func TestForeignTextIsNeverMarkdown(t *testing.T) {
	for _, m := range uglyMessages() {
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
		if runs < 2 && m.Kind != message.Test {
			t.Errorf("%s: foreign text shown %d times, want at least 2", m.Kind, runs)
		}
	}
}

// The limit counts after Microsoft has encoded the card again, perhaps as ASCII.
func TestCardIsUnder20kB(t *testing.T) {
	for _, unit := range []string{"x", "<", "😀", `\`, "日"} {
		long := strings.Repeat(unit, 500)
		why := message.WhyOf(recloser.Transition{To: recloser.Open, At: start, Reason: recloser.ReasonUs, Counts: recloser.Counts{Good: 1 << 62, Failed: 1 << 62, Slow: 1 << 62}, OpenFor: time.Second, Cause: errors.New(long), By: long, Note: long})
		i := message.Item{Dependency: strings.Repeat("%F0", 64), Name: long + "!", State: recloser.Open, Since: start, Over: start, Why: why, Now: why}
		for _, k := range message.Kinds() {
			for _, n := range []int{1, 2, 12, 200} {
				m := message.Message{Kind: k, Of: 200, Us: true, Panel: "https://recloser.example"}
				for range n {
					m.Items = append(m.Items, i)
				}
				raw, err := Card(m)
				if err != nil {
					t.Fatal(err)
				}
				if got := asciiSize(raw); got > budget {
					t.Errorf("%d %s with %q: %d bytes, want at most %d", n, k, unit, got, budget)
				}
			}
		}
	}
}

// G17: 200 partners in one card: under 20 kB, "and 188 more".
func TestG17TwoHundredInOneCard(t *testing.T) {
	m := goldenMessages()["together"]
	one := m.Items[0]
	m.Items, m.Of = nil, 200
	for i := range 200 {
		one.Name = fmt.Sprintf("The Hotel With The Quite Long Name Number %d", i)
		m.Items = append(m.Items, one)
	}
	raw, err := Card(m)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw); !strings.Contains(text, "200 of 200 cut off") || !strings.Contains(text, "and 188 more") || len(raw) > budget {
		t.Errorf("%d bytes: %s", len(raw), text)
	}
}
