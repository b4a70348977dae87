package fleet

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

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

// An act of an operator is in force where it is made, and everywhere once the store
// is in reach.
func TestActWhileCutOff(t *testing.T) {
	isolated := Record{State: recloser.Isolated, Reason: recloser.ReasonIsolated, By: "ann", Note: "fire"}
	held := Record{State: recloser.HeldClosed, Reason: recloser.ReasonHeldClosed, By: "bob", Note: "festival"}
	set := func(t *testing.T, n *simNode, r Record) {
		t.Helper()
		if err := n.c.byName["hotel"].set(r, time.Time{}, n.now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		others func(t *testing.T, before bool, n *simNode)
		want   recloser.State
	}{
		{"alone", func(*testing.T, bool, *simNode) {}, recloser.Isolated},
		{"an earlier one elsewhere", func(t *testing.T, before bool, n *simNode) {
			if before {
				set(t, n, held)
			}
		}, recloser.Isolated},
		{"a later one elsewhere", func(t *testing.T, before bool, n *simNode) {
			if !before {
				set(t, n, held)
			}
		}, recloser.HeldClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t, 1, 3, Config{}, []string{"hotel"}, hotel())
			s.run(10 * time.Second)
			cut, other := s.nodes[0], s.nodes[1]
			cut.cut = true
			s.run(10 * time.Second)
			c.others(t, true, other)
			s.run(10 * time.Second)
			set(t, cut, isolated)
			if st := cut.breakers["hotel"].State(); st != recloser.Isolated {
				t.Fatalf("%s on the node itself", st)
			}
			s.run(10 * time.Second)
			if b := cut.c.status(s.now()).Breakers[0]; b.NotShared == nil || b.NotShared.By != "ann" {
				t.Errorf("%+v", b)
			}
			c.others(t, false, other)
			s.run(10 * time.Second)
			if n := s.in("hotel", recloser.Isolated); n != 1 {
				t.Fatalf("%d isolated", n)
			}
			cut.cut = false
			s.await("all have it", 15*time.Second, func() bool { return s.in("hotel", c.want) == 3 })
			if b := cut.c.status(s.now()).Breakers[0]; b.NotShared != nil {
				t.Errorf("still not shared: %+v", b)
			}
			before := cut.breakers["hotel"].Stats().Seq
			s.run(time.Minute)
			if after := cut.breakers["hotel"].Stats().Seq; after != before {
				t.Errorf("%d transitions more", after-before)
			}
		})
	}
}

// A release reaches all, and so does a reset.
func TestReleaseAndReset(t *testing.T) {
	s := newSim(t, 1, 3, Config{}, []string{"hotel"}, hotel())
	p := &partner{}
	for _, n := range s.nodes {
		n.callers("hotel", time.Second, p.serve, nil)
	}
	s.run(10 * time.Second)
	m := func(i int) *member { return s.nodes[i].c.byName["hotel"] }
	must := func(state recloser.State) {
		t.Helper()
		s.await("all are "+state.String(), 2*time.Second, func() bool { return s.in("hotel", state) == 3 })
	}
	if err := m(0).set(Record{State: recloser.Isolated, By: "ann", Note: "fire"}, time.Time{}, s.now()); err != nil {
		t.Fatal(err)
	}
	must(recloser.Isolated)
	if !m(1).release("bob", "out", s.now()) {
		t.Error("nothing to release")
	}
	must(recloser.HalfOpen)
	s.mustClose(3, time.Minute)
	if s.mostOf["hotel"] != 1 {
		t.Errorf("%d trials at once", s.mostOf["hotel"])
	}
	if err := m(2).set(Record{State: recloser.HeldClosed, By: "ann", Note: "festival"}, s.now().Add(20*time.Second), s.now()); err != nil {
		t.Fatal(err)
	}
	must(recloser.HeldClosed)
	s.run(21 * time.Second)
	must(recloser.Closed)
	p.fails = true
	s.await("the fleet trips", time.Minute, func() bool { return s.in("hotel", recloser.Open) == 3 })
	p.fails = false
	m(1).reset("ann", "well again", s.now())
	must(recloser.Closed)
	if st := s.nodes[2].breakers["hotel"].Stats(); st.Reason != recloser.ReasonReset || st.Began.By != "ann" {
		t.Errorf("%+v", st.Began)
	}
	s.run(time.Minute)
	must(recloser.Closed)
}

