package recloser

import (
	"strings"
	"testing"
	"time"
)

// What people read does not depend on whether somebody set the wall clock.
func TestExplainAfterTheWallClockWasSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newTripped(t, strict())
			s.ticks.SetWall(epoch.Add(by))
			if got := s.b.Explain(); !strings.Contains(got, "trials in 100ms") {
				t.Error(got)
			}
		})
	}
}

func TestExplainWithoutRules(t *testing.T) {
	s := newSim(t, Config{FailureRate: Off, Consecutive: Off})
	if got := s.b.Explain(); !strings.Contains(got, "no rule is on") {
		t.Error(got)
	}
}

func TestExplainAfterARestart(t *testing.T) {
	s := restarted(t, newTripped(t, strict()), openFor/2)
	if got := s.b.Explain(); !strings.Contains(got, "as before the restart (run); trials in 100ms") {
		t.Error(got)
	}
}
