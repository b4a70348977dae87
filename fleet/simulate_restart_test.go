//go:build !race

package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// restarts puts a node in the place of the first, whose breaker is as that one's was when it
// stopped, as if its process had kept it.
func (s *sim) restarts(saved recloser.Saved) *simNode {
	s.Helper()
	first := s.nodes[0]
	first.cut = true // it is no more
	s.nodes = s.nodes[1:]
	n := s.add(first.c.cfg.Node, Config{}, []string{"hotel"}, hotel())
	if err := n.breakers["hotel"].Restore(saved); err != nil {
		s.Fatal(err)
	}
	return n
}

// What an operator had set before a node stopped is in force after its restart, as long as
// nobody has taken it back meanwhile.
func TestOverrideAfterRestart(t *testing.T) {
	ann := Record{State: recloser.Isolated, Reason: recloser.ReasonIsolated, By: "ann", Note: "fire"}
	for name, c := range map[string]struct {
		by        int  // the node on which it was done
		alone     bool // the node had not shared it when it stopped
		meanwhile func(s *sim, other *member)
		want      recloser.State
		kept      bool // nothing is written
	}{
		"it is still so":                         {want: recloser.Isolated, kept: true, meanwhile: func(*sim, *member) {}},
		"it is still so, and was done elsewhere": {by: 1, want: recloser.Isolated, kept: true, meanwhile: func(*sim, *member) {}},
		"released":                               {want: recloser.Closed, meanwhile: func(s *sim, m *member) { m.release("bob", "out", s.now()) }},
		"held closed instead": {want: recloser.HeldClosed, kept: true, meanwhile: func(s *sim, m *member) {
			if err := m.set(Record{State: recloser.HeldClosed, By: "bob", Note: "festival"}, time.Time{}, s.now()); err != nil {
				s.Error(err)
			}
		}},
		"not shared, and nothing known": {alone: true, want: recloser.Isolated, meanwhile: func(*sim, *member) {}},
		"the store is emptied": {want: recloser.Isolated, meanwhile: func(s *sim, _ *member) {
			for _, n := range s.nodes {
				n.cut = true // so that it is not they who put it back
			}
			s.flush()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, 1, 3, Config{}, []string{"hotel"}, hotel())
			for _, n := range s.nodes {
				n.callers("hotel", time.Second, (&partner{}).serve, nil)
			}
			s.run(10 * time.Second)
			// It has a record from before.
			s.nodes[1].c.byName["hotel"].reset("eve", "a new hotel", s.now())
			s.run(10 * time.Second)
			s.nodes[0].cut = c.alone
			s.deaf = 1 // whoever is told is told late
			if err := s.nodes[c.by].c.byName["hotel"].set(ann, s.now().Add(time.Hour), s.now()); err != nil {
				t.Fatal(err)
			}
			s.run(10 * time.Second)
			saved := s.nodes[0].breakers["hotel"].Save()
			s.nodes[0].cut = true
			s.run(10 * time.Second)
			c.meanwhile(s, s.nodes[1].c.byName["hotel"])
			s.run(time.Minute)
			before := s.record("hotel").Rev
			n := s.restarts(saved)
			n.callers("hotel", time.Second, (&partner{}).serve, nil)
			if st := n.breakers["hotel"].State(); st != recloser.Isolated {
				t.Fatalf("%s before the store is heard", st)
			}
			s.await("it obeys", 20*time.Second, func() bool {
				return n.c.synced && n.breakers["hotel"].State() == c.want && s.record("hotel").State == c.want
			})
			s.run(time.Minute)
			if rev := s.record("hotel").Rev; c.kept && rev != before {
				t.Errorf("%+v before, %+v after", before, s.record("hotel"))
			}
			for _, n := range s.nodes {
				n.cut = false
			}
			s.await("all are alike", 30*time.Second, func() bool { return s.in("hotel", c.want) == 3 })
			if c.want != recloser.Isolated {
				return
			}
			s.run(time.Hour)
			if s.in("hotel", recloser.Isolated) != 0 {
				t.Error("its end was forgotten")
			}
		})
	}
}

// What is planned for a time is done by all nodes at once, each for itself. It is one act.
func TestPlannedAct(t *testing.T) {
	s := newSim(t, 1, 20, Config{}, []string{"hotel"}, hotel())
	s.run(10 * time.Second)
	plan := Record{State: recloser.Isolated, Reason: recloser.ReasonIsolated, By: "maintenance", Note: strings.Repeat("their database moves ", 100)}
	set := func(n *simNode, until time.Time) {
		if err := n.c.byName["hotel"].set(plan, until, n.now()); err != nil {
			t.Error(err)
		}
	}
	until := s.now().Add(time.Hour)
	for _, n := range s.nodes {
		s.virtual.After(time.Duration(s.random.Int64N(int64(50*time.Millisecond))), func() {
			if n.breakers["hotel"].State() != recloser.Isolated {
				set(n, until)
			}
		})
	}
	s.run(time.Minute)
	if v := s.record("hotel"); v.Epoch != 1 {
		t.Errorf("it was written %d times", v.Epoch)
	}
	for _, n := range s.nodes {
		if st := n.breakers["hotel"].Stats(); st.Seq != 1 || n.c.status(s.now()).Breakers[0].NotShared != nil {
			t.Errorf("%s: %d transitions, %+v", n.c.cfg.Node, st.Seq, n.c.status(s.now()).Breakers[0])
		}
	}
	// Another end is another act.
	s.nodes[7].cut = true
	s.run(5 * time.Second)
	set(s.nodes[7], until.Add(-10*time.Minute))
	s.run(time.Second)
	s.nodes[7].cut = false
	s.run(10 * time.Second)
	for _, n := range s.nodes {
		if o := n.breakers["hotel"].Stats().Override; o == nil || until.Sub(o.Until) < 9*time.Minute {
			t.Errorf("%s: %+v", n.c.cfg.Node, o)
		}
	}
}
