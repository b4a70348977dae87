// Package maintenance cuts dependencies off by plan: at once, once, or by a
// calendar rule, and lets them pass again when the time is over.
//
// A Window says which dependencies, when and why. The Runner isolates and
// releases by the clock. What an operator has set by hand is his: it stays.
package maintenance

import (
	"slices"
	"time"
)

// everyone is the group that all dependencies belong to.
const everyone = "*"

// Effect is what a window does to its dependencies.
type Effect string

// The effects.
const (
	CutOff     Effect = "cut-off"     // they are isolated; nobody gets messages about them either
	NoMessages Effect = "no-messages" // they go on; only nobody gets messages about them
)

// Window is a planned isolation. It is plain data, and its JSON is stable; see
// Validate for what makes sense.
type Window struct {
	ID   string `json:"id"`
	Name string `json:"name"` // for people, and in the notes of what it does

	// A dependency belongs to it that is named here, or is in one of the groups,
	// or has all of the labels. Group "*" is every one.
	Dependencies []string          `json:"dependencies,omitempty"`
	Groups       []string          `json:"groups,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`

	// Without Calendar it lasts from From to To. With it From and To bound the
	// rule: it begins at no time before From, and ends by To; zero is no bound.
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Calendar *Calendar `json:"calendar,omitempty"`

	Effect  Effect    `json:"effect"`
	Reason  string    `json:"reason"`
	By      string    `json:"by"`
	Created time.Time `json:"created,omitzero"`

	// Released names the dependencies that an operator has let pass again while it
	// lasted, and when he did. It holds for the occurrence in which that was. The
	// Runner keeps it; whoever changes a window leaves it as it is.
	Released map[string]time.Time `json:"released,omitempty"`
}

// Calendar is a rule by which a window comes again: on these days, at that time
// of day, for so long. What it says is local to a time zone, whose changes of
// the clock it follows: a time that is left out begins when the clock has gone
// forward, and one that comes twice begins the first time. For is real time.
type Calendar struct {
	Days []string      `json:"days"` // on which it begins: "mon", "tue", "wed", "thu", "fri", "sat", "sun"
	From string        `json:"from"` // time of day, "22:00"
	For  time.Duration `json:"for"`  // nanoseconds; from 1 min to 24 h
	Zone string        `json:"zone"` // IANA name, "Europe/Berlin"; "" is UTC
}

// Target is a dependency, as far as a window can select it.
type Target struct {
	ID     string
	Group  string
	Labels map[string]string
}

// Occurrence is one time that a window lasts: From included, To not.
type Occurrence struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

func (o Occurrence) lasts(now time.Time) bool { return !now.Before(o.From) && now.Before(o.To) }

// Covers reports whether a dependency belongs to the window.
func (w *Window) Covers(t Target) bool {
	return slices.Contains(w.Dependencies, t.ID) ||
		slices.Contains(w.Groups, everyone) || t.Group != "" && slices.Contains(w.Groups, t.Group) ||
		len(w.Labels) > 0 && w.labelled(t)
}

func (w *Window) labelled(t Target) bool {
	for k, v := range w.Labels {
		if have, ok := t.Labels[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// Active returns when the occurrence that lasts at now began and ends. It reports
// false if there is none.
func (w *Window) Active(now time.Time) (from, to time.Time, ok bool) {
	from, to, ok = w.Next(now)
	return from, to, ok && !now.Before(from)
}

// Next returns the occurrence that lasts at now or else is the next one. It
// reports false if there is none any more.
func (w *Window) Next(now time.Time) (from, to time.Time, ok bool) {
	next := w.Occurrences(now, 1)
	if len(next) == 0 {
		return from, to, false
	}
	return next[0].From, next[0].To, true
}

// mostOccurrences is how many are computed at once.
const mostOccurrences = 100

// Occurrences returns the next n that have not ended at now, at most 100.
func (w *Window) Occurrences(now time.Time, n int) []Occurrence {
	if w.Calendar != nil {
		return w.Calendar.occurrences(w.From, w.To, now, min(n, mostOccurrences))
	}
	if n < 1 || !now.Before(w.To) {
		return nil
	}
	return []Occurrence{{w.From, w.To}}
}
