// Package eventually holds the one way a test of this project waits for
// something it cannot be told about: look at a condition until it holds or a
// deadline passes. Tests that own their clock use testing/synctest instead.
package eventually

import (
	"testing"
	"time"
)

// pollEvery is short enough that a wait costs little once the condition holds
// and long enough that polling does not starve what is waited for.
const pollEvery = 2 * time.Millisecond

// True returns once cond holds, and fails the test at once, naming what was
// awaited, when it does not hold within the given time. cond is called from the
// test's own goroutine, at least once, and one last time at the deadline.
func True(t testing.TB, within time.Duration, cond func() bool, what string) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for !cond() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			if cond() {
				return
			}
			t.Fatalf("after %v still waiting for %s", within, what)
		}
	}
}
