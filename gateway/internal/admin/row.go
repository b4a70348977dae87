package admin

import (
	"fmt"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// row is one dependency on the status page.
type row struct {
	Key, Word, Effect string // the state: of the mark and colour, in a word, in plain words
	Automatic         string // what the rules say of one that is held closed
	ID, Name, Group   string // ID is also the row's anchor, which messages link to
	Why               string
	For, Since        string // how long the state lasts, and when it began
	Next              string // what comes next, and when; "" if nothing is known to
	Bad, BadNote      string // bad share of the window and what to hold it against
	Calls, Refused    string
}

// atRisk is the key of a closed dependency that is over 60 % of a limit.
const atRisk = "at-risk"

func (a *api) newRow(d *dependency.Dependency, now time.Time) row {
	s, cfg := d.Breaker.Stats(), d.Breaker.Config()
	r := row{
		Key: s.State.String(), Word: stateWord(s.State), Effect: s.State.Effect(),
		ID: d.ID, Name: plain.Line(d.Name), Group: plain.Line(d.Group),
		Why:     plain.Line(why(d.Breaker, s)),
		For:     span(now.Sub(s.Since)),
		Since:   s.Since.UTC().Format(time.RFC3339),
		Next:    next(s, now),
		Calls:   number(s.Success + s.Failed + s.Slow + s.Ignored),
		Refused: number(refused(s)),
	}
	if near(s, cfg) {
		r.Key, r.Word = atRisk, "At risk"
	}
	if a.inMaintenance(d, s) {
		r.Word, r.Effect = "Maintenance", maintenanceEffect
	}
	if s.State == recloser.HeldClosed {
		r.Automatic = "automatic would be " + s.Automatic.String()
	}
	r.Bad, r.BadNote = badShare(s, cfg)
	return r
}

// stateWord is the state as the first word of a cell.
func stateWord(s recloser.State) string {
	switch s {
	case recloser.Closed:
		return "Closed"
	case recloser.Open:
		return "Open"
	case recloser.HalfOpen:
		return "Half-open"
	case recloser.Isolated:
		return "Isolated"
	case recloser.HeldClosed:
		return "Held closed"
	}
	return s.String()
}

// near reports whether a closed dependency is over 60 % of a limit.
func near(s recloser.Stats, cfg recloser.Config) bool {
	if s.State != recloser.Closed {
		return false
	}
	const share = 0.6
	ratio, enough := s.BadRatio()
	return enough && cfg.FailureRate > 0 && ratio > share*cfg.FailureRate ||
		cfg.Consecutive > 0 && float64(s.Window.Run) > share*float64(cfg.Consecutive)
}

// why is the operator's reason, or what the breaker's state rests on. State and
// what comes next have cells of their own.
func why(b *recloser.Breaker, s recloser.Stats) string {
	var text string
	switch s.State {
	case recloser.Isolated, recloser.HeldClosed:
		return fmt.Sprintf("“%s” — %s", s.Override.Why, s.Override.By)
	case recloser.Closed:
		return strings.TrimPrefix(b.Explain(), fmt.Sprintf("%s (%s): ", s.State, s.State.Effect()))
	case recloser.Open:
		text = s.Began.Why()
	case recloser.HalfOpen:
		text = fmt.Sprintf("%d of %d trials good", s.Window.Good, b.Config().Trials)
	}
	if s.Cause != nil {
		text += "; last failure: " + s.Cause.Error()
	}
	return cut(text, maxText)
}

// next says what comes, and when.
func next(s recloser.Stats, now time.Time) string {
	switch {
	case s.State == recloser.HalfOpen && s.Trials == 0:
		return "waits for the next call to try"
	case s.State == recloser.HalfOpen:
		return "trying now"
	case s.State == recloser.Open && !s.Until.IsZero():
		return "next trial in " + span(s.Until.Sub(now))
	case s.Override != nil && s.Override.Until.IsZero():
		return "no end set"
	case s.Override != nil:
		return "until " + clock(s.Override.Until, now)
	}
	return ""
}

// badShare is "–" as long as a number would claim more than is known.
func badShare(s recloser.Stats, cfg recloser.Config) (share, note string) {
	ratio, enough := s.BadRatio()
	switch {
	case s.State == recloser.Open || s.State == recloser.Isolated:
		return "–", "no calls pass"
	case !enough:
		return "–", "not enough calls"
	}
	if cfg.FailureRate > 0 {
		note = "limit " + percent(cfg.FailureRate)
	}
	return percent(ratio), note
}

func refused(s recloser.Stats) (sum uint64) {
	for _, n := range s.Refused {
		sum += n
	}
	return sum
}
