// Package fault writes for people what is wrong with a file.
package fault

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxPicture is how many characters of a line can be looked at.
const maxPicture = 300

// Detail returns message and, unless it is too long, below it the line that it is
// about with a caret under the column, which counts characters from 1.
func Detail(message, source string, column int) string {
	if strings.TrimSpace(source) == "" || utf8.RuneCountInString(source) > maxPicture {
		return message
	}
	before := []rune(source)
	before = before[:min(column-1, len(before))]
	indent := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r // as wide as the tab above it
		}
		return ' '
	}, string(before))
	return fmt.Sprintf("%s\n    %s\n    %s^", message, source, indent)
}

// MaxShown is how many faults Join tells of: more are hardly read at once.
const MaxShown = 50

// Join writes the first 50 faults, a line or more each, and says how many more
// there are.
func Join[F any](all []F, write func(F) string) string {
	var lines []string
	for _, f := range all[:min(len(all), MaxShown)] {
		lines = append(lines, write(f))
	}
	if more := len(all) - MaxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}
