package maintenance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Bounds of what is kept for people.
const (
	longestText = 500
	mostNamed   = 1000 // dependencies, groups, labels
)

// Validate reports all that makes no sense, by field, and what to do.
func (w *Window) Validate() error {
	var f faults
	f.text("id", w.ID, true)
	f.text("name", w.Name, true)
	f.text("reason", w.Reason, true)
	f.text("by", w.By, true)
	if w.Effect != CutOff && w.Effect != NoMessages {
		f.add("effect", "%q is none: write %s or %s", w.Effect, CutOff, NoMessages)
	}
	if len(w.Dependencies)+len(w.Groups)+len(w.Labels) == 0 {
		f.add("dependencies", "nothing is selected: name dependencies, groups or labels; the group * is every dependency")
	}
	f.names("dependencies", w.Dependencies)
	f.names("groups", w.Groups)
	if len(w.Labels) > mostNamed {
		f.add("labels", "there are %d: at most %d", len(w.Labels), mostNamed)
	}
	for k, v := range w.Labels {
		f.text("labels", k, true)
		f.text("labels."+k, v, false)
	}
	w.validateTimes(&f)
	return errors.Join(f...)
}

func (w *Window) validateTimes(f *faults) {
	if w.Calendar == nil && w.From.IsZero() {
		f.add("from", "is missing: say when it begins, or give a calendar")
	}
	if w.Calendar == nil && w.To.IsZero() {
		f.add("to", "is missing: say when it ends; a cut without an end is an isolation")
	}
	if !w.From.IsZero() && !w.To.IsZero() && !w.From.Before(w.To) {
		f.add("to", "%s is not after from, %s: give a later one", w.To.Format(time.RFC3339), w.From.Format(time.RFC3339))
	}
	// JSON cannot write other years, and nobody could read the list any more. The
	// next occurrence comes within a week or so.
	if y := w.From.UTC().Year(); y < 0 || y > 9998 {
		f.add("from", "the year %d is out of range: give one up to 9998", y)
	}
	if y := w.To.UTC().Year(); y < 0 || y > 9999 {
		f.add("to", "the year %d is out of range: give one up to 9999", y)
	}
	if w.Calendar != nil {
		w.Calendar.validate(f)
	}
}

func (c *Calendar) validate(f *faults) {
	if len(c.Days) == 0 {
		f.add("calendar.days", "is missing: list the days on which it begins, such as mon, tue")
	}
	for i, d := range c.Days {
		if !slices.Contains(days[:], d) {
			f.add("calendar.days", "%q is no day: write %s", d, strings.Join(days[:], ", "))
		} else if slices.Contains(c.Days[:i], d) {
			f.add("calendar.days", "%s is listed twice: leave one out", d)
		}
	}
	if _, err := time.Parse(timeOfDay, c.From); err != nil || len(c.From) != len(timeOfDay) {
		f.add("calendar.from", "%q is no time of day: write it as 22:00", c.From)
	}
	if c.For < time.Minute || c.For > 24*time.Hour {
		f.add("calendar.for", "%s is out of range: from 1m to 24h", c.For)
	}
	if _, err := c.location(); err != nil {
		f.add("calendar.zone", "%q is no time zone: write a name such as Europe/Berlin, or UTC", c.Zone)
	}
}

// faults collects what is wrong.
type faults []error

func (f *faults) add(field, format string, values ...any) {
	*f = append(*f, fmt.Errorf("maintenance: %s: %s", field, fmt.Sprintf(format, values...)))
}

// text reports what would break a line of a log or a card, or is missing.
func (f *faults) text(field, s string, needed bool) {
	switch {
	case needed && strings.TrimSpace(s) == "":
		f.add(field, "is missing: write one")
	case len(s) > longestText:
		f.add(field, "has %d bytes: at most %d", len(s), longestText)
	case strings.ContainsFunc(s, unicode.IsControl):
		f.add(field, "has a line break or another control character in it: leave it out")
	}
}

func (f *faults) names(field string, names []string) {
	if len(names) > mostNamed {
		f.add(field, "there are %d: at most %d", len(names), mostNamed)
		return
	}
	for _, n := range names {
		f.text(field, n, true)
	}
}
