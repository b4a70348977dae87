package fleet

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/recloser-go/recloser"
)

const (
	nodeKey   = "node"
	beatEvery = 5 * time.Second
	beatTTL   = 3 * beatEvery
	// troubledEvery is how often a node looks what the others say of themselves that has
	// something to ask: are they in doubt as well, have they cut off the same?
	troubledEvery = time.Second
	// mostHolds is how many bytes of names a node says of records that it holds, those that
	// are not closed, or not for long; and of what it has cut off by itself.
	mostHolds = MaxData / 4
)

// pulse is what a node says of itself: its row under nodeKey.
type pulse struct {
	Version  string            `json:"version,omitempty"`
	Settings uint64            `json:"settings,omitempty"`
	Doubtful bool              `json:"doubtful,omitempty"`
	Holds    map[string]uint64 `json:"holds,omitempty"` // Rev.ID by name
	Open     []string          `json:"open,omitempty"`  // names of what its own rules have opened, and all together have not
	More     bool              `json:"more,omitempty"`  // there are more of both than it says
}

// peer is a node that lives.
type peer struct {
	pulse
	name string
	age  time.Duration // of its last word when it was heard
	data []byte        // that it was read from
}

// beat keeps this node known to the others, and the others to it.
type beat struct {
	sayAt    time.Time
	lookedAt time.Time // zero: not yet
	peers    []peer    // this node too, once it was heard
	twin     bool      // another process has the name of this node
}

// soon has this node say something new of itself.
func (b *beat) soon(now time.Time) {
	if at := now.Add(time.Second); b.sayAt.After(at) {
		b.sayAt = at
	}
}

func (b *beat) wanted(c *coordinator, now time.Time) *op {
	every := beatEvery
	if c.troubled {
		every = troubledEvery
	}
	switch {
	case now.Sub(b.lookedAt) >= every: // before this node's row is written again, so that it is seen if another has
		b.lookedAt = now
		return &op{kind: opSaid, key: nodeKey}
	case !now.Before(b.sayAt):
		b.sayAt = now.Add(beatEvery)
		return &op{kind: opSay, rows: []Row{c.row(nodeKey, encode(c.pulse(now)))}, ttl: beatTTL}
	}
	return nil
}

func (c *coordinator) pulse(now time.Time) pulse {
	p := pulse{Version: clip(c.cfg.Version), Settings: c.cfg.Settings, Doubtful: c.doubtful, Holds: map[string]uint64{}}
	size := 0
	for _, m := range c.members {
		own := m.own()
		holds := m.held.ID != 0 && (m.held.State != recloser.Closed || m.held.age(now) < time.Minute)
		if !own && !holds {
			continue
		}
		if size += len(encode(m.name)) + 30; size > mostHolds {
			p.More = true
			break
		}
		if own {
			p.Open = append(p.Open, m.name)
		}
		if holds {
			p.Holds[m.name] = m.held.ID
		}
	}
	return p
}

// heard takes in what the nodes say of themselves.
func (b *beat) heard(rows []Row, node string, start uint64) {
	before := make(map[string]*peer, len(b.peers))
	for i := range b.peers {
		before[b.peers[i].name] = &b.peers[i]
	}
	peers := make([]peer, 0, len(rows))
	b.twin = false
	for i := range rows {
		b.twin = b.twin || rows[i].Node == node && rows[i].Start != start && !b.sayAt.IsZero()
		p := peer{name: rows[i].Node, age: rows[i].Age, data: rows[i].Data}
		if old := before[p.name]; old != nil && bytes.Equal(old.data, p.data) { // as a rule
			p.pulse = old.pulse
		} else if json.Unmarshal(p.data, &p.pulse) != nil {
			continue
		}
		peers = append(peers, p)
	}
	b.peers = peers
}

// live returns how many nodes there were when this one heard of them last.
func (b *beat) live() int { return max(1, len(b.peers)) }

// undoubted returns how many of them trust their own network.
func (b *beat) undoubted() int {
	n := 0
	for i := range b.peers {
		if !b.peers[i].Doubtful {
			n++
		}
	}
	return max(1, n)
}

// lives reports whether a node lives whose row has that age.
func (b *beat) lives(node string, age time.Duration) bool {
	if age < beatTTL {
		return true
	}
	for i := range b.peers {
		if b.peers[i].name == node {
			return true
		}
	}
	return false
}

// outdated reports whether another node has newer settings.
func (b *beat) outdated(c *coordinator) bool {
	for i := range b.peers {
		if b.peers[i].Settings > c.cfg.Settings {
			return true
		}
	}
	return false
}
