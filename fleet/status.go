package fleet

import (
	"cmp"
	"time"
)

// Mode says how far a node shares what it knows.
type Mode string

// The modes.
const (
	Shared Mode = "shared" // the store is there
	Kept   Mode = "kept"   // it is away, and the node keeps to what it heard last
	Alone  Mode = "alone"  // it has been away for longer, and each breaker decides for itself
)

// Status is what a node knows of its fleet, for people.
type Status struct {
	Fleet, Node string
	Store       string // what it is: "redis"
	Mode        Mode
	Since       time.Time // when the store came or went
	Contact     time.Time // when it answered last; zero: never
	Err         error     // why the store is of no use; nil: it is
	Doubtful    bool      // calls of this node fail to half of its dependencies: it does not decide for others
	Uplink      bool      // so it is with all nodes: it is what they have in common that fails
	Outdated    bool      // other nodes have newer settings: it does not decide for them
	Nodes       []NodeStatus
	Breakers    []BreakerStatus // in the order in which they joined
}

// NodeStatus is what a node said of itself.
type NodeStatus struct {
	Name, Version string
	Settings      uint64
	Doubtful      bool
	Age           time.Duration // of its last word when this node heard it
}

// BreakerStatus is what the fleet says of a dependency.
type BreakerStatus struct {
	Name      string
	Record    Record
	Rev       Rev
	Age       time.Duration // of the record, by the store's clock
	Seen      Seen
	Views     []View  // of the nodes, this one first
	NotShared *Record // an operator's act on this node that the others do not know yet
	Trial     bool    // this node holds the lease of a trial
}

// Seen returns the Seen of a breaker's Status, as it is now; of one that has not joined
// it says nothing.
func (n *Node) Seen(name string) (s Seen) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.c.byName[name]; m != nil {
		s = n.c.seen(m)
	}
	return s
}

// Status returns what the node knows.
func (n *Node) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.c.status(time.Now())
	s.Store = n.store.Caps().Name
	return s
}

func (c *coordinator) status(now time.Time) Status {
	s := Status{
		Fleet: c.cfg.Fleet, Node: c.cfg.Node, Mode: Shared, Since: c.since, Contact: c.contact, Err: c.err,
		Doubtful: c.doubtful, Uplink: len(c.beat.peers) > 0, Outdated: c.beat.outdated(c),
	}
	for i := range c.beat.peers {
		p := &c.beat.peers[i]
		s.Uplink = s.Uplink && p.Doubtful
		s.Nodes = append(s.Nodes, NodeStatus{p.name, p.Version, p.Settings, p.Doubtful, p.age})
	}
	if s.Err == nil && c.beat.twin {
		s.Err = errTwin
	}
	kept := now.Sub(c.since) < grace && !c.contact.IsZero()
	for _, m := range c.members {
		b := BreakerStatus{Name: m.name, Record: m.held.Record, Rev: m.held.Rev, Age: m.held.age(now), Trial: m.trial != nil}
		if m.held.Rev == (Rev{}) {
			b.Age = 0
		}
		b.Seen, b.Views = c.seen(m), c.views(m)
		if m.act != nil {
			act := m.act.Record
			b.NotShared = &act
		}
		s.Err = cmp.Or(s.Err, m.fault)
		kept = kept || m.last.Led
		s.Breakers = append(s.Breakers, b)
	}
	switch {
	case c.synced:
	case kept && !c.stranger:
		s.Mode = Kept
	default:
		s.Mode = Alone
	}
	return s
}
