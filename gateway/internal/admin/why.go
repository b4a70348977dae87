package admin

import (
	"fmt"
	"strings"

	"github.com/recloser-go/recloser"
)

// Near is the share of a limit past which a closed dependency is at risk.
const Near = 0.6

// near reports whether a closed dependency is over that share of a limit.
func near(s recloser.Stats, cfg recloser.Config) bool {
	if s.State != recloser.Closed {
		return false
	}
	ratio, enough := s.BadRatio()
	return enough && cfg.FailureRate > 0 && ratio > Near*cfg.FailureRate ||
		cfg.Consecutive > 0 && float64(s.Window.Run) > Near*float64(cfg.Consecutive)
}

// why is the operator's reason, or what the breaker's state rests on. What comes
// next, and the last failure, are fields of their own; explain has all of it.
func why(s recloser.Stats, cfg recloser.Config, limits Limits, explain string) string {
	switch s.State {
	case recloser.Isolated, recloser.HeldClosed:
		return s.Override.Why
	case recloser.Open:
		return s.Began.Why() + limits.HeldAgainst(string(s.Began.Reason))
	case recloser.HalfOpen:
		return fmt.Sprintf("%d of %d trials good", s.Window.Good, cfg.Trials)
	case recloser.Closed:
	}
	return strings.TrimPrefix(explain, fmt.Sprintf("%s (%s): ", s.State, s.Effect()))
}

// HeldAgainst is the limit that a trip for that reason is judged by, as it stands behind
// the reason.
func (l Limits) HeldAgainst(reason string) string {
	switch {
	case reason == string(recloser.ReasonRate) && l.FailureRate != nil:
		return fmt.Sprintf(" (limit %.4g %%)", 100**l.FailureRate)
	case reason == string(recloser.ReasonRun) && l.Consecutive != nil:
		return fmt.Sprintf(" (limit %d)", *l.Consecutive)
	}
	return ""
}
