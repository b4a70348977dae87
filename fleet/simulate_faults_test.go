//go:build !race

package fleet

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

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
	if s.mostOf["hotel"] > 2 {
		t.Errorf("%d trials at once", s.mostOf["hotel"])
	}
	p.fails = false
	s.mustClose(10, 3*time.Minute)
}

// What an operator has set is put back, and is no news.
func TestFlushWhileIsolated(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"without end": 0, "with an end": time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, 1, 3, Config{}, []string{"hotel"}, hotel())
			s.run(10 * time.Second)
			r := Record{State: recloser.Isolated, Reason: recloser.ReasonIsolated, By: "ann", Note: "fire"}
			n := s.nodes[0]
			var until time.Time
			if lasts > 0 {
				until = n.now().Add(lasts)
			}
			if err := n.c.byName["hotel"].set(r, until, n.now()); err != nil {
				t.Fatal(err)
			}
			s.await("all have it", 5*time.Second, func() bool { return s.in("hotel", recloser.Isolated) == 3 })
			var before []recloser.Stats
			for _, n := range s.nodes {
				before = append(before, n.breakers["hotel"].Stats())
			}
			for range 3 {
				s.flush()
				s.run(10 * time.Second)
			}
			if is := s.record("hotel"); is.State != recloser.Isolated {
				t.Errorf("the store has %+v", is)
			}
			for i, n := range s.nodes {
				if after := n.breakers["hotel"].Stats(); after.Seq != before[i].Seq || !after.Override.Since.Equal(before[i].Override.Since) {
					t.Errorf("node %d: %d transitions more; isolated since %v, was %v", i, after.Seq-before[i].Seq, after.Override.Since, before[i].Override.Since)
				}
			}
		})
	}
}

// A failover that loses the last write, which was the trip: be it that the nodes are told
// to load again, or that they just see an older version.
func TestStoreGoesBack(t *testing.T) {
	for name, back := range map[string]func(s *sim, lost *shared){
		"and says so": func(s *sim, lost *shared) {
			delete(lost.docs, breakerKey+"hotel")
			lost.changes += 1000 // positions of the other life
			lost.floor = lost.changes
		},
		"and nobody says so": func(_ *sim, lost *shared) {
			lost.changes++
			old := Doc{Key: breakerKey + "hotel", Rev: Rev{0, 77}, Data: encode(Record{State: recloser.Closed})}
			lost.docs[old.Key] = &doc{Doc: old, put: lost.now(), change: lost.changes, leases: map[uint64]time.Time{}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &partner{}
			s := outage(t, 10, 5*time.Second, p)
			tripped := s.record("hotel")
			back(s, s.store.shared)
			for _, n := range s.nodes {
				n.catchUp(n.watch, n.c.position)
			}
			s.await("it is open again", 5*time.Second, func() bool { return s.record("hotel").Epoch > tripped.Epoch })
			if n := s.in("hotel", recloser.Closed); n != 0 {
				t.Errorf("%d closed", n)
			}
			p.fails = false
			s.mustClose(10, 3*time.Minute)
		})
	}
}

// A bad trial opens all again, for longer; as many good ones close as are needed.
func TestTrials(t *testing.T) {
	p := &partner{}
	s := outage(t, 5, 2*time.Second, p)
	s.await("a trial is bad", 30*time.Second, func() bool { return s.record("hotel").Reason == recloser.ReasonTrialFailed })
	s.await("all know", time.Second/2, func() bool { return s.in("hotel", recloser.Open) == 5 })
	if v := s.record("hotel"); v.Step != 1 || v.Lasts != 10*time.Second || v.Cause != "down" || len(s.trials) > 2 {
		t.Errorf("%+v after %d trials", v.Record, len(s.trials))
	}
	before := len(s.trials) // another may have begun before all knew
	p.fails = false
	s.mustClose(5, 2*time.Minute)
	if n := len(s.trials) - before; n != 2 {
		t.Errorf("closed after %d good trials", n)
	}
}

