//go:build !race

package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// hotel are the settings of the turnstiles' breakers: those of the gateway.
func hotel() recloser.Config {
	return recloser.Config{SlowCall: 2 * time.Second}
}

// partner is a dependency that hangs or fails when the test says so.
type partner struct{ hangs, fails bool }

func (p *partner) serve(*simNode, string) (time.Duration, error) {
	switch {
	case p.hangs:
		return 30 * time.Second, errDown
	case p.fails:
		return 20 * time.Millisecond, errDown
	}
	return 100 * time.Millisecond, nil
}

// outage returns a fleet that has just tripped: each node has a call each interval.
func outage(t *testing.T, nodes int, interval time.Duration, p *partner) *sim {
	t.Helper()
	s := newSim(t, 7, nodes, Config{}, []string{"hotel"}, hotel())
	for _, n := range s.nodes {
		n.callers("hotel", interval, p.serve, nil)
	}
	s.run(3 * time.Minute)
	p.fails = true
	s.await("the fleet trips", time.Minute, func() bool { return s.record("hotel").State == recloser.Open })
	s.await("all refuse", time.Minute, func() bool { return s.in("hotel", recloser.Open) == nodes })
	return s
}

func (s *sim) mustClose(nodes int, within time.Duration) {
	s.Helper()
	s.await("all close", within, func() bool {
		return s.in("hotel", recloser.Closed) == nodes && s.record("hotel").State == recloser.Closed
	})
}

// turnstiles returns 50 nodes that each ask a hotel once a minute, which hangs from now
// on; callers wait for 30 s. hung counts them, but for trials.
func turnstiles(t *testing.T, seed uint64, alone bool) (s *sim, p *partner, hung *int) {
	t.Helper()
	s, p, hung = newSim(t, seed, 50, Config{}, []string{"hotel"}, hotel()), &partner{}, new(int)
	s.hung = alone
	for _, n := range s.nodes {
		n.callers("hotel", time.Minute, p.serve, func(let bool) {
			if let && p.hangs && n.breakers["hotel"].State() == recloser.Closed { // else it is a trial
				*hung++
			}
		})
	}
	s.run(5 * time.Minute)
	if n := s.in("hotel", recloser.Closed); n != 50 {
		t.Fatalf("only %d closed", n)
	}
	p.hangs = true
	return s, p, hung
}

// One turnstile's failed calls protect all of them.
func TestTurnstiles(t *testing.T) {
	protected := func(s *sim) time.Duration {
		return s.await("all refuse", time.Hour, func() bool { return s.in("hotel", recloser.Closed) == 0 })
	}
	s, _, alone := turnstiles(t, 1, true)
	t.Logf("alone: %s until all 50 are protected", protected(s))
	together := 0
	for seed := range uint64(2) {
		s, p, hung := turnstiles(t, seed, false)
		took := protected(s)
		together = max(together, *hung)
		t.Logf("seed %d: %d callers hung until all 50 are protected, after %s, %d alone; %s", seed, *hung, took, *alone, s.record("hotel").Note)
		if *hung > 12 || took > 20*time.Second {
			t.Errorf("%d callers hung, %s until all were protected", *hung, took)
		}
		s.run(5 * time.Minute)
		p.hangs = false
		healed := s.await("all close", 15*time.Minute, func() bool { return s.in("hotel", recloser.Closed) == 50 })
		t.Logf("all closed %s after it was well; at most %d trials at once; %v operations", healed, s.mostOf["hotel"], s.ops)
		if s.mostOf["hotel"] > 2 {
			t.Errorf("%d trials at once", s.mostOf["hotel"])
		}
	}
	if *alone < 10*together {
		t.Errorf("%d callers hung, and %d where each is alone", together, *alone)
	}
}

// bads returns how many bad calls all nodes have seen.
func (s *sim) bads(name string) (n uint64) {
	for _, node := range s.nodes {
		n += node.breakers[name].Report().Bad
	}
	return n
}

