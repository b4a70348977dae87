//go:build !race

package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// Where one node alone has callers, another's probe decides.
func TestSecondOpinion(t *testing.T) {
	for _, c := range []struct {
		name  string
		probe func(context.Context, string) error
		trips bool
	}{
		{"bad", func(context.Context, string) error { return errDown }, true},
		{"good", func(context.Context, string) error { return nil }, false},
		{"nobody can", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			probes := 0
			cfg := Config{}
			if c.probe != nil {
				cfg.Probe = func(ctx context.Context, name string) error {
					probes++
					return c.probe(ctx, name)
				}
			}
			s := newSim(t, 1, 5, cfg, []string{"hotel"}, hotel())
			s.run(20 * time.Second)
			p := &partner{fails: true}
			s.nodes[0].callers("hotel", time.Second, p.serve, nil)
			s.run(30 * time.Second)
			if trips := s.record("hotel").Rev != (Rev{}); trips != c.trips {
				t.Errorf("tripped: %t", trips)
			}
			if s.nodes[0].breakers["hotel"].State() == recloser.Closed {
				t.Error("the node did not protect itself")
			}
			want := 2 // nodes, which make up for the reporters that there are not
			if c.trips {
				want *= opinionTries
			}
			if c.probe != nil && probes != want {
				t.Errorf("%d probes, want %d", probes, want)
			}
		})
	}
}

// Calls that were good before an outage do not hide it from the other nodes: the defaults
// protect two or three busy gateways as well as fifty quiet ones.
func TestBusyNodeSharesItsTrip(t *testing.T) {
	for _, nodes := range []int{2, 3} {
		for _, probes := range []bool{true, false} {
			p := &partner{}
			cfg := Config{}
			if probes {
				cfg.Probe = func(context.Context, string) error {
					if p.fails {
						return errDown
					}
					return nil
				}
			}
			caught, most := 0, 30*(nodes-1) // in ten outages; by its own rules it takes 50 of each
			if probes {
				most = 15 * (nodes - 1)
			}
			for seed := range uint64(10) {
				s := newSim(t, seed, nodes, cfg, []string{"hotel"}, hotel())
				for i, n := range s.nodes {
					interval, each := time.Second/5, func(bool) {}
					if i > 0 {
						interval, each = 4*time.Second, func(let bool) {
							if let && p.fails {
								caught++
							}
						}
					}
					n.callers("hotel", interval, p.serve, each)
				}
				s.run(2 * time.Minute)
				p.fails = true
				s.await("the fleet trips", time.Minute, func() bool { return s.record("hotel").State == recloser.Open })
				p.fails = false
			}
			t.Logf("%d nodes, probes %t: %d caught where callers are few, of ten outages", nodes, probes, caught)
			if caught > most {
				t.Errorf("at most %d allowed", most)
			}
		}
	}
}

// Where one of many callers alone sees calls fail, the others need no probe: they say
// that theirs are good.
func TestLoneReporterAmongMany(t *testing.T) {
	s := newSim(t, 1, 5, Config{}, []string{"hotel"}, hotel())
	for i, n := range s.nodes {
		p := &partner{fails: i == 0}
		n.callers("hotel", time.Second, p.serve, nil)
	}
	s.run(5 * time.Minute)
	if v := s.record("hotel"); v.Rev != (Rev{}) {
		t.Errorf("%+v", v.Record)
	}
}

// Every node knows which of them have cut off by themselves, soon, and what all together
// had seen when they did.
func TestSeen(t *testing.T) {
	s := newSim(t, 1, 3, Config{}, []string{"a"}, hotel())
	p, well := &partner{fails: true}, &partner{}
	for _, n := range s.nodes[1:] {
		n.callers("a", time.Second, well.serve, nil)
	}
	s.run(time.Minute)
	seen := func(want Seen, first View) {
		t.Helper()
		for _, n := range s.nodes {
			st := n.c.status(s.now()).Breakers[0]
			views := map[string]View{}
			for _, v := range st.Views {
				views[v.Node] = v
			}
			if st.Seen != want || len(views) != 3 || st.Views[0].Node != n.c.cfg.Node || views[first.Node] != first {
				t.Errorf("%s: %q and %+v, want %q and %+v", n.c.cfg.Node, st.Seen, st.Views, want, first)
			}
		}
	}
	seen(Seen{}, View{Node: "node-00", State: recloser.Closed})
	for range 8 {
		s.nodes[0].call("a", p.serve)
		s.run(200 * time.Millisecond)
	}
	s.run(2 * time.Second)
	if st := s.nodes[0].c.status(s.now()).Breakers[0]; st.Record.State != recloser.Closed || !st.Views[0].Own {
		t.Fatalf("%+v: it was to trip by itself", st)
	}
	s.run(beatEvery + time.Second)
	seen(Seen{By: 1, Of: 3, Who: "node-00", Own: true}, View{Node: "node-00", State: recloser.Open, Own: true})
	if got := s.nodes[0].c.pulse(s.now()).Open; len(got) != 1 {
		t.Errorf("it says of %q", got)
	}
	s.nodes[0].cut = true
	s.run(beatEvery)
	if got := s.nodes[0].c.status(s.now()).Breakers[0].Seen; got != (Seen{By: 1, Who: "node-00", Own: true}) {
		t.Errorf("without the store: %q", got)
	}
	s.nodes[0].cut = false
	s.run(20 * time.Second)
	for _, n := range s.nodes[1:] {
		n.callers("a", 100*time.Millisecond, p.serve, nil)
	}
	s.await("all cut off", time.Minute, func() bool { return s.record("a").State == recloser.Open })
	s.run(beatEvery + 2*time.Second)
	if v := s.record("a"); v.State == recloser.Closed || v.Seen < 2 || v.Nodes != 3 {
		t.Errorf("%+v", v.Record)
	} else {
		seen(Seen{By: v.Seen, Of: 3}, View{Node: "node-01", State: v.State})
	}
}

