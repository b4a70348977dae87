package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

// slack sends to a Slack channel through an incoming webhook.
type slack struct{ *poster }

// What Slack takes in one message.
const (
	slackBlocks = 50
	slackHeader = 150  // characters
	slackText   = 3000 // characters of a section
)

// block is the union of the blocks used here.
type block struct {
	Type     string       `json:"type"`
	Text     *slackWords  `json:"text,omitempty"`
	Elements []slackThing `json:"elements,omitempty"`
}

type slackWords struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji *bool  `json:"emoji,omitempty"`
}

type slackThing struct {
	Type string      `json:"type"`
	Text *slackWords `json:"text"`
	URL  string      `json:"url"`
}

// Send posts m as blocks.
func (s slack) Send(ctx context.Context, m message.Message) error {
	body, err := Blocks(m)
	if err != nil {
		return &SendError{Permanent: true, Text: err.Error()}
	}
	return s.deliver(ctx, "", body, jsonHeader())
}

// Blocks returns the request body for a Slack webhook. Text by others in it is
// plain: in what Slack reads as its markup, & < > are escaped and what would be
// emphasis or code is kept apart by spaces of no width.
func Blocks(m message.Message) ([]byte, error) {
	_, mark := looks(m)
	title := mark + " " + m.Title()
	blocks := []block{{Type: "header", Text: plainWords(cut(title, slackHeader))}}
	markup := func(text string) {
		if len(blocks) < slackBlocks-1 { // one is for the links
			blocks = append(blocks, block{Type: "section", Text: &slackWords{Type: "mrkdwn", Text: text}})
		}
	}
	if h := m.Hint(); h != "" {
		markup("*" + slackOwn(h) + "*")
	}
	var lines strings.Builder
	if len(m.Items) == 1 {
		fmt.Fprintf(&lines, "%s\n", slackForeign(m.Items[0].Head()))
	} else {
		for n, i := range m.Items {
			name, text := i.Line(m.Kind, slackMoments())
			line := fmt.Sprintf("• *%s*  %s\n", slackForeign(name), text)
			if n == mostRows || lines.Len()+len(line) > slackText-40 {
				fmt.Fprintf(&lines, "and %d more\n", len(m.Items)-n)
				break
			}
			lines.WriteString(line)
		}
	}
	for _, f := range m.Facts(slackMoments()) {
		value := f.Value
		if f.Foreign {
			value = slackForeign(value)
		}
		fmt.Fprintf(&lines, "*%s*  %s\n", f.Name, value)
	}
	for _, part := range sections(lines.String()) {
		markup(part)
	}
	if links := m.Links(); len(links) > 0 {
		b := block{Type: "actions"}
		for _, l := range links {
			b.Elements = append(b.Elements, slackThing{Type: "button", Text: plainWords(l.Title), URL: l.URL})
		}
		blocks = append(blocks, b)
	}
	return json.Marshal(map[string]any{"text": slackForeign(m.Title()), "blocks": blocks, "unfurl_links": false, "unfurl_media": false})
}

// sections cuts lines into parts that fit into a section, which facts of 200 characters
// may need two of. A line that fits into none is cut anywhere.
func sections(text string) (parts []string) {
	for len(text) > slackText {
		end := strings.LastIndexByte(text[:slackText], '\n') + 1
		if end == 0 {
			for end = slackText; !utf8.RuneStart(text[end]); {
				end--
			}
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
	if text != "" {
		parts = append(parts, text)
	}
	return parts
}

func plainWords(s string) *slackWords {
	return &slackWords{Type: "plain_text", Text: s, Emoji: new(bool)}
}

var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slackOwn(s string) string { return slackEscapes.Replace(s) }

// Slack begins emphasis only at the edge of a word: a space of no width before the
// sign keeps it a sign. @ and # mean something only within < >.
var slackSigns = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "\u200b*\u200b", "_", "\u200b_\u200b", "~", "\u200b~\u200b", "`", "\u200b`\u200b", ":", ":\u200b",
)

func slackForeign(s string) string { return slackSigns.Replace(s) }

// slackMoments writes what Slack shows in the reader's time zone.
func slackMoments() message.Moments {
	date := func(format, otherwise string) func(time.Time) string {
		return func(t time.Time) string {
			return fmt.Sprintf("<!date^%d^%s|%s>", t.Unix(), format, t.UTC().Format(otherwise))
		}
	}
	return message.Moments{Date: date("{date_short_pretty}", "2006-01-02"), Time: date("{time_secs}", "15:04:05 UTC")}
}

// cut cuts a text at a number of characters.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
