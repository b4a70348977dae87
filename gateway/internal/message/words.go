package message

import (
	"fmt"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
)

// Moments is how a channel writes moments: the reader may be in another time
// zone than this process.
type Moments struct {
	Date, Time func(time.Time) string
}

// Local writes moments in the zone of this process.
func Local() Moments {
	return Moments{
		Date: func(t time.Time) string { return t.Local().Format("2006-01-02") },
		Time: func(t time.Time) string { return t.Local().Format("15:04:05 MST") },
	}
}

func (at Moments) both(t time.Time) string { return at.Date(t) + " " + at.Time(t) }

// String writes the message as plain text: the title, a line for each dependency if
// there are several, and a line for each fact.
func (m Message) String() string {
	var b strings.Builder
	b.WriteString(m.Title())
	if h := m.Hint(); h != "" {
		b.WriteString("\n  " + h)
	}
	if len(m.Items) > 1 {
		for n, i := range m.Items {
			if n == mostLines {
				fmt.Fprintf(&b, "\n  and %d more", len(m.Items)-n)
				break
			}
			name, text := i.Line(m.Kind, Local())
			fmt.Fprintf(&b, "\n  %s: %s", name, text)
		}
	}
	for _, f := range m.Facts(Local()) {
		fmt.Fprintf(&b, "\n  %s: %s", f.Name, f.Value)
	}
	for _, l := range m.Links() {
		fmt.Fprintf(&b, "\n  %s: %s", strings.TrimSuffix(l.Title, "…"), l.URL)
	}
	return b.String()
}

// mostLines is how many dependencies a plain text names.
const mostLines = 12

// Title says in a few words what happened. A dependency's name in it is foreign
// text.
func (m Message) Title() string {
	if m.Kind == Test {
		return "A test of Recloser's alerts"
	}
	words := m.words()
	if len(m.Items) != 1 {
		n := len(m.Items)
		who := fmt.Sprintf("%d dependencies", n)
		if m.Of >= n {
			who = fmt.Sprintf("%d of %d", n, m.Of)
		}
		return who + " " + words.many
	}
	return Tidy(m.Items[0].Name) + " " + words.one
}

// Passes reports whether all it is about pass calls.
func (m Message) Passes() bool {
	for _, i := range m.Items {
		if i.State != recloser.Closed {
			return false
		}
	}
	return true
}

// effect is what a title says of one dependency, and of many, and what is to be done
// then; in that %s stands for it or them.
type effect struct{ one, many, do string }

var (
	effects = map[Kind]effect{
		Started:  {"is cut off", "cut off", "nothing here: trials and the way back come by themselves. Tell whoever runs %s"},
		Ended:    {"is back", "are back", ""},
		Reminder: {"is still cut off", "are still cut off", "ask whoever runs %[1]s when that ends. Isolate %[1]s until then if there should be no trials"},
		Flapping: {"keeps failing", "keep failing", "isolate %s until the cause is mended: every way back so far has failed again"},
		Calm:     {"is calm again", "are calm again", ""},
		Isolated: {"is cut off by hand", "cut off by hand", "nothing: somebody meant it so. Whoever may can put %s back on the panel at any time"},
		Held:     {"is held closed", "held closed", "keep an eye on %s: nothing is cut off meanwhile, whatever fails or hangs"},
		Released: {"is automatic again", "are automatic again", ""},
		Ending:   {"is automatic again soon", "are automatic again soon", "give %s a later end on the panel if it is needed longer"},
		Endless:  {"is still set by hand", "are still set by hand", "put %[1]s back on the panel, or give %[1]s an end"},
		Removed:  {"is no longer watched", "are no longer watched", ""},
	}
	// shadows are of what passes calls all the same.
	shadows = map[Kind]effect{
		Started:  {"would be cut off (shadow)", "would be cut off (shadow)", doInShadow},
		Ended:    {"would be back (shadow)", "would be back (shadow)", ""},
		Reminder: {"would still be cut off (shadow)", "would still be cut off (shadow)", doInShadow},
		Flapping: {"would be cut off again and again (shadow)", "would be cut off again and again (shadow)", doInShadow},
	}
	// passed is of what was cut off when that was due to be told, and is not any more.
	passed = effect{"was cut off", "were cut off", "nothing here: calls pass again. You get one more message when that has lasted"}
)

const doInShadow = "nothing here: shadow mode lets every call through. See whether they fail or hang as it says: that is how settings are tried"

// words are the message's.
func (m Message) words() effect {
	words, ok := shadows[m.Kind]
	switch {
	case ok && m.shadow():
		return words
	case m.Kind == Started && m.Passes():
		return passed
	}
	return effects[m.Kind]
}

// shadow reports whether all it is about pass calls, whatever the rules say.
func (m Message) shadow() bool {
	for _, i := range m.Items {
		if !i.Shadow {
			return false
		}
	}
	return len(m.Items) > 0
}

// advice says what the reader is to do, "" if nothing.
func (m Message) advice() string {
	if do := m.words(); m.us() && do == effects[Started] {
		return "" // the hint says it
	}
	do := m.words().do
	if !strings.Contains(do, "%") {
		return do
	}
	return fmt.Sprintf(do, plural(uint64(len(m.Items)), "it", "them"))
}

// us reports whether the reader is to look at our own network.
func (m Message) us() bool { return m.Us && m.Kind == Started }

// Hint says what many at once mean, "" if there is nothing to say. All of it is
// our own text.
func (m Message) Hint() string {
	switch {
	case m.Kind == Test:
		return "Nothing has happened: this shows that messages arrive here."
	case m.us():
		what, back := "So many at once: look at your own network first", "They come back by themselves."
		if len(m.Items) == 1 {
			what, back = "Others hang as well: look at your own network first", "It comes back by itself."
		}
		if m.Nodes > 1 {
			what = fmt.Sprintf("Calls of all %d nodes fail to half of what they call: look first at what they share", m.Nodes)
		}
		return what + " (uplink, DNS, proxy, firewall). " + back
	case m.Kind == Flapping:
		return "No more messages about this until it is calm for 15 min, but for reminders while it is cut off."
	}
	return ""
}