// What fails to everybody everywhere is our own uplink: nobody decides for others.
func TestUplink(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	s := newSim(t, 1, 5, Config{}, names, hotel())
	p := &partner{}
	for _, n := range s.nodes {
		for _, name := range names {
			n.callers(name, time.Second, p.serve, nil)
		}
	}
	s.run(2 * time.Minute)
	p.fails = true
	s.run(2 * time.Minute)
	st := s.nodes[2].c.status(s.now())
	if !st.Uplink || !st.Doubtful {
		t.Errorf("uplink %t, doubtful %t", st.Uplink, st.Doubtful)
	}
	for _, name := range names {
		if s.in(name, recloser.Closed) > 0 {
			t.Errorf("%s: not all protect themselves", name)
		}
	}
	p.fails = false
	s.await("all close", 10*time.Minute, func() bool {
		for _, name := range names {
			if s.in(name, recloser.Closed) != 5 {
				return false
			}
		}
		return true
	})
	s.run(time.Minute + 10*time.Second)
	if st := s.nodes[2].c.status(s.now()); st.Uplink || st.Doubtful {
		t.Errorf("uplink %t, doubtful %t after it was well", st.Uplink, st.Doubtful)
	}
}

// Of a dependency that is called every few minutes the window reaches back further.
func TestQuietDependency(t *testing.T) {
	s := newSim(t, 1, 10, Config{}, []string{"hotel"}, hotel())
	s.tick = time.Second
	p := &partner{}
	for _, n := range s.nodes {
		n.callers("hotel", time.Hour/2, p.serve, nil) // together one in three minutes
	}
	s.run(time.Hour)
	p.fails = true
	took := s.await("the fleet trips", time.Hour, func() bool { return s.record("hotel").State == recloser.Open })
	t.Logf("after %s: %s", took, s.record("hotel").Note)
}

// Evidence counts once: after a recovery it takes new failures to trip, be they of nodes
// that had seen some before or of others.
func TestOldEvidence(t *testing.T) {
	for _, before := range []bool{false, true} {
		s := newSim(t, 1, 10, Config{}, []string{"hotel"}, hotel())
		s.run(10 * time.Second)
		p := &partner{fails: true}
		for _, n := range s.nodes {
			n.callers("hotel", 5*time.Second, p.serve, nil)
		}
		s.await("the fleet trips", time.Minute, func() bool { return s.record("hotel").State == recloser.Open })
		p.fails = false
		s.mustClose(10, 40*time.Second)
		closed := s.record("hotel").Rev
		failed := 0
		for _, n := range s.nodes {
			if n.breakers["hotel"].Report().Bad > 0 == before && failed < 3 {
				n.call("hotel", func(*simNode, string) (time.Duration, error) { return 0, errDown })
				failed++
			}
		}
		s.run(20 * time.Second)
		if v := s.record("hotel"); v.Rev != closed || failed != 3 {
			t.Errorf("before %t, %d failed: %+v", before, failed, v.Record)
		}
	}
}

