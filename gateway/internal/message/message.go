// Package message holds what people are told: facts that can be kept on disk, and
// the words for them. A channel writes them in its own form.
package message

import (
	"cmp"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
)

// Kind says what a message is about.
type Kind string

// The kinds.
const (
	Started  Kind = "started"  // dependencies were cut off
	Ended    Kind = "ended"    // they are back, and have stayed so
	Reminder Kind = "reminder" // they are still cut off
	Flapping Kind = "flapping" // they are cut off again and again: no more about them until they are calm
	Calm     Kind = "calm"     // they have been well for a while after that
	Isolated Kind = "isolated" // an operator cut them off
	Held     Kind = "held"     // an operator lets all calls pass
	Released Kind = "released" // what an operator set is over
	Ending   Kind = "ending"   // what an operator set is over soon
	Endless  Kind = "endless"  // it has no end, and is in force still
	Removed  Kind = "removed"  // they are no longer watched
	Test     Kind = "test"     // somebody pressed the button
)

// Kinds lists all of them.
func Kinds() []Kind {
	return []Kind{Started, Ended, Reminder, Flapping, Calm, Isolated, Held, Released, Ending, Endless, Removed, Test}
}

// byHand reports whether it is about what an operator has set.
func (k Kind) byHand() bool {
	switch k {
	case Isolated, Held, Released, Ending, Endless:
		return true
	case Started, Ended, Reminder, Flapping, Calm, Removed, Test:
	}
	return false
}

// Overtakes reports whether news of this kind about a dependency makes what was to be
// told of it before stale: the end of an incident tells its beginning too, but not what
// an operator has set meanwhile.
func (k Kind) Overtakes(before Kind) bool {
	switch {
	case k == Test || before == Test:
		return false
	case k == Removed:
		return true
	}
	return k.byHand() == before.byHand()
}

// Message is one piece of news, about one dependency or several.
type Message struct {
	ID    string    `json:"id"` // its own; a message that is sent again keeps it
	Kind  Kind      `json:"kind"`
	At    time.Time `json:"at"`
	Items []Item    `json:"items"`
	Of    int       `json:"of"`              // dependencies that the reader is told about, in all
	Us    bool      `json:"us,omitempty"`    // so many at once that it may be our own network
	Nodes int       `json:"nodes,omitempty"` // of Us: so it is at all nodes, this many; 0: not, or it is not known
	By    string    `json:"by,omitempty"`    // of a test: who asked for it
	Panel string    `json:"panel,omitempty"` // address of the panel; "": there are no links
}

// Item is what a message says of one dependency. Texts by others in it are as they
// came: a channel must not read markup into them.
type Item struct {
	Key        string         `json:"key,omitempty"` // of the incident or the override, the same from its start to its end
	Dependency string         `json:"dependency"`
	Name       string         `json:"name"`
	Group      string         `json:"group,omitempty"`
	State      recloser.State `json:"state"`            // at the moment of the message
	Shadow     bool           `json:"shadow,omitempty"` // its calls pass, whatever the rules say
	Since      time.Time      `json:"since"`            // when what it is about began
	Over       time.Time      `json:"over,omitzero"`
	Trips      int            `json:"trips,omitempty"`      // in the incident; of a flapping: incidents in the last hour
	Spared     uint64         `json:"spared,omitempty"`     // calls refused meanwhile
	Next       time.Time      `json:"next,omitzero"`        // of one that is cut off by the rules: its next trial
	LastKnown  time.Duration  `json:"last_known,omitempty"` // callers of some routes get the last good answer that is no older, if there is one; 0: none do
	Seen       fleet.Seen     `json:"seen,omitzero"`        // which nodes have seen it fail
	Why        Why            `json:"why,omitzero"`         // it began
	Now        Why            `json:"now,omitzero"`         // it is over
	Until      time.Time      `json:"until,omitzero"`       // of an override: its end; zero: it has none
}

// Why is the part of a transition that tells its reason.
type Why struct {
	From    recloser.State  `json:"from"`
	To      recloser.State  `json:"to"`
	At      time.Time       `json:"at"`
	Reason  recloser.Reason `json:"reason"`
	Shadow  bool            `json:"shadow,omitempty"` // calls passed all the same
	Counts  recloser.Counts `json:"counts,omitzero"`
	Limits  Limits          `json:"limits,omitzero"` // of a trip: those that it rests on
	OpenFor time.Duration   `json:"open_for,omitempty"`
	Text    string          `json:"text,omitempty"` // the engine's own words, where they tell more, or those of the nodes together
	Cause   string          `json:"cause,omitempty"`
	By      string          `json:"by,omitempty"`
	Note    string          `json:"note,omitempty"`
}

// ReasonApart is of what nodes of a fleet cut off each by its own rules, and others do not.
// The transition's note names them.
const ReasonApart recloser.Reason = "apart"

// Limits are what calls are measured by.
type Limits struct {
	Rate   float64       `json:"rate,omitempty"`   // share of bad calls; 0: none
	Row    int           `json:"row,omitempty"`    // bad calls in a row; 0: none
	Slow   time.Duration `json:"slow,omitempty"`   // until a call must be answered; 0: any time
	Window time.Duration `json:"window,omitempty"` // how far back calls count
}

// LimitsOf returns the limits of a breaker with that config.
func LimitsOf(c recloser.Config) Limits {
	c = c.WithDefaults()
	return Limits{Rate: max(c.FailureRate, 0), Row: max(c.Consecutive, 0), Slow: max(c.SlowCall, 0), Window: c.Window}
}

// WhyOf returns what is told of a transition. The cause is cut: an error may bring
// a whole page with it.
func WhyOf(t recloser.Transition) Why {
	w := Why{From: t.From, To: t.To, At: t.At, Reason: t.Reason, Shadow: t.Shadow, Counts: t.Counts, OpenFor: t.OpenFor, By: t.By, Note: t.Note}
	if t.Reason == recloser.ReasonSuspected {
		w.Text = t.Why()
	}
	if t.Reason == recloser.ReasonFleet || t.Reason == ReasonApart {
		w.Text, w.Note = Tidy(withoutPaths(t.Note)), "" // it is no operator's
	}
	if t.Cause != nil {
		w.Cause = Tidy(withoutPaths(t.Cause.Error()))
	}
	return w
}

// For returns the part of a message that is about the items that f takes, and
// reports whether there is one.
func (m Message) For(f func(Item) bool) (Message, bool) {
	if m.Kind == Test {
		return m, true
	}
	all := m.Items
	m.Items = nil
	for _, i := range all {
		if f(i) {
			m.Items = append(m.Items, i)
		}
	}
	return m, len(m.Items) > 0
}

// Merge adds a later message of the same kind.
func (m Message) Merge(later Message) Message {
	m.Items = slices.Concat(m.Items, later.Items)
	m.Us = m.Us || later.Us || m.Kind == Started && Many(len(m.Items), m.Of)
	m.Nodes = max(m.Nodes, later.Nodes)
	m.Of = max(m.Of, later.Of)
	m.At = slices.MaxFunc([]time.Time{m.At, later.At}, time.Time.Compare)
	m.By = cmp.Or(m.By, later.By)
	return m
}

// Many reports whether so many dependencies of so many at once look like a trouble
// of our own: half or more, and at least three.
func Many(n, of int) bool { return n >= 3 && 2*n >= of }
