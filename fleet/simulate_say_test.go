//go:build !race

package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// Who could not look what the others have seen does so when the store is back.
func TestLostLook(t *testing.T) {
	s := newSim(t, 1, 5, Config{}, []string{"hotel"}, hotel())
	s.run(20 * time.Second)
	p := &partner{fails: true}
	for _, n := range s.nodes {
		n.call("hotel", p.serve)
		if n != s.nodes[4] {
			s.run(2 * time.Second)
		}
	}
	for before := s.ops[opSaid]; s.ops[opSaid] == before; { // the node that decides begins to look
		s.run(time.Millisecond)
	}
	s.hung = true
	s.run(time.Second)
	if v := s.record("hotel"); v.Rev != (Rev{}) {
		t.Fatalf("it tripped too soon: %+v", v.Record)
	}
	s.hung = false
	s.await("the fleet trips", 10*time.Second, func() bool { return s.record("hotel").State == recloser.Open })
}

// Where all nodes see some calls of several dependencies fail, for as long as it takes, the
// store hears of it in few words, and somebody looks all the same.
func TestPartialOutageCostsLittle(t *testing.T) {
	const nodes, span = 50, 20
	names := strings.Split("abcdefghij", "")
	s := newSim(t, 1, nodes, Config{}, names, recloser.Config{Consecutive: -1, FailureRate: -1})
	share := 0.0
	for _, n := range s.nodes {
		for _, name := range names {
			n.callers(name, time.Second/2, func(n *simNode, _ string) (time.Duration, error) {
				if n.random.Float64() < share {
					return 20 * time.Millisecond, errDown
				}
				return 20 * time.Millisecond, nil
			}, nil)
		}
	}
	s.run(20 * time.Second)
	share = 0.3
	s.run(20 * time.Second)
	clear(s.ops)
	s.run(span * time.Second)
	say, look := float64(s.ops[opSay])/span, float64(s.ops[opSaid])/span
	t.Logf("%.0f times a second it is said, and looked %.0f times", say, look)
	if say > 3*nodes || look > 6*float64(len(names))+20 || look < 40 {
		t.Errorf("%.0f times a second it is said, and looked %.0f times, by %d nodes with %d dependencies", say, look, nodes, len(names))
	}
}
