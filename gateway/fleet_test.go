package gateway

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/internal/eventually"
)

// What two nodes have seen protects the third, which has not made a call; people are
// told once; one trial at a time brings all of them back.
func TestFleetTripsTogether(t *testing.T) {
	newSite(t).tripsTogether(t)
}

func (s *site) tripsTogether(t *testing.T) {
	t.Helper()
	for i := range 3 {
		if code := s.call(t, i); code != http.StatusOK {
			t.Fatalf("node %d: %d", i, code)
		}
	}
	s.down.Store(true)
	for range 3 { // no node has seen 5, and all together have
		s.call(t, 0)
		s.call(t, 1)
	}
	s.all(t, recloser.Open)
	if code := s.call(t, 2); code != http.StatusServiceUnavailable {
		t.Errorf("the third node answers %d", code)
	}
	s.card(t, "Aurora is cut off", "Seen by", "2 of 3 nodes")
	s.down.Store(false)
	s.closes(t)
	s.card(t, "Aurora is back", "2 of 3 nodes")
	s.noCard(t)
}

// Where calls of all nodes fail to all hotels nobody decides for the others; people are
// told once that it is what the nodes have in common, and once that it is over.
func TestFleetInDoubt(t *testing.T) {
	s := newSite(t)
	each := func(node, times int) {
		for hotel := 2; hotel <= 4; hotel++ {
			for range times {
				s.callOf(t, node, hotel)
			}
		}
	}
	doubt := func(node, want int) {
		t.Helper()
		eventually.True(t, patience, func() bool {
			doubtful := 0
			for _, n := range s.nodes[node].member.node.Status().Nodes {
				if n.Doubtful {
					doubtful++
				}
			}
			return doubtful == want
		}, fmt.Sprintf("node %d to know that %d are in doubt", node, want))
	}
	for i := range s.nodes {
		each(i, 1)
	}
	s.lies.Store(true) // a prober's verdict would be for all, and come first
	s.down.Store(true)
	for i := range s.nodes {
		each(i, 2)
		doubt(min(i+1, 2), i+1) // what it says counts for nothing to the next one
	}
	for i := range s.nodes {
		doubt(i, 3)
		each(i, 4)
	}
	s.card(t, "3 of 4 cut off", "Calls of all 3 nodes fail to half of what they call")
	for _, b := range s.nodes[0].member.node.Status().Breakers {
		if b.Name != "hotel-1" && (b.Record.State != recloser.Closed || !b.Seen.Own || b.Seen.By != 3) {
			t.Errorf("%s was decided for all: %+v", b.Name, b)
		}
	}
	s.down.Store(false)
	eventually.True(t, patience, func() bool {
		for i := range s.nodes {
			each(i, 1)
			for _, d := range s.nodes[i].Dependencies().All() {
				if d.Breaker.State() != recloser.Closed {
					return false
				}
			}
		}
		return true
	}, "all to be closed")
	s.card(t, "are back")
	s.noCard(t)
}

