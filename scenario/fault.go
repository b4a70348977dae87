package scenario

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/recloser-go/recloser/internal/fault"
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

// Detail returns Error and, unless it is too long, below it the line with a
// caret under the column.
func (f Fault) Detail() string { return fault.Detail(f.Error(), f.Source, f.Column) }

// Faults is everything that is wrong with a file, in the order of its lines.
type Faults []Fault

// Error returns one line for each of the first 50 faults, and says how many
// more there are.
func (f Faults) Error() string { return fault.Join(f, Fault.Error) }

// Detail is Error with the lines of the file, for people at a terminal.
func (f Faults) Detail() string { return fault.Join(f, Fault.Detail) }

func (f Faults) sort() {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