// A store that forgets everything closes nobody.
func TestFlush(t *testing.T) {
	p := &partner{}
	s := outage(t, 10, 5*time.Second, p)
	for range 5 {
		before := s.record("hotel").Rev
		s.flush()
		for range 300 {
			s.run(10 * time.Millisecond)
			if n := s.in("hotel", recloser.Closed); n != 0 {
				t.Fatalf("%d closed\n%s", n, s.describe())
			}
		}
		if after := s.record("hotel"); after.Epoch <= before.Epoch || after.State == recloser.Closed {
			t.Errorf("%+v after a flush, %+v before", after, before)
		}
		s.run(20 * time.Second)
	}
	if s.mostOf["hotel"] > 1 {
		t.Errorf("%d trials at once", s.mostOf["hotel"])
	}
	p.fails = false
	s.mustClose(10, 3*time.Minute)
}

// A failover that loses the last write, which was that of the reclosing or the trip.
func TestStoreGoesBack(t *testing.T) {
	p := &partner{}
	s := outage(t, 10, 5*time.Second, p)
	tripped := s.record("hotel")
	// The store went back to before the trip: there is no record.
	s.store.shared.mu.Lock()
	delete(s.store.shared.docs, breakerKey+"hotel")
	s.store.shared.changes += 1000 // positions of the other life
	s.store.shared.floor = s.store.shared.changes
	s.store.shared.mu.Unlock()
	for _, n := range s.nodes {
		n.catchUp(n.watch, n.c.position)
	}
	s.await("it is open again", 5*time.Second, func() bool { return s.record("hotel").Epoch > tripped.Epoch })
	if n := s.in("hotel", recloser.Closed); n != 0 {
		t.Errorf("%d closed", n)
	}
	p.fails = false
	s.mustClose(10, 3*time.Minute)
}

// With the store away nodes keep to what they heard, then decide alone, not all at
// once; when it is back they agree again.
func TestStoreAway(t *testing.T) {
	p := &partner{}
	s := outage(t, 20, 5*time.Second, p)
	open := s.record("hotel")
	s.hung = true
	away := s.now()
	var trials []time.Duration
	taken := func() (n uint64) {
		for _, node := range s.nodes {
			st := node.breakers["hotel"].Stats()
			n += st.Failed
		}
		return n
	}
	before := taken()
	for s.virtual.Since(away) < 2*time.Minute {
		s.run(100 * time.Millisecond)
		if n := taken(); n > before {
			before = n
			trials = append(trials, s.virtual.Since(away))
		}
	}
	if len(trials) == 0 || trials[0] < open.Lasts || trials[0] < grace-refresh {
		t.Errorf("trials of their own after %v, the fleet had said %s", trials, open.Lasts)
	}
	if len(trials) > 120 {
		t.Errorf("%d trials in two minutes", len(trials))
	}
	t.Logf("%d trials of their own in two minutes, the first after %s", len(trials), trials[0])
	for _, n := range s.nodes {
		if st := n.c.status(s.now()); st.Mode == Shared || st.Err == nil {
			t.Fatalf("%+v", st)
		}
	}
	s.run(time.Minute)
	s.hung = false
	s.await("all share again", 30*time.Second, func() bool {
		for _, n := range s.nodes {
			if n.c.status(s.now()).Mode != Shared {
				return false
			}
		}
		return true
	})
	s.run(10 * time.Second)
	if n := s.in("hotel", recloser.Closed); n != 0 {
		t.Errorf("%d closed while it is down", n)
	}
	p.fails = false
	s.mustClose(20, 3*time.Minute)
}

// All close by themselves if the dependency is well again while the store is away.
func TestStoreStaysAway(t *testing.T) {
	p := &partner{}
	s := outage(t, 20, 5*time.Second, p)
	s.hung = true
	s.run(30 * time.Second)
	p.fails = false
	s.await("all close", 3*time.Minute, func() bool { return s.in("hotel", recloser.Closed) == 20 })
}

// A node that dies with a lease has failed its trial.
func TestNodeDiesWithLease(t *testing.T) {
	p := &partner{}
	s := outage(t, 5, 5*time.Second, p)
	p.fails = false
	var dead *simNode
	s.await("somebody has a lease", time.Minute, func() bool {
		for _, n := range s.nodes {
			if n.c.byName["hotel"].trial != nil {
				dead = n
			}
		}
		return dead != nil
	})
	half := s.record("hotel")
	dead.cut, dead.breakers["hotel"] = true, newBreaker(t, "another life")
	s.await("the trial is bad", 40*time.Second, func() bool { return s.record("hotel").Epoch > half.Epoch })
	if v := s.record("hotel"); v.State != recloser.Open || v.Reason != recloser.ReasonTrialFailed || v.Step != half.Step+1 {
		t.Errorf("%+v", v.Record)
	}
	s.await("the others close", 3*time.Minute, func() bool { return s.record("hotel").State == recloser.Closed })
}

