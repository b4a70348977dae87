package alert

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxText is how many characters of a text by others a message holds, as
// UTF-16 counts them: an emoji is two. Cards have a size limit, and readers a
// short patience.
const maxText = 200

// tidy makes foreign text fit for one line: no control or direction characters
// that could hide or reorder what follows, and cut at maxText characters.
func tidy(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	length, cut := 0, 0
	for i, r := range s {
		if length += utf16.RuneLen(r); length < maxText {
			cut = i + utf8.RuneLen(r)
		}
	}
	if length > maxText {
		return s[:cut] + "…"
	}
	return s
}

var address = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^\s/"'@]*@)?([^\s/?#"'<>]*)[^\s"'<>]*`)

// withoutPaths reduces URLs in an error to scheme and host: the rest may hold
// guests' names and tokens, and a channel is read by many.
func withoutPaths(s string) string { return address.ReplaceAllString(s, "$1$2") }

// spell writes a duration for people: "800 ms", "5 s", "12 min 40 s", "2 h 5 min".
func spell(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(d, 0).Milliseconds())
	case d < 10*time.Second && d.Truncate(time.Second) != d.Truncate(100*time.Millisecond):
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return twoUnits(d, time.Minute, "min", time.Second, "s")
	default:
		return twoUnits(d, time.Hour, "h", time.Minute, "min")
	}
}

func twoUnits(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d %s", d/big, bigName)
	if rest := d % big / small; rest > 0 {
		s += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return s
}

// percent rounds down: it must not say 100 % while something was good.
func percent(part, whole uint64) uint64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

func plural(n uint64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
