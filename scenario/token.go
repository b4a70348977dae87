package scenario

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

type kind uint8

const (
	eol    kind = iota // the end of the line
	word               // letters, digits and whatever else is none of the below
	quoted             // in double quotes
	sign               // one of signs
)

// token is a piece of a line.
type token struct {
	kind       kind
	text       string // without the quotes
	start, end int    // bytes of the line
}

// longer signs first
var signs = []string{"->", "<=", ">=", "=>", "=<", "==", "≤", "≥", "<", ">", "=", ":", ",", ";"}

// meant are the signs to write for those that only look like one.
var meant = map[string]string{"=>": ">=", "=<": "<=", "==": "=", "≤": "<=", "≥": ">="}

// lex cuts a line into tokens, up to its comment. The last one is of kind eol;
// ok is false if a quote is not closed, which is then where that one is.
func lex(line string) (tokens []token, ok bool) {
	i := 0
	for i < len(line) {
		rest := line[i:]
		switch rest[0] {
		case ' ', '\t':
			i++
			continue
		case '#':
			return append(tokens, token{eol, "", i, i}), true
		case '"':
			n := strings.IndexByte(rest[1:], '"')
			if n < 0 {
				return append(tokens, token{eol, "", i, i}), false
			}
			tokens = append(tokens, token{quoted, rest[1 : 1+n], i, i + n + 2})
		default:
			n, k := wordLength(rest), word
			if n == 0 {
				n, k = len(signAt(rest)), sign
			}
			tokens = append(tokens, token{k, rest[:n], i, i + n})
		}
		i = tokens[len(tokens)-1].end
	}
	return append(tokens, token{eol, "", i, i}), true
}

func wordLength(s string) int {
	for i := range len(s) {
		if strings.IndexByte(" \t#\"", s[i]) >= 0 || signAt(s[i:]) != "" {
			return i
		}
	}
	return len(s)
}

func signAt(s string) string {
	for _, known := range signs {
		if strings.HasPrefix(s, known) {
			return known
		}
	}
	return ""
}

// column returns where in the line a token begins, in characters from 1.
func column(line string, t token) int { return 1 + utf8.RuneCountInString(line[:t.start]) }

// maxTime is how long a scenario may last: more is a slip of the pen.
const maxTime = 366 * 24 * time.Hour

// duration reads a duration of at least zero.
func duration(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0 && d <= maxTime
}

// number reads a number of at least zero.
func number(s string) (float64, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && n <= 1e15
}
