package demo

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// look is how a piece of text stands out. Nothing is said by a look alone: a
// mark or a word always says it too.
type look string

// The looks, as parameters of the terminal's "select graphic rendition". Only
// the sixteen colours that every theme sets are used.
const (
	plain     look = ""
	bold      look = "1"
	dim       look = "2"
	good      look = "36"
	bad       look = "31"
	trying    look = "34"
	goodTitle look = "1;36"
	badTitle  look = "1;31"
)

// span is a piece of text with one look.
type span struct {
	text string
	look look
}

// line is one line of text. Every rune in it is one column wide.
type line []span

func words(text string) line { return line{{text, plain}} }

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += utf8.RuneCountInString(s.text)
	}
	return n
}

// fit makes the line exactly that wide.
func (l line) fit(width int) line {
	if free := width - l.width(); free >= 0 {
		return l.with(line{{strings.Repeat(" ", free), plain}})
	}
	var cut line
	for _, s := range l {
		if width <= 0 {
			break
		}
		runes := []rune(s.text)
		if len(runes) >= width {
			return append(cut, span{string(runes[:width-1]) + "…", s.look})
		}
		cut = append(cut, s)
		width -= len(runes)
	}
	return cut
}

// with returns the line followed by other.
func (l line) with(other line) line { return append(slices.Clip(l), other...) }

// right returns the line with other at the right edge of that width.
func (l line) right(other line, width int) line {
	return l.fit(max(0, width-other.width())).with(other)
}

// paragraph breaks text into lines of at most that width, the first behind a
// mark and the others as far to the right.
func paragraph(mark line, text string, l look, width int) []line {
	var lines []line
	for _, part := range wrap(text, width-mark.width()) {
		lines = append(lines, mark.with(line{{part, l}}))
		mark = line{}.fit(mark.width())
	}
	return lines
}

// wrap breaks text at spaces into lines of at most that width; a longer word
// stands alone. Seconds stay with their number.
func wrap(text string, width int) []string {
	var words, lines []string
	for word := range strings.FieldsSeq(text) {
		if n := len(words); n > 0 && strings.TrimRight(word, ".,:;") == "s" {
			words[n-1] += " " + word
		} else {
			words = append(words, word)
		}
	}
	for _, word := range words {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// style is what the reader's terminal can show.
type style struct {
	colour bool
	ascii  bool
}

// encode writes the line for the terminal.
func (s style) encode(l line) string {
	var b strings.Builder
	for _, part := range l {
		if s.colour && part.look != plain {
			b.WriteString("\x1b[" + string(part.look) + "m" + part.text + "\x1b[0m")
		} else {
			b.WriteString(part.text)
		}
	}
	text := strings.TrimRight(b.String(), " ")
	if s.ascii {
		text = strings.Map(toASCII, text)
	}
	return text
}

// toASCII gives every mark that is used here a stand-in.
func toASCII(r rune) rune {
	switch r {
	case markWell:
		return 'o'
	case markCutOff, markBroken:
		return 'x'
	case markTrial:
		return '~'
	case markTrouble:
		return '!'
	case markHeld:
		return '+'
	case '▁', '▂', '▃':
		return '.'
	case '▄', '▅', '▆':
		return ':'
	case '▇', '█':
		return '#'
	case '━':
		return '='
	case '─', '–', '·', '…':
		return '-'
	case '│':
		return '|'
	case '→':
		return '>'
	}
	if r > 126 {
		return '?'
	}
	return r
}

// The marks of states: shape and colour say the same.
const (
	markWell    = '●'
	markTrial   = '◐'
	markCutOff  = '■'
	markTrouble = '▲'
	markHeld    = '✓'
	markBroken  = '✗'
)
