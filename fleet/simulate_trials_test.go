//go:build !race

package fleet

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// Where the dependency has named a time, a fleet tries again after it, though all callers
// were refused for that reason.
func TestToldToWait(t *testing.T) {
	s := newSim(t, 1, 1, Config{}, []string{"hotel"}, hotel())
	n, busy := s.nodes[0], false
	n.callers("hotel", time.Second, func(*simNode, string) (time.Duration, error) {
		if busy {
			return 20 * time.Millisecond, &recloser.WaitError{After: time.Minute, Err: errDown}
		}
		return 20 * time.Millisecond, nil
	}, nil)
	s.run(10 * time.Second)
	busy = true
	n.c.byName["hotel"].tripNow(n.c, "probe", "three probes failed", n.now())
	s.await("a trial is told to wait", time.Minute, func() bool { return s.record("hotel").Reason == recloser.ReasonTrialFailed })
	busy = false
	s.mustClose(1, 3*time.Minute)
}

// A node that leaves with the lease of a trial for which nobody has come gives it back.
func TestLeavesBeforeItsTrial(t *testing.T) {
	p := &partner{}
	s := outage(t, 5, 5*time.Second, p)
	p.fails = false
	var leaves *simNode
	s.await("somebody has a lease, and no caller", time.Minute, func() bool {
		for _, n := range s.nodes {
			if n.c.byName["hotel"].trial != nil && n.breakers["hotel"].Report().Running == 0 {
				leaves = n
			}
		}
		return leaves != nil
	})
	leaves.c.leave("hotel", leaves.now())
	leaves.drive()
	s.await("the others close", 30*time.Second, func() bool {
		if v := s.record("hotel"); v.Reason == recloser.ReasonTrialFailed {
			t.Fatalf("%+v", v.Record)
		}
		return s.record("hotel").State == recloser.Closed
	})
}
