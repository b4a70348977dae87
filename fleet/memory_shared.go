package fleet

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// shared is what the clients of a Memory have in common: the server, as it were.
// Its methods are called with mu held. What ran out is dropped when somebody looks.
type shared struct {
	caps Caps
	now  func() time.Time
	keep func(*doc) <-chan error // writes it down, and says when it is; nil: nobody does

	mu      sync.Mutex
	docs    map[string]*doc
	rows    map[string]map[string]*row // by key and node
	roles   map[string]*role
	changes uint64        // the position of the last change
	floor   uint64        // positions below it are of a former life
	next    chan struct{} // closed by the next change
	ended   chan struct{} // closed with the journal
}

type doc struct {
	Doc
	put    time.Time
	change uint64
	leases map[uint64]time.Time // by token: when it runs out
	tally  Tally                // Running is counted when somebody asks
}

type row struct {
	Row
	said, ends time.Time
}

type role struct {
	holder string
	ends   time.Time
}

// forget empties the store. Positions of before are of no use after it: they grow from a
// number that no earlier life has reached, even if that was before a restart.
func (s *shared) forget() {
	s.docs = map[string]*doc{}
	clear(s.rows)
	clear(s.roles)
	s.changes = max(s.changes+1, uint64(time.Now().UnixNano()))
	s.floor = s.changes
	s.changed()
}

// changed wakes those who watch.
func (s *shared) changed() {
	if s.next != nil {
		close(s.next)
	}
	s.next = make(chan struct{})
}

// doc returns the document under key, or nil.
func (s *shared) doc(key string, now time.Time) *doc {
	d := s.docs[key]
	if d != nil && d.TTL > 0 && now.Sub(d.put) >= d.TTL {
		delete(s.docs, key)
		return nil
	}
	return d
}

// at returns the document as it is shown to the outside.
func (d *doc) at(now time.Time) Doc {
	out := d.Doc
	out.Data = slices.Clone(d.Data)
	out.Age = max(0, now.Sub(d.put))
	return out
}

// put returns what says when the document is written down, or nil.
func (s *shared) put(expect Rev, next Doc) (Doc, <-chan error, error) {
	now := s.now()
	d := s.doc(next.Key, now)
	if d == nil && expect != (Rev{}) {
		return Doc{}, nil, ErrConflict
	}
	if d != nil && d.Rev != expect {
		return d.at(now), nil, ErrConflict
	}
	next.Data = slices.Clone(next.Data)
	d = s.add(next, now)
	s.changed()
	var kept <-chan error
	if s.keep != nil {
		kept = s.keep(d)
	}
	return d.at(now), kept, nil
}

// add makes next the document of its key.
func (s *shared) add(next Doc, put time.Time) *doc {
	s.changes++
	d := &doc{Doc: next, put: put, change: s.changes, leases: map[uint64]time.Time{}}
	s.docs[next.Key] = d
	return d
}

func (s *shared) say(r *Row, ttl time.Duration) {
	now := s.now()
	ends := now.Add(ttl)
	byNode := s.rows[r.Key]
	old := byNode[r.Node]
	if old != nil && now.Before(old.ends) && old.Start == r.Start && old.Seq >= r.Seq {
		old.said = now
		if ends.After(old.ends) {
			old.ends = ends
		}
		return
	}
	switch { // names and nodes come and go, and nobody need ask for their rows
	case byNode == nil:
		for key := range s.rows {
			s.alive(key, now)
		}
	case old == nil:
		s.alive(r.Key, now)
	}
	if s.rows[r.Key] == nil {
		s.rows[r.Key] = map[string]*row{}
	}
	said := &row{Row: *r, said: now, ends: ends}
	said.Data = slices.Clone(r.Data)
	s.rows[r.Key][r.Node] = said
}

// alive drops the rows under key that have ended, and returns the others by node.
func (s *shared) alive(key string, now time.Time) map[string]*row {
	byNode := s.rows[key]
	maps.DeleteFunc(byNode, func(_ string, r *row) bool { return !now.Before(r.ends) })
	if len(byNode) == 0 {
		delete(s.rows, key)
	}
	return byNode
}

func (s *shared) said(key string) []Row {
	now := s.now()
	var rows []Row
	for _, r := range s.alive(key, now) {
		out := r.Row
		out.Data = slices.Clone(r.Data)
		out.Age = max(0, now.Sub(r.said))
		rows = append(rows, out)
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Node, b.Node) })
	return rows
}

// count returns the tally after what ran out by now is counted.
func (d *doc) count(now time.Time) Tally {
	for token, ends := range d.leases {
		if !now.Before(ends) {
			delete(d.leases, token)
			d.tally.Bad++
		}
	}
	d.tally.Running = len(d.leases)
	return d.tally
}

func (s *shared) acquire(key string, rev Rev, ttl time.Duration) (Lease, Tally, error) {
	now := s.now()
	d := s.doc(key, now)
	if d == nil || d.Rev != rev {
		return Lease{}, Tally{}, ErrConflict
	}
	if t := d.count(now); t.Running+t.Good >= d.Slots {
		return Lease{}, t, ErrNoSlot
	}
	l := Lease{Key: key, Rev: rev, Token: rand.Uint64(), TTL: ttl}
	d.leases[l.Token] = now.Add(ttl)
	return l, d.count(now), nil
}

func (s *shared) finish(l Lease, r Result) (Tally, error) {
	now := s.now()
	d := s.doc(l.Key, now)
	if d == nil || d.Rev != l.Rev {
		return Tally{}, ErrStale
	}
	t := d.count(now)
	if _, held := d.leases[l.Token]; !held {
		return t, ErrStale
	}
	delete(d.leases, l.Token)
	switch r {
	case Good:
		d.tally.Good++
	case Bad:
		d.tally.Bad++
	case Unused:
	}
	return d.count(now), nil
}

func (s *shared) elect(name, node string, ttl time.Duration) string {
	now := s.now()
	r := s.roles[name]
	switch {
	case r != nil && now.Before(r.ends) && r.holder != node:
		return r.holder
	case ttl == 0:
		delete(s.roles, name)
		return ""
	}
	s.roles[name] = &role{holder: node, ends: now.Add(ttl)}
	return node
}
