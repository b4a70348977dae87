// Package fleettest holds the tests of a fleet on a real server: whatever befalls the
// server, the network or one of the nodes, calls go on, nobody lets through what was cut
// off, and all agree in the end. A store's own tests call Run and WrongClock.
package fleettest

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// A Harness is how the tests reach a server. They leave it running.
type Harness struct {
	// Addr is the server's, host:port.
	Addr string

	// Open returns a client of the store that reaches the server by that address. Those
	// of one prefix see the same. A timeout of 0 is the store's default.
	Open func(t testing.TB, addr, prefix string, timeout time.Duration) fleet.Store

	// Pause makes the server hang, as SIGSTOP does; Resume lets it go on.
	Pause, Resume func(t testing.TB)

	// Kill ends the server, and Start starts it again, with what it kept.
	Kill, Start func(t testing.TB)

	// Forget are ways in which the server loses all that it holds.
	Forget []Forget

	// GoBack are ways in which what is reached as the server goes back in time.
	GoBack []GoBack
}

// Forget is one way in which a server loses all that it holds under the prefix.
type Forget struct {
	Name string
	Do   func(t testing.TB, prefix string)
}

// GoBack is one way in which a server goes back in time: Keep remembers what there is
// under the prefix, and what it returns puts that in the server's place, which is at addr then.
type GoBack struct {
	Name string
	Keep func(t testing.TB, prefix string) (put func() (addr string))
}

// Run runs all tests, each as a subtest with a harness that open returns for it: on a
// server of its own, or on one that the others have as well. They run in parallel, as
// nodes wait for most of the time.
func Run(t *testing.T, open func(t *testing.T, own bool) Harness) {
	for _, c := range []struct {
		name string
		run  func(*town)
		own  bool
	}{
		{"Hung", hung, true},
		{"Killed", killed, true},
		{"Forgets", forgets, true},
		{"GoesBack", goesBack, true},
		{"Slow", slow, false},
		{"CutOff", cutOff, false},
		{"ForgottenConnections", forgottenConnections, false},
		{"DiesWithALease", diesWithLease, false},
		{"RollingSettings", rollingSettings, false},
		{"TwoVersions", twoVersions, false},
		{"TwoFleets", twoFleets, false},
		{"NewerSchema", newerSchema, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newTown(t, open(t, c.own)))
		})
	}
}

// WrongClock is the test of a server whose clock, and that of no node, is wrong: set sets
// by how much, also while the server runs.
func WrongClock(t *testing.T, h Harness, set func(t testing.TB, by time.Duration)) {
	wrongClock(newTown(t, h), set)
}