// Where so much fails that all nodes doubt their network, what is well again is found
// out all the same.
func TestDoubtfulNodesTry(t *testing.T) {
	names := []string{"a", "b", "c"}
	s := newSim(t, 1, 5, Config{Rule: Rule{Failures: 50}}, names, hotel()) // they doubt sooner than they trip
	down := map[string]*partner{"a": {}, "b": {}, "c": {}}
	for _, n := range s.nodes {
		for _, name := range names {
			n.callers(name, 2*time.Second, func(n *simNode, name string) (time.Duration, error) { return down[name].serve(n, name) }, nil)
		}
	}
	s.run(2 * time.Minute)
	down["a"].fails = true
	s.await("a trips", time.Minute, func() bool { return s.record("a").State == recloser.Open })
	down["b"].fails = true
	s.await("all are doubtful", time.Minute, func() bool { return s.nodes[0].c.status(s.now()).Uplink })
	s.run(time.Minute)
	down["a"].fails = false
	s.await("a closes", 3*time.Minute, func() bool { return s.in("a", recloser.Closed) == 5 })
	if s.in("b", recloser.Closed) > 0 {
		t.Error("b closed")
	}
}

// A quiet dependency closes again as well.
func TestQuietDependencyCloses(t *testing.T) {
	s := newSim(t, 1, 5, Config{}, []string{"hotel"}, hotel())
	s.tick = time.Second
	p := &partner{fails: true}
	for _, n := range s.nodes {
		n.callers("hotel", 10*time.Minute, p.serve, nil)
	}
	s.await("the fleet trips", 2*time.Hour, func() bool { return s.record("hotel").State == recloser.Open })
	s.run(time.Hour)
	p.fails = false
	took := s.await("all close", 2*time.Hour, func() bool { return s.in("hotel", recloser.Closed) == 5 })
	t.Logf("after %s; %v", took, s.ops)
}

// What a node says that doubts its own network counts for nothing.
func TestDoubtfulNodesDoNotCount(t *testing.T) {
	s := newSim(t, 1, 5, Config{}, []string{"a", "b", "c"}, hotel())
	s.run(10 * time.Second)
	p, well := &partner{fails: true}, &partner{}
	for _, n := range s.nodes[:2] { // a rack
		n.call("a", well.serve)
		for range 2 {
			n.call("b", p.serve)
			n.call("c", p.serve)
		}
	}
	s.run(2 * time.Second)
	for _, n := range s.nodes[:2] {
		if !n.c.doubtful {
			t.Fatal("it does not doubt its network")
		}
		for range 4 {
			n.call("a", p.serve)
		}
	}
	s.run(time.Second)
	s.nodes[3].call("a", p.serve)
	s.nodes[1].c.byName["a"].tripNow(s.nodes[1].c, "probe", "two probes failed", s.now())
	s.run(10 * time.Second)
	if all := s.tripped([]string{"a", "b", "c"}); len(all) > 0 {
		t.Errorf("%v tripped: %+v", all, s.record(all[0]).Record)
	}
	s.nodes[2].call("a", p.serve)
	for range 2 {
		s.nodes[3].call("a", p.serve)
		s.nodes[4].call("a", p.serve)
	}
	s.await("others count", 2*time.Second, func() bool { return s.record("a").State == recloser.Open })
}

// Three nodes that have tripped by themselves are half of those that say something. They
// ask, and the others say that their calls are good.
func TestOpenNodesAmongMany(t *testing.T) {
	s := newSim(t, 1, 12, Config{}, []string{"hotel"}, hotel())
	down, well := &partner{}, &partner{}
	for i, n := range s.nodes {
		p := well
		if i < 3 {
			p = down
		}
		n.callers("hotel", time.Second, p.serve, nil)
	}
	s.run(2 * time.Minute)
	down.fails = true
	s.run(40 * time.Second)
	if n := s.in("hotel", recloser.Closed); n != 9 {
		t.Errorf("%d are closed", n)
	}
	if v := s.record("hotel"); v.Rev != (Rev{}) {
		t.Errorf("%+v", v.Record)
	}
	well.fails = true
	s.await("all refuse", 10*time.Second, func() bool { return s.in("hotel", recloser.Closed) == 0 })
	s.await("the fleet trips", 2*time.Second, func() bool { return s.record("hotel").State == recloser.Open })
}

// Two nodes of many see calls fail, again and again: each time they ask what the others see,
// however long ago that was asked before.
func TestAskedAgain(t *testing.T) {
	s := newSim(t, 1, 12, Config{}, []string{"hotel"}, hotel())
	s.tick = time.Second / 2
	down, well := &partner{fails: true}, &partner{}
	for _, n := range s.nodes[2:] {
		n.callers("hotel", 3*time.Second, well.serve, nil)
	}
	for range 3 {
		s.run(40 * time.Minute) // what was answered before is too old
		for range 4 {
			for _, n := range s.nodes[:2] {
				n.call("hotel", down.serve)
			}
			s.run(time.Second)
		}
		s.run(10 * time.Second)
		if v := s.record("hotel"); v.Rev != (Rev{}) {
			t.Fatalf("at %s: %+v", s.virtual.Since(epoch), v.Record)
		}
	}
	if n := s.nodes[0].c.byName["hotel"]; n.askRev == (Rev{}) {
		t.Error("nobody has asked")
	}
}
