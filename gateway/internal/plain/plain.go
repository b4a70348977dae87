// Package plain writes what programs know in a form for people.
package plain

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Span writes a duration in at most two units, rounded down: "800 ms", "1.5 s",
// "36 s", "12 min 40 s", "2 h 5 min", "3 d 2 h". One below zero is "0 s".
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second && d.Truncate(time.Second) != d.Truncate(100*time.Millisecond):
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return twoUnits(d, time.Minute, "min", time.Second, "s")
	case d < day:
		return twoUnits(d, time.Hour, "h", time.Minute, "min")
	default:
		return twoUnits(d, day, "d", time.Hour, "h")
	}
}

func twoUnits(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d %s", d/big, bigName)
	if rest := d % big / small; rest > 0 {
		s += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return s
}

// Line makes text by others fit for one line: without characters that control
// what is around them, such as ends of lines and changes of direction, which
// could hide or reorder what follows.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// Refused says that the config on disk is not in force, in a line: the first of what
// is wrong with it, and how much more is.
func Refused(fault string) string {
	first, more, _ := strings.Cut(fault, "\n")
	text := "The config on disk was refused, and the one before is in force: " + Line(first)
	if more != "" {
		text += fmt.Sprintf("; and %d more", 1+strings.Count(more, "\n"))
	}
	return text
}

// Because joins why something was cut off and the failure behind it, unless the one
// tells the other.
func Because(why, failure string) string {
	const suspicion = "longer than usual"
	switch {
	case strings.Contains(why, failure), strings.Contains(why, suspicion) && strings.Contains(failure, suspicion):
		return why
	case why == "":
		return failure
	}
	return why + ": " + failure
}
