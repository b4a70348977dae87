package fleet_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// A model is what a store is, written down as simply as can be: it remembers all that
// was ever done, and looks through it.
type model struct {
	now     time.Duration
	puts    []modelPut
	says    []modelSay
	leases  []*modelLease
	elected []modelHold
}

type modelPut struct {
	doc fleet.Doc
	at  time.Duration
}

type modelSay struct {
	row      fleet.Row
	at, ends time.Duration
}

type modelLease struct {
	lease fleet.Lease
	ends  time.Duration
	done  *fleet.Result
}

type modelHold struct {
	role, node string
	ends       time.Duration
}

// doc returns the last version under key, if it is still there.
func (m *model) doc(key string) (fleet.Doc, bool) {
	for _, p := range slices.Backward(m.puts) {
		if p.doc.Key != key {
			continue
		}
		p.doc.Age = m.now - p.at
		return p.doc, p.doc.TTL == 0 || p.doc.Age < p.doc.TTL
	}
	return fleet.Doc{}, false
}

func (m *model) load() (docs []fleet.Doc) {
	seen := map[string]bool{}
	for _, p := range m.puts {
		if d, there := m.doc(p.doc.Key); there && !seen[d.Key] {
			seen[d.Key] = true
			docs = append(docs, d)
		}
	}
	slices.SortFunc(docs, func(a, b fleet.Doc) int { return cmp.Compare(a.Key, b.Key) })
	return docs
}

func (m *model) put(expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
	d, there := m.doc(next.Key)
	if !there {
		d = fleet.Doc{}
	}
	if d.Rev != expect {
		return d, fleet.ErrConflict
	}
	next.Age = 0
	m.puts = append(m.puts, modelPut{next, m.now})
	return next, nil
}

// said returns what lives, by node.
func (m *model) said(key string) (rows []fleet.Row) {
	byNode := map[string]modelSay{}
	for _, s := range m.says {
		if s.row.Key != key {
			continue
		}
		old, there := byNode[s.row.Node]
		if there && s.at < old.ends && s.row.Start == old.row.Start && s.row.Seq <= old.row.Seq {
			s = modelSay{old.row, s.at, max(old.ends, s.ends)}
		}
		byNode[s.row.Node] = s
	}
	for _, s := range byNode {
		if s.row.Age = m.now - s.at; m.now < s.ends {
			rows = append(rows, s.row)
		}
	}
	slices.SortFunc(rows, func(a, b fleet.Row) int { return cmp.Compare(a.Node, b.Node) })
	return rows
}

// tally counts what became of the leases of a version.
func (m *model) tally(key string, rev fleet.Rev) (t fleet.Tally) {
	for _, l := range m.leases {
		if l.lease.Key != key || l.lease.Rev != rev {
			continue
		}
		switch {
		case l.done == nil && m.now < l.ends:
			t.Running++
		case l.done == nil || *l.done == fleet.Bad:
			t.Bad++
		case *l.done == fleet.Good:
			t.Good++
		}
	}
	return t
}

// acquire says whether there is a lease to be had. Its token is the store's choice.
func (m *model) acquire(key string, rev fleet.Rev) (fleet.Tally, error) {
	d, there := m.doc(key)
	if !there || d.Rev != rev {
		return fleet.Tally{}, fleet.ErrConflict
	}
	t := m.tally(key, rev)
	if t.Running+t.Good >= d.Slots {
		return t, fleet.ErrNoSlot
	}
	t.Running++
	return t, nil
}

func (m *model) finish(lease fleet.Lease, r fleet.Result) (fleet.Tally, error) {
	d, there := m.doc(lease.Key)
	for _, l := range m.leases {
		if there && l.lease == lease && d.Rev == lease.Rev && l.done == nil && m.now < l.ends {
			l.done = &r
			return m.tally(lease.Key, lease.Rev), nil
		}
	}
	return fleet.Tally{}, fleet.ErrStale
}

func (m *model) elect(role, node string, ttl time.Duration) string {
	holder := ""
	for _, h := range m.elected { // the last counts
		if h.role == role {
			holder = h.node
			if m.now >= h.ends {
				holder = ""
			}
		}
	}
	if holder != "" && holder != node {
		return holder
	}
	m.elected = append(m.elected, modelHold{role, node, m.now + ttl})
	if ttl == 0 {
		return ""
	}
	return node
}