// An operator's act on one node is in force on all, and so is its end; one that was done
// while the node was cut off is shared when it is back.
func TestFleetSharesActs(t *testing.T) {
	s := newSite(t)
	operate := func(node int) interface {
		Isolate(by, why string, until time.Time) error
		Release(by, why string) bool
	} {
		d, _ := s.nodes[node].Dependencies().Get("hotel-1")
		return d.Operator()
	}
	if err := operate(0).Isolate("ines", "their database moves", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.all(t, recloser.Isolated)
	d, _ := s.nodes[2].Dependencies().Get("hotel-1")
	if o := d.Breaker.Stats().Override; o == nil || o.By != "ines" || o.Why != "their database moves" || o.Until.IsZero() {
		t.Errorf("the third node has %+v", o)
	}
	eventually.True(t, patience, func() bool {
		kept, _ := s.nodes[2].history.Overrides(t.Context())
		return len(kept) == 1 && kept[0].By == "ines"
	}, "the third node to keep it over a restart")

	s.ways[1].cut.Store(true)
	eventually.True(t, patience, func() bool { return s.nodes[1].member.node.Status().Mode != fleet.Shared }, "the second node to notice")
	if !operate(1).Release("tom", "it is done") {
		t.Error("nothing was released")
	}
	if s.state(0) != recloser.Isolated || s.state(1) == recloser.Isolated {
		t.Errorf("the states are %s and %s", s.state(0), s.state(1))
	}
	s.ways[1].cut.Store(false)
	eventually.True(t, patience, func() bool {
		s.call(t, 0)
		return s.state(0) != recloser.Isolated && s.state(2) != recloser.Isolated
	}, "the release to be shared")
	eventually.True(t, patience, func() bool {
		kept, err := s.nodes[2].history.Overrides(t.Context())
		return err == nil && len(kept) == 0
	}, "the third node to forget it")
}

// G11: three nodes probe a partner as often as one does, also after the one has gone.
func TestG11_ThreeNodesProbeAsOne(t *testing.T) {
	s := newSite(t)
	probers := func() (all []int) {
		for i, g := range s.nodes {
			if g.member.leads(roleProber) {
				all = append(all, i)
			}
		}
		return all
	}
	eventually.True(t, patience, func() bool { return len(probers()) == 1 && s.pings.Load() > 0 }, "one node to probe")
	before, began := s.pings.Load(), time.Now()
	eventually.True(t, patience, func() bool { return time.Since(began) > 3*time.Second }, "some time to pass")
	if sent, most := s.pings.Load()-before, int64(time.Since(began)/(900*time.Millisecond))+1; sent > most {
		t.Errorf("%d probes in %s, want %d at most", sent, time.Since(began), most)
	}
	was := probers()[0]
	stop(t, s.nodes[was])
	s.nodes = append(s.nodes[:was], s.nodes[was+1:]...)
	eventually.True(t, patience, func() bool { return len(probers()) == 1 }, "another to take over")
	before = s.pings.Load()
	eventually.True(t, patience, func() bool { return s.pings.Load() > before }, "it to probe")
}

// What one node alone cuts off by its own rules, as the others have no callers and the
// health check lies, is told as well, by the sender.
func TestFleetTellsOfOneNode(t *testing.T) {
	s := newSite(t)
	sender := -1
	eventually.True(t, patience, func() bool {
		for i, g := range s.nodes {
			if g.member.leads(roleSender) {
				sender = i
			}
		}
		return sender >= 0
	}, "a node to send messages")
	other := (sender + 1) % len(s.nodes)
	s.lies.Store(true)
	s.down.Store(true)
	for range 5 {
		s.call(t, other)
	}
	s.card(t, "is cut off", "cut off at "+s.nodes[other].member.node.Status().Node+", by the rules there; the other nodes still call it")
	if n := s.state(sender); n != recloser.Closed {
		t.Errorf("it is %s at the sender", n)
	}
	s.down.Store(false)
	eventually.True(t, patience, func() bool {
		s.call(t, other)
		return s.state(other) == recloser.Closed
	}, "it to be closed again")
	s.card(t, "is back")
	s.noCard(t)
}

// A transition of the sender's own breaker does not end what goes on elsewhere.
func TestApart(t *testing.T) {
	now := map[string]fleet.Seen{}
	a := apart{now: func() map[string]fleet.Seen { return now }}
	at := time.Now()
	told := ""
	look := func(after time.Duration) string {
		told = ""
		at = at.Add(after)
		a.look(at, func(t recloser.Transition) { told += fmt.Sprint(t.Name, " ", t.To, " ", t.Note, ";") })
		return told
	}
	now["x"] = fleet.Seen{By: 1, Of: 3, Who: "gate-2", Own: true}
	for i, step := range []struct {
		after time.Duration
		want  string
		holds bool
	}{{0, "", false}, {apartAfter - 1, "", false}, {1, "x open gate-2;", true}, {time.Hour, "", true}} {
		if got := look(step.after); got != step.want || a.holds("x") != step.holds {
			t.Errorf("step %d: told %q, holds %t", i, got, a.holds("x"))
		}
	}
	delete(now, "x")
	if got := look(time.Second); got != "x closed ;" || a.holds("x") {
		t.Errorf("at its end: told %q, holds %t", got, a.holds("x"))
	}
	now["x"] = fleet.Seen{}
	look(0)
	delete(now, "x")
	if got := look(time.Second); got != "" {
		t.Errorf("of what was over soon: told %q", got)
	}
}

// While the store is away three of many nodes tell what they see, beside the last sender.
func TestFleetStandIns(t *testing.T) {
	now := time.Now()
	nodes := func(n int) (all []fleet.NodeStatus) {
		for i := range n {
			all = append(all, fleet.NodeStatus{Name: fmt.Sprintf("gate-%02d", n-i)})
		}
		return all
	}
	for name, c := range map[string]struct {
		s    fleet.Status
		want bool
	}{
		"the store is there":           {fleet.Status{Mode: fleet.Shared, Node: "gate-01", Nodes: nodes(2)}, false},
		"the first of fifty":           {fleet.Status{Mode: fleet.Kept, Node: "gate-01", Nodes: nodes(50)}, true},
		"the third of fifty":           {fleet.Status{Mode: fleet.Alone, Node: "gate-03", Nodes: nodes(50)}, true},
		"the fourth of fifty":          {fleet.Status{Mode: fleet.Alone, Node: "gate-04", Nodes: nodes(50)}, false},
		"it has only just gone":        {fleet.Status{Mode: fleet.Kept, Node: "gate-01", Nodes: nodes(50), Since: now.Add(-time.Second)}, false},
		"it was away when all started": {fleet.Status{Mode: fleet.Alone, Node: "gate-09"}, true},
	} {
		if got := standsIn(&c.s, now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What is added at run time on one node is there on all.
func TestFleetSharesDependencies(t *testing.T) {
	s := newSite(t)
	act(t, s.nodes[0], "POST", "dependencies", `{"id":"hotel-9","definition":{"url":"http://127.0.0.1:9"}}`)
	for i, g := range s.nodes {
		eventually.True(t, patience, func() bool { _, ok := g.Dependencies().Get("hotel-9"); return ok }, fmt.Sprintf("node %d to have it", i))
	}
	act(t, s.nodes[1], "DELETE", "dependencies/hotel-9", "")
	for i, g := range s.nodes {
		eventually.True(t, patience, func() bool { _, ok := g.Dependencies().Get("hotel-9"); return !ok }, fmt.Sprintf("node %d to forget it", i))
	}
}
