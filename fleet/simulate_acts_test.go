//go:build !race

package fleet

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

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
	if s.mostOf["hotel"] > 2 {
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
			if _, err := s.store.Put(t.Context(), Rev{}, Doc{Key: aboutKey, Rev: Rev{1, 1}, Data: []byte(c.about)}); err != nil {
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
			if docs, _, err := s.store.Load(t.Context()); len(docs) != 1 || err != nil {
				t.Errorf("it wrote into the store: %v", docs)
			}
			if s.ops[opLoad] > 10 {
				t.Errorf("%d loads in a minute", s.ops[opLoad])
			}
		})
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
	s.await("it is noticed", 20*time.Second, func() bool { return errors.Is(s.nodes[1].c.status(s.now()).Err, errTwin) })
	if err := s.nodes[0].c.status(s.now()).Err; err != nil {
		t.Error(err)
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
	if s.mostOf["hotel"] > 2 {
		t.Errorf("%d trials at once", s.mostOf["hotel"])
	}
	if n := len(s.nodes[0].c.status(s.now()).Nodes); n != 5 {
		t.Errorf("%d nodes known", n)
	}
}

// Who probes for all trips all, holds trials back everywhere and starts them.
func TestProber(t *testing.T) {
	s := newSim(t, 1, 5, Config{}, []string{"hotel"}, hotel())
	p := &partner{}
	for _, n := range s.nodes {
		n.callers("hotel", time.Second, p.serve, nil)
	}
	s.run(10 * time.Second)
	prober := s.nodes[2]
	m := prober.c.byName["hotel"]
	if !m.tripNow(prober.c, "probe", "three probes failed", prober.now()) {
		t.Fatal("not tripped")
	}
	s.await("all refuse", 2*time.Second, func() bool { return s.in("hotel", recloser.Open) == 5 })
	if v := s.record("hotel"); v.Reason != recloser.ReasonProbe || v.Note != "three probes failed" {
		t.Errorf("%+v", v.Record)
	}
	for range 30 {
		s.run(2 * time.Second)
		if !m.holdTrials(prober.c, 10*time.Second, prober.now()) {
			t.Fatal("not open")
		}
	}
	if s.mostOf["hotel"] != 0 || s.in("hotel", recloser.Open) != 5 {
		t.Errorf("%d trials, although the probes fail", s.mostOf["hotel"])
	}
	s.run(time.Second)
	before := s.record("hotel")
	m.holdTrials(prober.c, time.Second, prober.now()) // does not shorten
	s.run(time.Second)
	if v := s.record("hotel"); v.Rev != before.Rev {
		t.Errorf("%+v after %+v", v, before)
	}
	if !m.try(prober.c, "probe", "a probe was good") {
		t.Fatal("not tried")
	}
	s.mustClose(5, 30*time.Second)
}

// What is said is never too long for a store.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("\u00e4x", MaxData)
	var names []string
	for i := range 600 {
		names = append(names, fmt.Sprintf("%03d%s", i, long[:240]))
	}
	s := newSim(t, 1, 2, Config{Version: long}, names, hotel())
	for _, name := range names {
		m := s.nodes[0].c.byName[name]
		if err := m.set(Record{State: recloser.Isolated, By: long, Note: long}, time.Time{}, s.now()); err != nil {
			t.Fatal(err)
		}
	}
	s.await("all are shared", time.Minute, func() bool {
		for _, name := range names {
			if s.nodes[1].breakers[name].State() != recloser.Isolated {
				return false
			}
		}
		return true
	})
	s.run(time.Minute)
	for _, n := range s.nodes {
		if st := n.c.status(s.now()); st.Mode != Shared || st.Err != nil || len(st.Nodes) != 2 {
			t.Errorf("%s %v, %d nodes", st.Mode, st.Err, len(st.Nodes))
		}
	}
}

// A store that was emptied gets an override again. That is no later act than a release
// which came in between.
func TestReleaseWhileAnOverrideIsPutBack(t *testing.T) {
	for after := time.Duration(0); after < 60*time.Millisecond; after += time.Millisecond {
		s := newSim(t, uint64(after), 3, Config{}, []string{"hotel"}, hotel())
		s.run(10 * time.Second)
		if err := s.nodes[0].c.byName["hotel"].set(Record{State: recloser.Isolated, By: "ann", Note: "fire"}, time.Time{}, s.now()); err != nil {
			t.Fatal(err)
		}
		s.await("all are isolated", 10*time.Second, func() bool { return s.in("hotel", recloser.Isolated) == 3 })
		s.run(time.Minute)
		s.flush()
		s.run(after)
		if !s.nodes[1].c.byName["hotel"].release("bob", "out", s.now()) {
			t.Fatalf("after %s there is nothing to release", after)
		}
		s.run(20 * time.Second)
		if n := s.in("hotel", recloser.Isolated); n != 0 {
			t.Errorf("released %s after the flush: %d are isolated still", after, n)
		}
	}
}
