package message

import (
	"fmt"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// InWords puts the reason of a transition into plain words.
func (w Why) InWords() string {
	c, l := w.Counts, w.Limits
	switch w.Reason {
	case recloser.ReasonRate:
		limits := ""
		if l.Rate > 0 {
			limits = fmt.Sprintf(" (limit %.4g %%, window %s)", 100*l.Rate, plain.Span(l.Window))
		}
		return fmt.Sprintf("%d %% of the last %d calls were bad%s: %s", percent(c.Bad(), c.Judged()), c.Judged(), limits, bad(c, l))
	case recloser.ReasonRun:
		limit := ""
		if l.Row > 0 {
			limit = fmt.Sprintf(" (limit %d)", l.Row)
		}
		return fmt.Sprintf("%d bad calls in a row%s; of the last %d calls: %d good, %s", c.Run, limit, c.Judged(), c.Good, bad(c, l))
	case recloser.ReasonSuspected:
		return w.Text
	case recloser.ReasonUs:
		return fmt.Sprintf("of the last %d calls: %d good, %s; but other dependencies hang as well, so it may be us", c.Judged(), c.Good, bad(c, l))
	case recloser.ReasonFleet:
		if w.To == recloser.Closed {
			return "its trial calls, from whichever node, were good"
		}
		if w.Text == "" {
			return "all nodes together decided so"
		}
		return "all nodes together: " + w.Text
	case ReasonApart:
		if w.To == recloser.Closed {
			return "no node cuts it off any more"
		}
		return "cut off at " + w.Text + ", by the rules there; the other nodes still call it"
	case recloser.ReasonProbe:
		return "probes of it failed"
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
		return "an operator took the override back; " + w.byTheRules()
	case recloser.ReasonExpired:
		return "an operator's override ended; " + w.byTheRules()
	default:
		return string(w.Reason)
	}
}

func (w Why) byTheRules() string {
	if effect := effectOf(w.To, w.Shadow); effect != w.To.Effect() {
		return "by the rules it " + effect
	}
	return "by the rules it is " + w.To.Effect()
}

// brief is InWords without the numbers behind it, for one line among many.
func brief(w Why) string {
	switch c := w.Counts; w.Reason {
	case recloser.ReasonRate:
		return fmt.Sprintf("%d %% of %d calls bad", percent(c.Bad(), c.Judged()), c.Judged())
	case recloser.ReasonRun:
		return fmt.Sprintf("%d bad calls in a row", c.Run)
	case recloser.ReasonUs:
		return fmt.Sprintf("%d of %d calls bad", c.Bad(), c.Judged())
	case recloser.ReasonFleet:
		return "cut off by all nodes together"
	default:
		return w.InWords()
	}
}

// bad tells in which way calls were bad.
func bad(c recloser.Counts, l Limits) string {
	slow := "too slow"
	if l.Slow > 0 {
		slow = "not answered within " + plain.Span(l.Slow)
	}
	switch {
	case c.Slow == 0:
		return fmt.Sprintf("%d failed", c.Failed)
	case c.Failed == 0:
		return fmt.Sprintf("%d %s", c.Slow, slow)
	default:
		return fmt.Sprintf("%d failed, %d %s", c.Failed, c.Slow, slow)
	}
}
