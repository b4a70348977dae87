package channel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// envelope is what a Workflows webhook takes.
type envelope struct {
	Type        string       `json:"type"`
	Attachments []attachment `json:"attachments"`
}

type attachment struct {
	ContentType string `json:"contentType"`
	Content     card   `json:"content"`
}

type card struct {
	Schema       string    `json:"$schema"`
	Type         string    `json:"type"`
	Version      string    `json:"version"`
	FallbackText string    `json:"fallbackText"`
	Body         []element `json:"body"`
	Actions      []action  `json:"actions,omitempty"`
}

// element is the union of the card elements used here.
type element struct {
	Type    string    `json:"type"`
	Text    string    `json:"text,omitempty"`
	Weight  string    `json:"weight,omitempty"`
	Size    string    `json:"size,omitempty"`
	Color   string    `json:"color,omitempty"`
	Subtle  bool      `json:"isSubtle,omitempty"`
	Wrap    bool      `json:"wrap,omitempty"`
	Style   string    `json:"style,omitempty"`
	Bleed   bool      `json:"bleed,omitempty"`
	Width   string    `json:"width,omitempty"`
	Spacing string    `json:"spacing,omitempty"`
	Align   string    `json:"verticalContentAlignment,omitempty"`
	Inlines []element `json:"inlines,omitempty"`
	Columns []element `json:"columns,omitempty"`
	Items   []element `json:"items,omitempty"`
}

type action struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// looks gives each kind of news a colour, by the name of both a style and a text's
// colour, and a mark, so that colour alone says nothing.
func looks(m message.Message) (color, mark string) {
	const cutOff, isolated, held, passing, onTrial, nothing = "■ ✕", "◆ ✕", "◇ ✓", "● ✓", "◐", "○"
	switch m.Kind {
	case message.Started, message.Reminder, message.Flapping:
		if m.Kind != message.Started || !m.Passes() {
			return "attention", cutOff
		}
	case message.Isolated:
		return "warning", isolated
	case message.Held:
		return "accent", held
	case message.Ending, message.Endless:
		if len(m.Items) > 0 && m.Items[0].State == recloser.HeldClosed {
			return "accent", held
		}
		return "warning", isolated
	case message.Released:
		if !m.Passes() {
			return "accent", onTrial
		}
	case message.Test, message.Removed:
		return "accent", nothing
	case message.Ended, message.Calm:
	}
	return "good", passing
}

// budget is how many bytes a card may have. Teams takes 28 kB, counted after it has
// encoded the card again.
const budget = 20_000

// Card returns the request body for a Teams webhook: an Adaptive Card 1.5 of less
// than 20 kB. Every text by others in it is cut, and of many dependencies as many
// are named as fit.
//
// Text by others stands in RichTextBlocks only: they know no Markdown, whose
// escapes Teams shows differently on each platform. Text of our own stands in
// TextBlocks, which know the macros for moments in the reader's time zone.
func Card(m message.Message) ([]byte, error) {
	body := []element{head(m)}
	if h := m.Hint(); h != "" {
		body = append(body, element{Type: "TextBlock", Text: h, Wrap: true, Weight: "Bolder", Spacing: "Medium"})
	}
	var rows []element
	if len(m.Items) > 1 {
		rows = rowsOf(m)
	}
	shown := len(rows)
	for {
		all := append(slices.Clip(body), rows[:shown]...)
		if more := len(m.Items) - shown; more > 0 && len(rows) > 0 {
			all = append(all, element{Type: "TextBlock", Text: fmt.Sprintf("and %d more", more), Wrap: true, Subtle: true, Spacing: "Small"})
		}
		raw, err := encode(m, append(all, factsOf(m)...))
		size := asciiSize(raw)
		if err != nil || size <= budget || shown == 0 {
			return raw, err
		}
		shown = min(shown-1, shown*budget/size)
	}
}

// mostRows is how many dependencies a card names: more are hard to read.
const mostRows = 12

func head(m message.Message) element {
	color, mark := looks(m)
	items := []element{foreign(element{Text: m.Title(), Weight: "Bolder", Size: "Large"})}
	if len(m.Items) == 1 {
		sub := foreign(element{Text: m.Items[0].Head(), Subtle: true, Size: "Small"})
		sub.Spacing = "None"
		items = append(items, sub)
	}
	return element{
		Type: "Container", Style: color, Bleed: true,
		Items: []element{{
			Type: "ColumnSet",
			Columns: []element{
				{Type: "Column", Width: "auto", Align: "Center", Items: []element{
					{Type: "TextBlock", Text: mark, Size: "Large", Color: color},
				}},
				{Type: "Column", Width: "stretch", Items: items},
			},
		}},
	}
}

// factsOf is a line for each fact.
func factsOf(m message.Message) []element {
	var all []element
	spacing := "Medium"
	for _, f := range m.Facts(teamsMoments()) {
		value := element{Type: "TextBlock", Text: f.Value, Wrap: true}
		if f.Foreign {
			value = foreign(element{Text: f.Value})
		}
		all = append(all, element{
			Type: "ColumnSet", Spacing: spacing,
			Columns: []element{
				{Type: "Column", Width: "96px", Items: []element{{Type: "TextBlock", Text: f.Name, Weight: "Bolder", Wrap: true}}},
				{Type: "Column", Width: "stretch", Items: []element{value}},
			},
		})
		spacing = "Small"
	}
	return all
}

// rowsOf is a line for each of many items, as far as they are named.
func rowsOf(m message.Message) []element {
	var all []element
	for _, i := range m.Items[:min(len(m.Items), mostRows)] {
		name, text := i.Line(m.Kind, teamsMoments())
		all = append(all, element{
			Type: "ColumnSet", Spacing: "Small",
			Columns: []element{
				{Type: "Column", Width: "2", Items: []element{foreign(element{Text: name, Weight: "Bolder"})}},
				{Type: "Column", Width: "3", Items: []element{{Type: "TextBlock", Text: text, Wrap: true}}},
			},
		})
	}
	return all
}

func encode(m message.Message, body []element) ([]byte, error) {
	c := card{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.5",
		FallbackText: m.Title(), Body: body,
	}
	for _, l := range m.Links() {
		c.Actions = append(c.Actions, action{Type: "Action.OpenUrl", Title: l.Title, URL: l.URL})
	}
	return json.Marshal(envelope{Type: "message", Attachments: []attachment{
		{ContentType: "application/vnd.microsoft.card.adaptive", Content: c},
	}})
}

// asciiSize is the size of JSON once it is encoded as ASCII.
func asciiSize(raw []byte) int {
	n := 0
	for _, r := range string(raw) {
		if r < utf8.RuneSelf {
			n++
		} else {
			n += len(`\u0000`) * utf16.RuneLen(r)
		}
	}
	return n
}

// foreign makes a block in which run's text is shown as it is.
func foreign(run element) element {
	run.Type = "TextRun"
	run.Text = strings.ReplaceAll(run.Text, "{{", "{ {") // no macros of others
	return element{Type: "RichTextBlock", Inlines: []element{run}}
}

// teamsMoments writes the macros that Teams shows in the reader's time zone.
// They take whole seconds only.
func teamsMoments() message.Moments {
	macro := func(name, format string) func(time.Time) string {
		return func(t time.Time) string {
			return fmt.Sprintf("{{%s(%s%s)}}", name, t.UTC().Format("2006-01-02T15:04:05Z"), format)
		}
	}
	return message.Moments{Date: macro("DATE", ", SHORT"), Time: macro("TIME", "")}
}
