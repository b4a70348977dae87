package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// view is what the reader's terminal can show.
type view struct {
	colour, ascii bool
	width, height int // 0: no terminal
}

// cell is one entry of a table.
type cell struct {
	text   string
	colour string // an SGR parameter; "": none
}

// The colours, beside which there is always a word.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	faint  = "2"
)

// table writes cells in columns. What is not for a terminal is not cut.
type table struct {
	head []string
	rows [][]cell
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer, v view) error {
	widths := make([]int, len(t.head))
	rows := make([][]cell, 0, len(t.rows)+1)
	head := make([]cell, len(t.head))
	for i, title := range t.head {
		head[i] = cell{title, faint}
	}
	for _, row := range append([][]cell{head}, t.rows...) {
		clean := make([]cell, len(row))
		for i, c := range row {
			clean[i] = cell{v.line(c.text), c.colour} // others wrote it: it may not steer the terminal
			widths[i] = max(widths[i], utf8.RuneCountInString(clean[i].text))
		}
		rows = append(rows, clean)
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(v.row(row, widths) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// row writes cells in columns of these widths, cut to that of the terminal.
func (v view) row(row []cell, widths []int) string {
	var b strings.Builder
	left := v.width
	for i, c := range row {
		text := c.text
		if v.width > 0 {
			if left <= 0 {
				break
			}
			text = v.cut(text, left)
		}
		shown := utf8.RuneCountInString(text)
		left -= widths[i] + 2
		if c.colour != "" && v.colour && text != "" {
			text = "\x1b[" + c.colour + "m" + text + "\x1b[0m"
		}
		b.WriteString(text)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-min(shown, widths[i])+2))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// line makes any text fit for one line of this terminal.
func (v view) line(text string) string {
	text = plain.Line(text)
	if v.ascii {
		text = strings.Map(toASCII, text)
	}
	return text
}

// cut shortens a text to what there is room for.
func (v view) cut(text string, room int) string {
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	end := "…"
	if v.ascii {
		end = "~"
	}
	return string([]rune(text)[:max(0, room-1)]) + end
}

// toASCII gives each mark that is used here a stand-in, the demo's.
func toASCII(r rune) rune {
	switch r {
	case '●':
		return 'o'
	case '■':
		return 'x'
	case '◐':
		return '~'
	case '▲':
		return '!'
	case '✓':
		return '+'
	case '–', '—', '·':
		return '-'
	case '“', '”':
		return '"'
	case '\u202f':
		return ' '
	}
	if r > 126 {
		return '?'
	}
	return r
}

// mark is a state's shape and colour, as in the demo.
func mark(state string) cell {
	switch state {
	case "closed":
		return cell{"●", green}
	case "open", "isolated":
		return cell{"■", red}
	case "half-open":
		return cell{"◐", yellow}
	case "held-closed":
		return cell{"✓", blue}
	case "maintenance":
		return cell{"■", blue}
	}
	return cell{"▲", yellow}
}

// stateWords is a state with what it means for calls, such as "open: cut off".
func stateWords(state, effect string) string {
	if effect == "" {
		return state
	}
	return fmt.Sprintf("%s: %s", state, effect)
}