// A node with older settings follows, and does not decide.
func TestRollingSettings(t *testing.T) {
	s := newSim(t, 1, 6, Config{Settings: 7}, []string{"hotel"}, hotel())
	old := s.add("older", Config{Settings: 6, Rule: Rule{Reporters: 1, Failures: 1}}, []string{"hotel"}, hotel())
	s.run(20 * time.Second)
	if !old.c.status(s.now()).Outdated || s.nodes[0].c.status(s.now()).Outdated {
		t.Error("who is outdated?")
	}
	p := &partner{fails: true}
	for range 3 {
		old.call("hotel", p.serve)
		s.run(time.Second)
	}
	s.run(10 * time.Second)
	if v := s.record("hotel"); v.Rev != (Rev{}) {
		t.Errorf("it decided: %+v", v.Record)
	}
	for _, n := range s.nodes[:5] {
		n.call("hotel", p.serve)
	}
	s.await("it follows", 2*time.Second, func() bool { return old.breakers["hotel"].State() == recloser.Open })
	if v := s.record("hotel"); v.Settings != 7 {
		t.Errorf("%+v", v.Record)
	}
}

// Another fleet's store, or one of a newer schema, is left alone, and calls go on.
func TestStrangers(t *testing.T) {
	for name, c := range map[string]struct {
		about string
		says  string
	}{
		"another fleet":  {`{"schema":1,"fleet":"port"}`, `belongs to the fleet "port", and this node to "town"`},
		"a newer schema": {`{"schema":9,"fleet":"town"}`, "has schema 9, and this program knows 1; update"},
		"something else": {`PNG`, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, 1, 0, Config{}, nil, recloser.Config{})
			if _, err := s.store.Put(context.Background(), Rev{}, Doc{Key: aboutKey, Rev: Rev{1, 1}, Data: []byte(c.about)}); err != nil {
				t.Fatal(err)
			}
			n := s.add("a", Config{}, []string{"hotel"}, hotel())
			s.run(time.Minute)
			st := n.c.status(s.now())
			if st.Mode != Alone || st.Err == nil || !strings.Contains(st.Err.Error(), c.says) {
				t.Errorf("%+v", st)
			}
			p := &partner{fails: true}
			n.callers("hotel", time.Second, p.serve, nil)
			s.run(20 * time.Second)
			if n.breakers["hotel"].State() == recloser.Closed {
				t.Error("it did not trip alone")
			}
			if docs, _, err := s.store.Load(context.Background()); len(docs) != 1 || err != nil {
				t.Errorf("it wrote into the store: %v", docs)
			}
			if s.ops[opLoad] > 10 {
				t.Errorf("%d loads in a minute", s.ops[opLoad])
			}
		})
	}
}

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
			if c.probe != nil && probes != 1 {
				t.Errorf("%d probes", probes)
			}
		})
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

// Evidence counts once: after a recovery it takes new failures to trip.
func TestOldEvidence(t *testing.T) {
	p := &partner{}
	s := outage(t, 10, 2*time.Second, p)
	p.fails = false
	s.mustClose(10, time.Minute)
	closed := s.record("hotel").Rev
	for _, n := range s.nodes[:2] {
		n.call("hotel", func(*simNode, string) (time.Duration, error) { return 0, errDown })
	}
	s.run(20 * time.Second)
	if v := s.record("hotel"); v.Rev != closed {
		t.Errorf("%+v", v.Record)
	}
}

// At most one node holds a role, also when its holder is cut off.
func TestRoles(t *testing.T) {
	s := newSim(t, 1, 3, Config{}, nil, recloser.Config{})
	for _, n := range s.nodes {
		n.c.seek("sender")
	}
	holders := func() (all []*simNode) {
		for _, n := range s.nodes {
			if n.c.holds("sender", s.now()) {
				all = append(all, n)
			}
		}
		return all
	}
	s.await("there is one", 10*time.Second, func() bool { return len(holders()) == 1 })
	first := holders()[0]
	s.run(time.Minute)
	if h := holders(); len(h) != 1 || h[0] != first {
		t.Fatalf("%d holders, or another", len(h))
	}
	first.cut = true
	s.await("another has it", time.Minute, func() bool {
		h := holders()
		if len(h) > 1 {
			t.Fatalf("%d have it", len(h))
		}
		return len(h) == 1 && h[0] != first
	})
	first.cut = false
	second := holders()[0]
	second.c.quit("sender", s.now())
	s.await("it is given up", 15*time.Second, func() bool { return len(holders()) == 1 && holders()[0] != second })
}

