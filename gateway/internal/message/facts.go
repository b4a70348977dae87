package message

import (
	"fmt"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// Fact is one line about a message.
type Fact struct {
	Name  string
	Value string
	// Foreign: Value was written by others (an error, an operator's words), so
	// a channel must not read markup into it.
	Foreign bool
}

// Facts says since when, why, what callers get meanwhile, what comes next and what is
// to be done: all of it about one dependency, of many only what they have in common.
func (m Message) Facts(at Moments) []Fact {
	f := facts{at: at}
	switch {
	case m.Kind == Test:
		f.foreign("Asked for by", m.By)
	case len(m.Items) == 1:
		f.item(m.Kind, m.Items[0])
	case len(m.Items) > 1:
		f.common(m)
	}
	if do := m.advice(); do != "" {
		f.add("To do", do)
	}
	return f.all
}

// Head names the dependency and its states, each with what it means for
// callers. It holds the dependency's id and group, which are foreign text.
func (i Item) Head() string {
	w := i.Why
	if !i.Over.IsZero() {
		w = i.Now
	}
	head := fmt.Sprintf("%s (%s)", i.State, i.Effect())
	if w.Reason != "" && w.From != i.State && w.To == i.State {
		head = fmt.Sprintf("%s (%s) → %s", w.From, effectOf(w.From, i.Shadow), head)
	}
	if i.Group != "" {
		head = "group " + Tidy(i.Group) + " · " + head
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
		text = "was out "
		if i.Shadow {
			text = "would have been out (shadow) "
		}
		text += plain.Span(i.Over.Sub(i.Since))
		if i.Spared > 0 {
			text += fmt.Sprintf(", %d %s spared", i.Spared, plural(i.Spared, "call", "calls"))
		}
	case Flapping:
		text = fmt.Sprintf("%d times within an hour; %s", i.Trips, i.Effect())
	case Started, Reminder:
		text = brief(i.Why) + ", since " + at.Time(i.Since)
		if i.State == recloser.Closed {
			text += "; passing again"
		}
	case Isolated, Held, Ending, Endless:
		text = i.Effect() + " until " + i.until(at)
	case Released, Calm, Test:
		text = i.Effect()
	}
	return Tidy(i.Name), text
}

// Effect is what its state means for callers.
func (i Item) Effect() string { return effectOf(i.State, i.Shadow) }

func effectOf(s recloser.State, shadow bool) string {
	if shadow {
		return s.EffectInShadow()
	}
	return s.Effect()
}

// until says when an override ends.
func (i Item) until(at Moments) string {
	if i.Until.IsZero() {
		return "somebody puts it back"
	}
	return at.both(i.Until)
}

// get says what callers get.
func (i Item) get() string {
	const others = "; who asks a group gets the others' answers"
	switch i.State {
	case recloser.Open, recloser.HalfOpen:
		if i.Shadow {
			return "its answers, even while it fails or hangs: shadow mode lets every call through"
		}
	case recloser.Closed:
		return "its answers, as usual"
	case recloser.HeldClosed:
		return "its answers, even while it fails or hangs: every call is let through"
	case recloser.Isolated:
	}
	if i.LastKnown > 0 {
		return fmt.Sprintf("on routes with last_known: its last good answer, if there is one of the last %s; else an error (503) at once", plain.Span(i.LastKnown)) + others
	}
	return "an error (503) at once instead of waiting" + others
}

// cutOff names how often it was.
func (i Item) cutOff() string {
	if i.Shadow {
		return "Would have been cut off"
	}
	return "Cut off"
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

func (f *facts) item(k Kind, i Item) {
	switch k {
	case Started, Reminder, Flapping:
		f.add("Since", f.at.both(i.Since))
		f.began(i.Why)
		f.seen(i.Seen)
		if k == Flapping {
			f.add(i.cutOff(), fmt.Sprintf("%d times within an hour", i.Trips))
		}
		f.add("Callers get", i.get())
		switch {
		case i.State == recloser.HalfOpen:
			f.add("Next trial", "now, by one real call at a time")
		case !i.Next.IsZero():
			f.add("Next trial", f.at.Time(i.Next)+", by itself: one real call. If that is bad, the next one comes later")
		}
		f.spared(i)
	case Isolated, Held, Ending, Endless:
		f.add("Since", f.at.both(i.Since))
		f.began(i.Why)
		f.add("Callers get", i.get())
		f.add("Until", i.until(f.at))
	case Released, Ended, Removed:
		was := "Was out"
		if i.Shadow {
			was = "Would have been out"
		}
		switch i.Why.To {
		case recloser.HeldClosed:
			was = "Was held"
		case recloser.Isolated:
			was = "Was isolated"
		case recloser.Closed, recloser.Open, recloser.HalfOpen:
		}
		f.add(was, fmt.Sprintf("%s, from %s to %s", plain.Span(i.Over.Sub(i.Since)), f.at.both(i.Since), f.at.Time(i.Over)))
		f.began(i.Why)
		f.seen(i.Seen)
		if i.Trips > 1 {
			f.add(i.cutOff(), fmt.Sprintf("%d times meanwhile", i.Trips))
		}
		if i.Now.Reason != "" {
			f.add("Now", i.Now.InWords())
			f.acted(i.Now)
		}
		f.spared(i)
	case Calm:
		f.add("Well since", f.at.both(i.Over))
	case Test:
	}
}

// common is what is to be said once of many.
func (f *facts) common(m Message) {
	switch m.Kind {
	case Started, Reminder, Flapping, Isolated, Held:
	case Ended, Calm, Released, Ending, Endless, Removed, Test:
		return
	}
	get, same, next := m.Items[0].get(), true, time.Time{}
	seen := m.Items[0].Seen
	for _, i := range m.Items {
		same = same && i.get() == get
		if i.Seen != seen {
			seen = fleet.Seen{}
		}
		if next.IsZero() || !i.Next.IsZero() && i.Next.Before(next) {
			next = i.Next
		}
	}
	f.seen(seen)
	if same { // else the panel tells of each
		f.add("Callers get", get)
	}
	if !next.IsZero() {
		f.add("Next trial", "the first "+f.at.Time(next)+", by itself: one real call")
	}
}

// began says why what the message is about began.
func (f *facts) began(w Why) {
	switch w.Reason {
	case "":
	case recloser.ReasonFleet, ReasonApart: // what nodes say may be what a probe was answered, and names are theirs
		f.foreign("Why", w.InWords())
	default:
		f.add("Why", w.InWords())
	}
	f.foreign("Last error", w.Cause)
	f.acted(w)
}

// seen says which nodes have seen it fail, where there are several.
func (f *facts) seen(s fleet.Seen) { f.foreign("Seen by", s.String()) }

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
