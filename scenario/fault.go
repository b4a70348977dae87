package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fault is one thing that is wrong with how a file is written.
type Fault struct {
	File         string
	Line, Column int    // from 1; the column counts characters
	What         string // what is wrong
	Do           string // what to do about it; "" if What says so already
	Source       string // the line as written
}

// Error returns "file:line:column: what is wrong; what to do".
func (f Fault) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.What)
	if f.Do != "" {
		s += "; " + f.Do
	}
	return s
}

// maxPicture is how many characters of a line can be looked at.
const maxPicture = 300

// Detail returns Error and, unless it is too long, below it the line with a
// caret under the column.
func (f Fault) Detail() string {
	if strings.TrimSpace(f.Source) == "" || utf8.RuneCountInString(f.Source) > maxPicture {
		return f.Error()
	}
	before := []rune(f.Source)
	before = before[:min(f.Column-1, len(before))]
	indent := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r // as wide as the tab above it
		}
		return ' '
	}, string(before))
	return fmt.Sprintf("%s\n    %s\n    %s^", f.Error(), f.Source, indent)
}

// Faults is everything that is wrong with a file, in the order of its lines.
type Faults []Fault

// maxShown is how many faults are told: more are hardly read at once.
const maxShown = 50

// Error returns one line for each of the first 50 faults, and says how many
// more there are.
func (f Faults) Error() string { return f.join(Fault.Error) }

// Detail is Error with the lines of the file, for people at a terminal.
func (f Faults) Detail() string { return f.join(Fault.Detail) }

func (f Faults) join(write func(Fault) string) string {
	var lines []string
	for _, fault := range f[:min(len(f), maxShown)] {
		lines = append(lines, write(fault))
	}
	if more := len(f) - maxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

func (f Faults) sort() {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
