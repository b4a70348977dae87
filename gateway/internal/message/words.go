package message

import (
	"fmt"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/plain"
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
		Time: func(t time.Time) string { return t.Local().Format("15:04:05") },
	}
}

func (at Moments) both(t time.Time) string { return at.Date(t) + " " + at.Time(t) }

// String writes the message as plain text: the title, and a line for each fact or
// each dependency.
func (m Message) String() string {
	var b strings.Builder
	b.WriteString(m.Title())
	if h := m.Hint(); h != "" {
		b.WriteString("\n  " + h)
	}
	if len(m.Items) == 1 {
		for _, f := range m.Items[0].Facts(m.Kind, Local()) {
			fmt.Fprintf(&b, "\n  %s: %s", f.Name, f.Value)
		}
		return b.String()
	}
	for n, i := range m.Items {
		if n == mostLines {
			fmt.Fprintf(&b, "\n  and %d more", len(m.Items)-n)
			break
		}
		name, text := i.Line(m.Kind, Local())
		fmt.Fprintf(&b, "\n  %s: %s", name, text)
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
	if len(m.Items) != 1 {
		n := len(m.Items)
		who := fmt.Sprintf("%d dependencies", n)
		if m.Of >= n {
			who = fmt.Sprintf("%d of %d", n, m.Of)
		}
		return who + " " + effects[m.Kind].many
	}
	return Tidy(m.Items[0].Name) + " " + effects[m.Kind].one
}

// effects are what a title says of one dependency, and of many.
var effects = map[Kind]struct{ one, many string }{
	Started:  {"is cut off", "cut off"},
	Ended:    {"is back", "are back"},
	Reminder: {"is still cut off", "are still cut off"},
	Flapping: {"keeps failing", "keep failing"},
	Calm:     {"is calm again", "are calm again"},
	Isolated: {"is cut off by hand", "cut off by hand"},
	Held:     {"is held closed", "held closed"},
	Released: {"is automatic again", "are automatic again"},
	Ending:   {"is automatic again soon", "are automatic again soon"},
	Endless:  {"is as it was set by hand still", "are as they were set by hand still"},
	Removed:  {"is no longer watched", "are no longer watched"},
}

// Hint says what many at once mean, "" if there is nothing to say. All of it is
// our own text.
func (m Message) Hint() string {
	switch {
	case m.Kind == Test:
		return "Nothing has happened: this shows that messages arrive here."
	case m.Us && m.Kind == Started:
		return "So many at once: look at your own network first (uplink, DNS, proxy, firewall). They come back by themselves."
	case m.Kind == Flapping:
		return "No more messages about this until it is calm for 15 min, but for reminders while it is cut off."
	}
	return ""
}

// Fact is one line about one dependency.
type Fact struct {
	Name  string
	Value string
	// Foreign: Value was written by others (an error, an operator's words), so
	// a channel must not read markup into it.
	Foreign bool
}

// Head names the dependency and its states, each with what it means for
// callers. It holds the dependency's id, which is foreign text.
func (i Item) Head() string {
	w := i.Why
	if !i.Over.IsZero() {
		w = i.Now
	}
	head := fmt.Sprintf("%s (%s)", i.State, i.State.Effect())
	if w.From != i.State && w.To == i.State {
		head = fmt.Sprintf("%s (%s) → %s", w.From, w.From.Effect(), head)
	}
	if i.Dependency != i.Name {
		head = Tidy(i.Dependency) + " · " + head
	}
	return head
}

// Line is one dependency among several: its name, which is foreign text, and a few
// words of our own.
func (i Item) Line(k Kind, at Moments) (name, text string) {
	switch k {
	case Ended, Removed:
		text = "was out " + plain.Span(i.Over.Sub(i.Since))
		if i.Spared > 0 {
			text += fmt.Sprintf(", %d %s spared", i.Spared, plural(i.Spared, "call", "calls"))
		}
	case Flapping:
		text = fmt.Sprintf("%d times within an hour", i.Trips)
	case Started, Reminder:
		text = "since " + at.Time(i.Since) + ", " + why(i.Why)
	case Isolated, Held, Ending, Endless:
		text = "until " + i.until(at)
	case Released, Calm, Test:
		text = i.State.Effect()
	}
	return Tidy(i.Name), text
}

// until says when an override ends.
func (i Item) until(at Moments) string {
	if i.Until.IsZero() {
		return "somebody releases it"
	}
	return at.both(i.Until)
}

// Facts says since when, why, what callers get meanwhile and what comes next.
func (i Item) Facts(k Kind, at Moments) []Fact {
	f := facts{at: at}
	switch k {
	case Started, Reminder, Flapping:
		f.add("Since", at.both(i.Since))
		f.began(i.Why)
		if k == Flapping {
			f.add("Cut off", fmt.Sprintf("%d times within an hour", i.Trips))
		}
		f.add("Callers get", "an answer at once: 503 and when to come back; asks go on without it")
		if k == Started && i.State == recloser.Open {
			f.add("Next trial", fmt.Sprintf("%s, after %s: one real call, by itself", at.Time(i.Why.At.Add(i.Why.OpenFor)), plain.Span(i.Why.OpenFor)))
		}
		f.spared(i)
	case Isolated, Held, Ending, Endless:
		f.add("Since", at.both(i.Since))
		f.began(i.Why)
		if i.State == recloser.HeldClosed {
			f.add("Callers get", "every call is let through, even while it fails or hangs")
		} else {
			f.add("Callers get", "an answer at once: 503; asks go on without it")
		}
		f.add("Until", i.until(at))
	case Released, Ended, Removed:
		was := "Was out"
		switch i.Why.To {
		case recloser.HeldClosed:
			was = "Was held"
		case recloser.Isolated:
			was = "Was isolated"
		case recloser.Closed, recloser.Open, recloser.HalfOpen:
		}
		f.add(was, fmt.Sprintf("%s, from %s to %s", plain.Span(i.Over.Sub(i.Since)), at.both(i.Since), at.Time(i.Over)))
		f.began(i.Why)
		if i.Trips > 1 {
			f.add("Cut off", fmt.Sprintf("%d times meanwhile", i.Trips))
		}
		if i.Now.Reason != "" {
			f.add("Now", why(i.Now))
			f.acted(i.Now)
		}
		f.spared(i)
	case Calm:
		f.add("Well since", at.both(i.Over))
	case Test:
	}
	return f.all
}

type facts struct {
	at  Moments
	all []Fact
}

func (f *facts) add(name, value string) { f.all = append(f.all, Fact{Name: name, Value: value}) }

func (f *facts) foreign(name, value string) {
	if value = Tidy(value); value != "" {
		f.all = append(f.all, Fact{name, value, true})
	}
}

// began says why what the message is about began.
func (f *facts) began(w Why) {
	if w.Reason != "" {
		f.add("Why", why(w))
	}
	f.foreign("Last error", w.Cause)
	f.acted(w)
}

// acted tells of the operator behind a transition, if there was one.
func (f *facts) acted(w Why) {
	f.foreign("By", w.By)
	f.foreign("Reason given", w.Note)
}

func (f *facts) spared(i Item) {
	if i.Spared == 0 {
		return
	}
	text := fmt.Sprintf("%d %s refused at once", i.Spared, plural(i.Spared, "call", "calls"))
	if i.Why.Counts.Slow > 0 { // else they would have failed, perhaps as quickly
		text += " instead of waiting"
	}
	f.add("Spared", text)
}

// why puts the reason of a transition into plain words.
func why(w Why) string {
	c := w.Counts
	switch w.Reason {
	case recloser.ReasonRate:
		return fmt.Sprintf("%d %% of the last %d calls were bad: %s", percent(c.Bad(), c.Judged()), c.Judged(), bad(c))
	case recloser.ReasonRun:
		return fmt.Sprintf("%d bad calls in a row; of the last %d calls: %d good, %s", c.Run, c.Judged(), c.Good, bad(c))
	case recloser.ReasonSuspected:
		return w.Text
	case recloser.ReasonUs:
		return fmt.Sprintf("of the last %d calls: %d good, %s; but other dependencies hang as well, so it may be us", c.Judged(), c.Good, bad(c))
	case recloser.ReasonProbe:
		return "probes of it failed"
	case recloser.ReasonFleet:
		if w.To == recloser.Closed {
			return "its trial calls, from whichever node, were good"
		}
		return "all nodes together: " + w.Text
	case recloser.ReasonWitness:
		return "a call that had seemed to hang was answered"
	case recloser.ReasonToldToWait:
		return fmt.Sprintf("it asked not to be called for %s", plain.Span(w.OpenFor))
	case recloser.ReasonTrialFailed:
		return "a trial call was bad"
	case recloser.ReasonTrialsGood:
		return "its trial calls were good"
	case recloser.ReasonTripped:
		return "an operator tripped it"
	case recloser.ReasonRestored:
		return "as it was before the restart"
	case recloser.ReasonIsolated:
		return "an operator cut it off"
	case recloser.ReasonHeldClosed:
		return "an operator lets all calls pass"
	case recloser.ReasonReset:
		return "an operator reset it"
	case recloser.ReasonReleased:
		return "an operator took the override back; by the rules it is " + w.To.Effect()
	case recloser.ReasonExpired:
		return "an operator's override ended; by the rules it is " + w.To.Effect()
	default:
		return string(w.Reason)
	}
}

// bad tells in which way calls were bad.
func bad(c recloser.Counts) string {
	switch {
	case c.Slow == 0:
		return fmt.Sprintf("%d failed", c.Failed)
	case c.Failed == 0:
		return fmt.Sprintf("%d too slow", c.Slow)
	default:
		return fmt.Sprintf("%d failed, %d too slow", c.Failed, c.Slow)
	}
}