// Whatever befalls the store and the nodes, and however often: afterwards all agree,
// and all is closed.
func TestChaos(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 3))
		s := newSim(t, seed, 10, Config{}, []string{"hotel"}, hotel())
		p := &partner{}
		for _, n := range s.nodes {
			n.callers("hotel", 5*time.Second, p.serve, nil)
		}
		s.run(time.Minute)
		for range 60 {
			switch n := s.nodes[random.IntN(len(s.nodes))]; random.IntN(9) {
			case 0:
				p.fails = !p.fails
			case 1:
				p.hangs = !p.hangs
			case 2:
				s.flush()
			case 3:
				s.hung = !s.hung
			case 4:
				n.cut = !n.cut
			case 5:
				s.lossy = random.Float64() / 3
			case 6:
				s.deaf = random.Float64()
			case 7:
				s.delay = time.Duration(random.Int64N(int64(150 * time.Millisecond)))
			case 8:
				switch random.IntN(4) {
				case 0:
					_ = n.c.byName["hotel"].set(Record{State: recloser.Isolated, By: "ann", Note: "why"}, s.now().Add(20*time.Second), s.now())
				case 1:
					n.c.byName["hotel"].release("bob", "why", s.now())
				case 2:
					n.c.byName["hotel"].reset("bob", "why", s.now())
				case 3:
					n.c.byName["hotel"].try(n.c, "bob", "why")
				}
			}
			s.run(time.Duration(random.Int64N(int64(20 * time.Second))))
		}
		*p, s.hung, s.lossy, s.deaf, s.delay = partner{}, false, 0, 0, 2*time.Millisecond
		for _, n := range s.nodes {
			n.cut = false
		}
		took := s.await("all is well", 10*time.Minute, func() bool {
			for _, n := range s.nodes {
				st := n.c.status(s.now())
				if b := st.Breakers[0]; st.Mode != Shared || b.NotShared != nil || b.Rev != s.record("hotel").Rev || n.breakers["hotel"].State() != recloser.Closed {
					return false
				}
			}
			return true
		})
		t.Logf("seed %d: all well after %s", seed, took)
	}
}

// Clocks that are wrong by an hour change nothing: no two of them are compared.
func TestSkewedClocks(t *testing.T) {
	s := newSim(t, 1, 3, Config{}, []string{"hotel"}, hotel())
	for name, skew := range map[string]time.Duration{"early": -time.Hour, "late": time.Hour} {
		s.addSkewed(name, skew, Config{}, []string{"hotel"}, hotel())
	}
	p := &partner{}
	for _, n := range s.nodes {
		n.callers("hotel", 3*time.Second, p.serve, nil)
	}
	s.run(20 * time.Second)
	late := s.nodes[4]
	if err := late.c.byName["hotel"].set(Record{State: recloser.Isolated, By: "ann", Note: "fire"}, late.now().Add(time.Minute), late.now()); err != nil {
		t.Fatal(err)
	}
	s.await("all are isolated", 2*time.Second, func() bool { return s.in("hotel", recloser.Isolated) == 5 })
	s.run(57 * time.Second)
	if n := s.in("hotel", recloser.Isolated); n != 5 {
		t.Errorf("%d are isolated shortly before its end", n)
	}
	s.await("its end", 4*time.Second, func() bool { return s.in("hotel", recloser.Isolated) == 0 })
	s.mustClose(5, time.Minute)
	p.fails = true
	s.await("the fleet trips", time.Minute, func() bool { return s.in("hotel", recloser.Open) == 5 })
	s.run(time.Minute)
	p.fails = false
	s.mustClose(5, 2*time.Minute)
	if s.mostOf["hotel"] != 1 {
		t.Errorf("%d trials at once", s.mostOf["hotel"])
	}
	if n := len(s.nodes[0].c.status(s.now()).Nodes); n != 5 {
		t.Errorf("%d nodes known", n)
	}
}

// Two processes with one name say so.
func TestTwins(t *testing.T) {
	s := newSim(t, 1, 3, Config{}, nil, recloser.Config{})
	s.run(30 * time.Second)
	if err := s.nodes[1].c.status(s.now()).Err; err != nil {
		t.Error(err)
	}
	s.add("node-01", Config{}, nil, recloser.Config{})
	s.await("it is noticed", 20*time.Second, func() bool { return s.nodes[1].c.status(s.now()).Err == errTwin })
	if err := s.nodes[0].c.status(s.now()).Err; err != nil {
		t.Error(err)
	}
}