// With the store away nodes keep to what they heard, then decide alone, not all at
// once; when it is back they agree again.
func TestStoreAway(t *testing.T) {
	const nodes = 60
	p := &partner{}
	s := outage(t, nodes, 5*time.Second, p)
	open := s.record("hotel")
	s.hung, s.trials = true, nil
	away := s.now()
	s.run(160 * time.Second)
	if first := s.trials[0].Sub(away); first < open.Lasts || first < grace-refresh {
		t.Errorf("the first trial of its own after %s, the fleet had said %s", first, open.Lasts)
	}
	most, from := 0, 0
	for i, at := range s.trials {
		for at.Sub(s.trials[from]) > 10*time.Second {
			from++
		}
		most = max(most, i-from+1)
	}
	t.Logf("%d trials of their own, up to %d in 10 s", len(s.trials), most)
	if len(s.trials) < nodes || len(s.trials) > 160 || most > 25 {
		t.Errorf("%d trials in 160 s, %d in 10 s", len(s.trials), most)
	}
	for _, n := range s.nodes {
		if st := n.c.status(s.now()); st.Mode == Shared || st.Err == nil {
			t.Fatalf("%+v", st)
		}
	}
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
	s.mustClose(nodes, 3*time.Minute)
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

// What nodes have seen while the store was away counts once it is back.
func TestStoreBackDuringOutage(t *testing.T) {
	s := newSim(t, 1, 10, Config{}, []string{"hotel"}, hotel())
	p := &partner{}
	for _, n := range s.nodes {
		n.callers("hotel", time.Second, p.serve, nil)
	}
	s.run(time.Minute)
	s.hung = true
	s.run(10 * time.Second)
	p.fails = true
	s.await("all protect themselves", time.Minute, func() bool { return s.in("hotel", recloser.Closed) == 0 })
	s.hung = false
	s.await("the fleet trips", 20*time.Second, func() bool { return s.record("hotel").State == recloser.Open })
}

// Whose caller was last has the trial: where one node has many callers and the others
// few, it does not wait for theirs.
func TestTrialGoesWhereCallersAre(t *testing.T) {
	var sum time.Duration
	const seeds = 20
	for seed := range uint64(seeds) {
		s := newSim(t, seed, 10, Config{}, []string{"hotel"}, hotel())
		p := &partner{}
		for i, n := range s.nodes {
			interval := time.Minute
			if i == 0 {
				interval = time.Second / 2
			}
			n.callers("hotel", interval, p.serve, nil)
		}
		s.run(2 * time.Minute)
		p.fails = true
		s.await("the fleet trips", 2*time.Minute, func() bool { return s.record("hotel").State == recloser.Open })
		s.run(30 * time.Second)
		s.await("it is open", time.Minute, func() bool { return s.record("hotel").State == recloser.Open })
		p.fails = false
		v := s.record("hotel")
		s.run(v.left(s.now()))
		d := s.await("all close", 10*time.Minute, func() bool { return s.in("hotel", recloser.Closed) == 10 })
		sum += d
	}
	if mean := sum / seeds; mean > 10*time.Second { // 30 s where it waits for theirs
		t.Errorf("they close %s after the open time", mean)
	} else {
		t.Log(mean)
	}
}

// What was seen counts though the store goes away for a moment while nodes say it or look
// what the others say, and nothing more is seen.
func TestStoreAwayDuringTheTrip(t *testing.T) {
	for after := time.Duration(0); after < 500*time.Millisecond; after += 5 * time.Millisecond {
		s := newSim(t, uint64(after), 3, Config{}, []string{"hotel"}, hotel())
		s.delay = 50 * time.Millisecond
		s.run(10 * time.Second)
		p := &partner{fails: true}
		for _, i := range []int{0, 0, 1, 1, 2} {
			s.nodes[i].call("hotel", p.serve)
		}
		s.run(after)
		s.hung = true
		s.run(3 * time.Second)
		s.hung = false
		s.await("all are open, the store was away after "+after.String(), 20*time.Second, func() bool { return s.in("hotel", recloser.Open) == 3 })
	}
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
	if v := s.record("hotel"); v.State != recloser.Open || v.Reason != recloser.ReasonTrialFailed {
		t.Errorf("%+v", v.Record)
	}
	s.await("the others close", 3*time.Minute, func() bool { return s.record("hotel").State == recloser.Closed })
}

// Whatever befalls the store and the nodes, and however often: afterwards all agree,
// and all is closed.
func TestChaos(t *testing.T) {
	for seed := range uint64(6) {
		chaos(t, seed)
	}
}

// BenchmarkChaos goes on with other seeds.
func BenchmarkChaos(b *testing.B) {
	seed := uint64(100)
	for b.Loop() {
		seed++
		chaos(b, seed)
	}
}

func chaos(t testing.TB, seed uint64) {
	t.Helper()
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

// However bad the way to the store is, no more trials run at once than may: as long as
// nodes do not lose it for so long that each decides for itself.
func TestTrialsWithinBound(t *testing.T) {
	p := &partner{}
	s := outage(t, 20, 2*time.Second, p)
	s.mostOf["hotel"] = 0
	p.fails, p.hangs = false, true
	s.lossy, s.deaf, s.delay = 0.1, 0.5, 50*time.Millisecond
	for range 20 {
		s.run(35 * time.Second)
		s.flush()
		s.run(5 * time.Second)
		s.hung = true
		s.run(10 * time.Second)
		s.hung = false
	}
	if most := s.mostOf["hotel"]; most < 1 || most > 2 {
		t.Errorf("%d trials at once", most)
	}
	p.hangs = false
	s.mustClose(20, 5*time.Minute)
}