// All nodes refuse within 0.2 s of the failure that decides, and within 2.2 s if
// pushes are lost.
func TestConvergence(t *testing.T) {
	for _, c := range []struct {
		name        string
		deaf, lossy float64
		within      time.Duration
	}{
		{"healthy", 0, 0, 200 * time.Millisecond},
		{"half of the pushes lost", 0.5, 0, 2200 * time.Millisecond},
		{"a fifth of the operations lost", 0, 0.2, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			var worst time.Duration
			for seed := range uint64(3) {
				s := newSim(t, seed, 50, Config{}, []string{"hotel"}, hotel())
				var p partner
				for _, n := range s.nodes {
					n.callers("hotel", time.Minute, p.serve, nil)
				}
				s.run(5 * time.Minute)
				s.deaf, s.lossy = c.deaf, c.lossy
				before := s.bads("hotel")
				p.fails = true
				s.await("five fail", time.Minute, func() bool { return s.bads("hotel") >= before+5 })
				took := s.await("all refuse", time.Minute, func() bool { return s.in("hotel", recloser.Open) == 50 })
				worst = max(worst, took)
			}
			t.Logf("all refuse %s after the fifth failure", worst)
			if worst > c.within {
				t.Errorf("%s until all refuse, at most %s allowed", worst, c.within)
			}
		})
	}
}

// newOneBadNode returns a fleet in which 1 % of all calls and probes fail, and for one
// node all do in half of the time.
func newOneBadNode(t testing.TB, seed uint64, nodes int, interval time.Duration, names []string) *sim {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 3))
	s := newSim(t, seed, nodes, Config{Probe: func(context.Context, string) error {
		if chance.Float64() < 0.01 {
			return errDown
		}
		return nil
	}}, names, hotel())
	s.tick = time.Second / 2
	for i, n := range s.nodes {
		for _, name := range names {
			n.callers(name, interval, func(n *simNode, _ string) (time.Duration, error) {
				cut := i == min(3, nodes-1) && n.now().Sub(epoch)%(10*time.Minute) < 5*time.Minute
				if cut || n.random.Float64() < 0.01 {
					return 20 * time.Millisecond, errDown
				}
				return 50 * time.Millisecond, nil
			}, nil)
		}
	}
	return s
}

// tripped returns the dependencies whose breakers the fleet has opened, ever.
func (s *sim) tripped(names []string) (all []string) {
	for _, name := range names {
		if s.record(name).Rev != (Rev{}) {
			all = append(all, name)
		}
	}
	return all
}

// A node whose own network fails does not trip the others, be it doubtful (four
// dependencies) or not (one).
func TestOneBadNode(t *testing.T) {
	for _, names := range [][]string{{"a"}, {"a", "b", "c", "d"}} {
		for _, seed := range []uint64{346, 386, 588} { // of accidents in the first minute
			young := newOneBadNode(t, seed, 20, 10*time.Second, names)
			young.run(time.Minute)
			if all := young.tripped(names); len(all) > 0 {
				t.Errorf("of %v: %v tripped at first: %+v", names, all, young.record(all[0]).Record)
			}
		}
		s := newOneBadNode(t, 1, 20, 10*time.Second, names)
		s.run(time.Hour)
		if all := s.tripped(names); len(all) > 0 {
			t.Errorf("of %v: %v tripped: %+v", names, all, s.record(all[0]).Record)
		}
		if st := s.nodes[3].breakers["a"].Stats(); st.Transitions[recloser.TransitionKey{To: recloser.Open, Reason: recloser.ReasonRun}] == 0 {
			t.Error("the node itself did not trip")
		}
	}
}

// The same where the others are few, and busy.
func TestOneBadNodeAmongFew(t *testing.T) {
	for nodes := 2; nodes <= 4; nodes++ {
		s := newOneBadNode(t, uint64(nodes), nodes, 200*time.Millisecond, []string{"a"})
		s.run(time.Hour)
		if all := s.tripped([]string{"a"}); len(all) > 0 {
			t.Errorf("of %d nodes: %+v", nodes, s.record("a").Record)
		}
		if s.ops[opPut] == 0 {
			t.Error("nobody was asked")
		}
	}
}

// BenchmarkOneBadNode counts false trips; an iteration is an hour of 20 nodes. With
// -benchtime 300x it is 600 hours, of the seeds 1 to 600.
func BenchmarkOneBadNode(b *testing.B) {
	for i, names := range [][]string{{"a", "b", "c", "d"}, {"a"}} {
		b.Run(fmt.Sprintf("dependencies=%d", len(names)), func(b *testing.B) {
			trips := 0
			for seed := uint64(i + 1); b.Loop(); seed += 2 {
				s := newOneBadNode(b, seed, 20, 10*time.Second, names)
				s.run(time.Hour)
				if all := s.tripped(names); len(all) > 0 {
					b.Logf("seed %d: %v: %+v", seed, all, s.record(all[0]).Record)
					trips += len(all)
				}
			}
			b.ReportMetric(float64(trips), "false-trips")
		})
	}
}
