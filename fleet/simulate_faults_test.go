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
