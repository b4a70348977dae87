package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recloser-go/recloser"
)

// Seen says which nodes have seen a dependency fail that is cut off. Its zero value says
// nothing: it is not cut off, or it was not its calls that did so.
type Seen struct {
	By  int    `json:"by,omitempty"`  // nodes that had seen bad calls when all cut it off; of Own: those that have cut it off
	Of  int    `json:"of,omitempty"`  // nodes there were; 0: this node does not hear the others
	Who string `json:"who,omitempty"` // By is 0: the node that decided; of Own: those that have cut it off
	Own bool   `json:"own,omitempty"` // it was cut off by nodes each for itself, not by all together
}

// String returns it as what follows "seen by": "2 of 3 nodes". It is "" for the zero
// value, and may hold names of nodes.
func (s Seen) String() string {
	of := "1 node"
	if s.Of > 1 {
		of = fmt.Sprintf("%d nodes", s.Of)
	}
	switch {
	case s == Seen{}:
		return ""
	case s.Own && s.Of == 0:
		return s.Who + ", by its own rules: it does not hear the other nodes"
	case s.Own && s.By == 1:
		return fmt.Sprintf("1 of %s: %s, by its own rules", of, s.Who)
	case s.Own:
		return fmt.Sprintf("%d of %s: %s, each by its own rules", s.By, of, s.Who)
	case s.By == 0 && s.Of == 1:
		return s.Who + ", for 1 node"
	case s.By == 0:
		return fmt.Sprintf("%s, for all %s", s.Who, of)
	}
	return fmt.Sprintf("%d of %s", s.By, of)
}

// View is how a node has a dependency.
type View struct {
	Node   string
	State  recloser.State // if it is not Behind
	Own    bool           // open by the node's own rules: all together have not opened it
	Behind bool           // no word from it: it has not said yet that it does as all have agreed, or the store is away
}

// own reports whether the breaker is open by this node's own rules, and not for all.
func (m *member) own() bool {
	return m.held.State == recloser.Closed && isOpen(m.last)
}

// views returns how the nodes have m's dependency, this one first.
func (c *coordinator) views(m *member) []View {
	this := View{Node: c.cfg.Node, State: m.held.State}
	if m.own() {
		this.State, this.Own = recloser.Open, true
	}
	all := []View{this}
	for i := range c.beat.peers {
		p := &c.beat.peers[i]
		v := View{Node: p.name, State: m.held.State}
		switch id := p.Holds[m.name]; {
		case p.name == c.cfg.Node:
			continue
		case !c.synced:
			v.Behind = true
		case slices.Contains(p.Open, m.name):
			v.State, v.Own = recloser.Open, true
		case p.More, id == m.held.ID:
		case m.held.State == recloser.Closed:
			v.Behind = id != 0
		case id == 0: // else it follows, and has not told of the last step
			v.State, v.Behind = recloser.Closed, true
		}
		all = append(all, v)
	}
	return all
}

// seen says which nodes have seen m's dependency fail.
func (c *coordinator) seen(m *member) Seen {
	r := &m.held.Record
	switch {
	case r.State == recloser.Closed:
		return c.seenApart(m)
	case r.State != recloser.Open && r.State != recloser.HalfOpen, r.Seen == 0 && r.State != recloser.Open:
		return Seen{}
	case r.Seen == 0:
		return Seen{Of: max(r.Nodes, c.beat.live()), Who: r.Node}
	}
	return Seen{By: r.Seen, Of: r.Nodes}
}

// seenApart is seen of what all together have not cut off.
func (c *coordinator) seenApart(m *member) Seen {
	if !c.synced {
		if m.own() {
			return Seen{By: 1, Who: c.cfg.Node, Own: true}
		}
		return Seen{}
	}
	var who []string
	for _, v := range c.views(m) {
		if v.Own {
			who = append(who, v.Node)
		}
	}
	if len(who) == 0 {
		return Seen{}
	}
	return Seen{By: len(who), Of: c.beat.live(), Who: some(who), Own: true}
}

// some names the first few of them.
func some(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
