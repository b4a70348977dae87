//go:build !race

// Each search is one goroutine's: the race detector would find nothing, fifteen times as slowly.

package fleet

import (
	"slices"
	"strings"
	"testing"
)

// TestProtocol looks at every order in which three nodes, their trials and the store can
// do what they do, with answers that get lost, a node that crashes, and a store that
// forgets. What the nodes do is the code of member and reconcile; the store is the one
// of protocol_store_test.go. It must never happen, unless the protocol is bent, that
//
//   - more trials run at once than there are slots, while the store forgets nothing;
//   - a verdict is counted of a lease that has run out ("stale verdict");
//   - what has seen a trial fail closes after others that were good ("failure ignored");
//   - what is open closes without a good trial, although somebody knows of it ("silently closed");
//   - nothing that can be expected to happen leads to a closed fleet ("stuck").
func TestProtocol(t *testing.T) {
	for name, c := range map[string]struct {
		limits
		bent
		signs string // by which it fails; "": it does not
	}{
		"the store forgets nothing":            {limits{slots: 1, trips: 2, tokens: 3, crashes: 1, lost: 1}, bent{}, ""},
		"the store is emptied":                 {limits{slots: 1, trips: 2, tokens: 2, crashes: 1, flush: true}, bent{}, ""},
		"the last write is lost by a failover": {limits{slots: 1, trips: 2, tokens: 2, crashes: 1, failover: true}, bent{}, ""},
		"the store is emptied, long trouble":   {limits{slots: 1, trips: 1, tokens: 3, flush: true}, bent{}, ""},
		"a write is lost, long trouble":        {limits{slots: 1, trips: 1, tokens: 3, lost: 1, failover: true}, bent{}, ""},
		"two trials at once":                   {limits{slots: 2, trips: 1, tokens: 4, crashes: 1}, bent{}, ""},
	} {
		t.Run(name, func(t *testing.T) { c.check(t, c.bent, c.signs) })
	}
}

// The check finds what is wrong with protocols that are not quite as they should be.
func TestBentProtocol(t *testing.T) {
	sound := limits{slots: 1, trips: 1, tokens: 3, crashes: 1, lost: 1}
	emptied := limits{slots: 1, trips: 1, tokens: 3, flush: true}
	failover := limits{slots: 1, trips: 1, tokens: 3, failover: true}
	for name, c := range map[string]struct {
		limits
		bent
		signs string
	}{
		"a verdict needs no token":                         {sound, bent{unfenced: true}, "stale verdict"},
		"a lease ends before its holder takes it for over": {sound, bent{hasty: true}, "trials at once"},
		"a lease never ends":                               {sound, bent{endless: true}, "stuck"},
		"the strictest is right, even if it is older":      {limits{slots: 1, trips: 1, tokens: 3}, bent{rule: strictestIsRight}, "stuck"},
		"nodes ignore failed trials":                       {sound, bent{careless: true}, "failure ignored"},
		"Put does not compare":                             {sound, bent{blind: true}, "trials at once"},
		"an open time is shorter than a trial":             {limits{slots: 2, trips: 1, tokens: 4}, bent{short: true}, "trials at once"},
		"epochs alone count, the store is emptied":         {emptied, bent{rule: epochsAlone}, "silently closed"},
		"epochs alone count, a write is lost":              {failover, bent{rule: epochsAlone}, "stuck"},
		"nodes believe the store, the store is emptied":    {emptied, bent{rule: storeIsRight}, "silently closed"},
		"nodes believe the store, a write is lost":         {failover, bent{rule: storeIsRight}, "silently closed"},
	} {
		t.Run(name, func(t *testing.T) { c.check(t, c.bent, c.signs) })
	}
}

func (l limits) check(t *testing.T, b bent, signs string) {
	t.Helper()
	t.Parallel()
	s := newSearch(t, l, b)
	s.until = signs
	s.run()
	t.Logf("%d states; trials at once: %d, %d after the store forgot", len(s.worlds), s.most, s.mostLater)
	var got []string
	for sign := range s.first {
		got = append(got, sign)
	}
	slices.Sort(got)
	if g := strings.Join(got, ", "); g != signs {
		t.Errorf("signs: %q, want %q", g, signs)
		for _, sign := range got {
			if !strings.Contains(signs, sign) {
				t.Logf("%s:\n%s", sign, s.trace(s.first[sign]))
			}
		}
	}
	if !s.found && s.most != int(l.slots) {
		t.Errorf("%d trials at once, want %d to have been possible", s.most, l.slots)
	}
	if s.mostLater > 2*int(l.slots) {
		t.Errorf("%d trials at once after one fault of the store, want at most %d", s.mostLater, 2*l.slots)
	}
}

// limits bound what may happen.
type limits struct {
	slots           uint8 // of the fleet
	trips, tokens   uint8 // how many there may be
	crashes, lost   uint8 // of nodes; answers of the store
	flush, failover bool  // the store may forget, once
}

// bent is what is wrong with a protocol.
type bent struct {
	unfenced bool // Finish looks neither at the token nor at the version
	hasty    bool // a lease may run out before its holder has given up the trial
	endless  bool // no lease runs out
	blind    bool // Put replaces whatever is there
	careless bool // nodes do not look whether a trial failed
	short    bool // trials may begin again while some of the round before still run
	rule     func(held, got *version) course
}

func epochsAlone(held, got *version) course {
	switch {
	case got.Epoch > held.Epoch:
		return adopt
	case got.Epoch < held.Epoch:
		return reopen
	}
	return keep
}

func storeIsRight(held, got *version) course {
	if got.Rev == held.Rev {
		return keep
	}
	return adopt
}

func strictestIsRight(held, got *version) course {
	switch {
	case got.Rev == held.Rev:
		return keep
	case got.severity() >= held.severity():
		return adopt
	}
	return reopen
}
