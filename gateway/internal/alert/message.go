package alert

import (
	"fmt"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// Message is one piece of news about a dependency. Each channel writes it in
// its own form from Title, Head and Facts.
type Message struct {
	ID     string              // of the dependency
	Name   string              // for people
	News   recloser.Transition // what happened
	Before recloser.Transition // the news before this; the zero value if there was none
	Until  time.Time           // the end of an operator's override; zero: none known
	Spared uint64              // calls refused between Before and News
	Link   string              // to the dependency on the status page; may be empty
}

// Fact is one line of a message.
type Fact struct {
	Name  string
	Value string
	// Foreign: Value was written by others (an error, an operator's words), so
	// a channel must not read markup into it.
	Foreign bool
}

// Moments is how a channel writes moments: the reader may be in another time
// zone than this process.
type Moments struct {
	Date, Time func(time.Time) string
}

// plainMoments writes in the zone of this process.
func plainMoments() Moments {
	return Moments{
		Date: func(t time.Time) string { return t.Local().Format("2006-01-02") },
		Time: func(t time.Time) string { return t.Local().Format("15:04:05") },
	}
}

// String writes the message as plain text: the title, and a line for each fact.
func (m Message) String() string {
	var b strings.Builder
	b.WriteString(m.Title())
	for _, f := range m.Facts(plainMoments()) {
		fmt.Fprintf(&b, "\n  %s: %s", f.Name, f.Value)
	}
	return b.String()
}

// Title says in a few words what happened. It holds the dependency's name,
// which is foreign text.
func (m Message) Title() string {
	name := tidy(m.Name)
	switch m.News.To {
	case recloser.Open:
		return name + " is cut off"
	case recloser.Isolated:
		return name + " is cut off by hand"
	case recloser.HeldClosed:
		return name + " is held closed"
	case recloser.Closed, recloser.HalfOpen:
	}
	if m.Before.To == recloser.HeldClosed {
		return name + " is automatic again"
	}
	return name + " is back"
}

// Head names the dependency and its states, each with what it means for
// callers. It holds the dependency's id, which is foreign text.
func (m Message) Head() string {
	head := fmt.Sprintf("%s (%s) → %s (%s)",
		m.News.From, m.News.From.Effect(), m.News.To, m.News.To.Effect())
	if m.ID != m.Name {
		head = tidy(m.ID) + " · " + head
	}
	return head
}

// Facts says since when, why, what callers get meanwhile and what comes next.
func (m Message) Facts(at Moments) []Fact {
	var facts []Fact
	add := func(name, value string) {
		facts = append(facts, Fact{Name: name, Value: value})
	}
	moment := func(t time.Time) string { return at.Date(t) + " " + at.Time(t) }
	// acted tells of the operator behind a transition, if there was one.
	acted := func(t recloser.Transition) {
		if t.By != "" {
			facts = append(facts, Fact{"By", tidy(t.By), true})
		}
		if t.Note != "" {
			facts = append(facts, Fact{"Reason given", tidy(t.Note), true})
		}
	}
	// began says why what the message is about began.
	began := func(t recloser.Transition) {
		add("Why", why(t))
		if t.Cause != nil {
			facts = append(facts, Fact{"Last error", tidy(withoutPaths(t.Cause.Error())), true})
		}
		acted(t)
	}

	n := m.News
	switch n.To {
	case recloser.Open:
		add("Since", moment(n.At))
		began(n)
		add("Callers get", "an answer at once: 503 and when to come back; asks go on without it")
		add("Next trial", fmt.Sprintf("%s, after %s: one real call, by itself", at.Time(n.At.Add(n.OpenFor)), plain.Span(n.OpenFor)))
	case recloser.Isolated, recloser.HeldClosed:
		add("Since", moment(n.At))
		began(n)
		if n.To == recloser.Isolated {
			add("Callers get", "an answer at once: 503; asks go on without it")
		} else {
			add("Callers get", "every call is let through, even while it fails or hangs")
		}
		until := "somebody releases it"
		if !m.Until.IsZero() {
			until = moment(m.Until)
		}
		add("Until", until)
	case recloser.Closed, recloser.HalfOpen:
		lasted := "Was out"
		if m.Before.To == recloser.HeldClosed {
			lasted = "Was held"
		}
		add(lasted, fmt.Sprintf("%s, from %s to %s", plain.Span(n.At.Sub(m.Before.At)), moment(m.Before.At), at.Time(n.At)))
		began(m.Before)
		add("Now", why(n))
		acted(n)
		if m.Spared > 0 {
			spared := fmt.Sprintf("%d %s refused at once", m.Spared, plural(m.Spared, "call", "calls"))
			if m.Before.Counts.Slow > 0 { // else they would have failed, perhaps as quickly
				spared += " instead of waiting"
			}
			add("Spared", spared)
		}
	}
	return facts
}

// why puts the reason of a transition into plain words.
func why(t recloser.Transition) string {
	c := t.Counts
	switch t.Reason {
	case recloser.ReasonRate:
		return fmt.Sprintf("%d %% of the last %d calls were bad: %s", percent(c.Bad(), c.Judged()), c.Judged(), bad(c))
	case recloser.ReasonRun:
		return fmt.Sprintf("%d bad calls in a row; of the last %d calls: %d good, %s", c.Run, c.Judged(), c.Good, bad(c))
	case recloser.ReasonSuspected:
		return t.Why()
	case recloser.ReasonUs:
		return fmt.Sprintf("of the last %d calls: %d good, %s; but other dependencies hang as well, so it may be us", c.Judged(), c.Good, bad(c))
	case recloser.ReasonProbe:
		return "probes of it failed"
	case recloser.ReasonWitness:
		return "a call that had seemed to hang was answered"
	case recloser.ReasonToldToWait:
		return fmt.Sprintf("it asked not to be called for %s", plain.Span(t.OpenFor))
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
		return "an operator took the override back; by the rules it is " + t.To.Effect()
	case recloser.ReasonExpired:
		return "an operator's override ended; by the rules it is " + t.To.Effect()
	default:
		return string(t.Reason)
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
