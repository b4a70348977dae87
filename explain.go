package recloser

import (
	"fmt"
	"time"

	"github.com/recloser-go/recloser/internal/defaults"
)

// Explain says in one line why the breaker is or is not open.
func (b *Breaker) Explain() string {
	s, cfg := b.Brief(), b.rules().cfg
	if o := s.Override; o != nil && o.State == HeldClosed {
		return fmt.Sprintf("held closed (passing by hand) by %s: %s; automatic would be %s: %s", o.By, o.Why, s.Automatic, s.explain(&cfg))
	}
	return fmt.Sprintf("%s (%s): %s", s.State, s.Effect(), s.explain(&cfg))
}

// explain says why the automatic state is what it is.
func (s *Stats) explain(cfg *Config) string {
	switch {
	case s.State == Isolated:
		return fmt.Sprintf("by %s: %s", s.Override.By, s.Override.Why)
	case s.Automatic == Open:
		text := fmt.Sprintf("%s; trials in %s", s.whyOpen(cfg), defaults.Short(s.openLeft.Round(100*time.Millisecond)))
		if s.Cause != nil {
			text += "; last failure: " + fmt.Sprint(s.Cause)
		}
		return text
	case s.Automatic == HalfOpen:
		return fmt.Sprintf("%d of %d trials good, %d running", s.Window.Good, cfg.Trials, s.Trials)
	}
	text := explainRate(s.Window, cfg)
	if cfg.FailureRate <= 0 && cfg.Consecutive <= 0 {
		text += "; no rule is on: it never trips by itself"
	}
	if cfg.Consecutive > 0 {
		text += fmt.Sprintf("; %d bad in a row, limit %d", s.Window.Run, cfg.Consecutive)
	}
	if s.Suspects > 0 {
		text += fmt.Sprintf("; %d running longer than usual (%s)", s.Suspects, seconds(s.Suspect))
	}
	if s.RampLimit > 0 {
		text += fmt.Sprintf("; slow start: at most %d calls at once", s.RampLimit)
	}
	return text
}

// whyOpen says what opened the breaker.
func (s *Stats) whyOpen(cfg *Config) string {
	switch s.Began.Reason {
	case ReasonRate:
		return explainRate(s.Began.Counts, cfg)
	case ReasonTripped:
		return "tripped by " + s.Began.By
	case ReasonRestored:
		return fmt.Sprintf("as before the restart (%s)", s.trip)
	default:
		return s.Began.Why()
	}
}

// explainRate says how far the calls are from tripping.
func explainRate(c Counts, cfg *Config) string {
	if cfg.FailureRate > 0 && c.Judged() < uint64(cfg.MinCalls) {
		return fmt.Sprintf("too few calls to judge (%d of %d)", c.Judged(), cfg.MinCalls)
	}
	text := fmt.Sprintf("%d calls", c.Judged())
	if c.Judged() > 0 {
		text += fmt.Sprintf(", %.0f %% bad", 100*float64(c.Bad())/float64(c.Judged()))
	}
	if cfg.FailureRate > 0 {
		text += fmt.Sprintf(", limit %.4g %%", 100*cfg.FailureRate)
	}
	return text
}
