package alert

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
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

// looks gives each news its colours and a mark, so that colour alone says nothing.
func looks(to recloser.State) (style, color, mark string) {
	switch to {
	case recloser.Open:
		return "attention", "attention", "■ ✕"
	case recloser.Isolated:
		return "warning", "warning", "◆ ✕"
	case recloser.HeldClosed:
		return "accent", "accent", "◇ ✓"
	case recloser.Closed, recloser.HalfOpen:
	}
	return "good", "good", "● ✓"
}

// Card returns the request body for a Teams webhook: an Adaptive Card 1.5. It
// is under 20 kB, as every text by others in it is cut.
//
// Text by others stands in RichTextBlocks only: they know no Markdown, whose
// escapes Teams shows differently on each platform. Text of our own stands in
// TextBlocks, which know the macros for moments in the reader's time zone.
func Card(m Message) ([]byte, error) {
	style, color, mark := looks(m.News.To)
	head := foreign(element{Text: m.Head(), Subtle: true, Size: "Small"})
	head.Spacing = "None"
	body := []element{{
		Type: "Container", Style: style, Bleed: true,
		Items: []element{{
			Type: "ColumnSet",
			Columns: []element{
				{Type: "Column", Width: "auto", Align: "Center", Items: []element{
					{Type: "TextBlock", Text: mark, Size: "Large", Color: color},
				}},
				{Type: "Column", Width: "stretch", Items: []element{
					foreign(element{Text: m.Title(), Weight: "Bolder", Size: "Large"}),
					head,
				}},
			},
		}},
	}}
	spacing := "Medium"
	for _, f := range m.Facts(teamsMoments()) {
		value := element{Type: "TextBlock", Text: f.Value, Wrap: true}
		if f.Foreign {
			value = foreign(element{Text: f.Value})
		}
		body = append(body, element{
			Type: "ColumnSet", Spacing: spacing,
			Columns: []element{
				{Type: "Column", Width: "96px", Items: []element{{Type: "TextBlock", Text: f.Name, Weight: "Bolder", Wrap: true}}},
				{Type: "Column", Width: "stretch", Items: []element{value}},
			},
		})
		spacing = "Small"
	}
	c := card{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.5",
		FallbackText: m.Title(), Body: body,
	}
	if m.Link != "" {
		c.Actions = []action{{Type: "Action.OpenUrl", Title: "See it on the status page", URL: m.Link}}
	}
	return json.Marshal(envelope{Type: "message", Attachments: []attachment{
		{ContentType: "application/vnd.microsoft.card.adaptive", Content: c},
	}})
}

// foreign makes a block in which run's text is shown as it is.
func foreign(run element) element {
	run.Type = "TextRun"
	run.Text = strings.ReplaceAll(run.Text, "{{", "{ {") // no macros of others
	return element{Type: "RichTextBlock", Inlines: []element{run}}
}

// teamsMoments writes the macros that Teams shows in the reader's time zone.
// They take whole seconds only.
func teamsMoments() Moments {
	macro := func(name, format string) func(time.Time) string {
		return func(t time.Time) string {
			return fmt.Sprintf("{{%s(%s%s)}}", name, t.UTC().Format("2006-01-02T15:04:05Z"), format)
		}
	}
	return Moments{Date: macro("DATE", ", SHORT"), Time: macro("TIME", "")}
}
