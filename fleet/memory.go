package fleet

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
)

// A Memory is a Store in the memory of this process, for the nodes of a test or of
// a simulation. A node of its own has a Journal, which remembers over a restart.
type Memory struct {
	shared *shared
	closed chan struct{}
	once   sync.Once
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return NewMemoryAt(nil) }

// NewMemoryAt returns an empty store whose own clock is clock, for tests; nil: that
// of the machine. Setting the clock's wall time makes it jump, as that of a server does.
func NewMemoryAt(clock *recloser.Clock) *Memory {
	now := time.Now
	if clock != nil {
		now = clock.Now
	}
	s := &shared{
		caps: Caps{Name: "memory"}, now: now, rows: map[string]map[string]*row{}, roles: map[string]*role{},
		ended: make(chan struct{}),
	}
	s.forget()
	return &Memory{shared: s, closed: make(chan struct{})}
}

// Share returns another client of the same store, for another node. Each is closed by
// itself.
func (m *Memory) Share() *Memory { return &Memory{shared: m.shared, closed: make(chan struct{})} }

// Flush makes the store forget everything, as a server does that is restarted empty.
func (m *Memory) Flush() {
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	m.shared.forget()
}

// Caps implements Store.
func (m *Memory) Caps() Caps { return m.shared.caps }

// Load implements Store.
func (m *Memory) Load(ctx context.Context) ([]Doc, uint64, error) {
	s, err := m.enter(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	now := s.now()
	var docs []Doc
	for _, key := range slices.Sorted(maps.Keys(s.docs)) {
		if d := s.doc(key, now); d != nil {
			docs = append(docs, d.at(now))
		}
	}
	return docs, s.changes, nil
}

// Watch implements Store.
func (m *Memory) Watch(ctx context.Context, after uint64, f func(Doc)) error {
	for {
		docs, last, next, err := m.since(ctx, after)
		if err != nil {
			return err
		}
		for _, d := range docs {
			f(d)
		}
		after = last
		select {
		case <-ctx.Done():
		case <-m.closed:
		case <-next:
		}
	}
}

// since returns what has changed after a position, the position that this leads to,
// and what is closed by the next change.
func (m *Memory) since(ctx context.Context, after uint64) (docs []Doc, last uint64, next <-chan struct{}, err error) {
	s, err := m.enter(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	defer s.mu.Unlock()
	if after < s.floor || after > s.changes {
		return nil, 0, nil, ErrResync
	}
	now := s.now()
	for key := range s.docs {
		if d := s.doc(key, now); d != nil && d.change > after {
			docs = append(docs, d.at(now))
		}
	}
	return docs, s.changes, s.next, nil
}

// Put implements Store.
func (m *Memory) Put(ctx context.Context, expect Rev, next Doc) (Doc, error) {
	if err := next.Check(expect); err != nil {
		return Doc{}, err
	}
	s, err := m.enter(ctx)
	if err != nil {
		return Doc{}, err
	}
	d, kept, err := s.put(expect, next)
	s.mu.Unlock()
	if err != nil || kept == nil {
		return d, err
	}
	select {
	case err = <-kept:
	case <-ctx.Done():
		err = ctx.Err()
	case <-m.closed:
		err = ErrClosed
	}
	return d, err
}

// Say implements Store.
func (m *Memory) Say(ctx context.Context, rows []Row, ttl time.Duration) error {
	if err := CheckRows(rows, ttl); err != nil {
		return err
	}
	s, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	for i := range rows {
		s.say(&rows[i], ttl)
	}
	return nil
}

// Said implements Store.
func (m *Memory) Said(ctx context.Context, key string) ([]Row, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	s, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.said(key), nil
}

// Acquire implements Store.
func (m *Memory) Acquire(ctx context.Context, key string, rev Rev, node string, ttl time.Duration) (Lease, Tally, error) {
	if err := CheckKey(key, node); err != nil {
		return Lease{}, Tally{}, err
	}
	if err := CheckTTL(ttl); err != nil {
		return Lease{}, Tally{}, err
	}
	s, err := m.enter(ctx)
	if err != nil {
		return Lease{}, Tally{}, err
	}
	defer s.mu.Unlock()
	return s.acquire(key, rev, ttl)
}

// Finish implements Store.
func (m *Memory) Finish(ctx context.Context, l Lease, r Result) (Tally, error) {
	if err := CheckKey(l.Key); err != nil {
		return Tally{}, err
	}
	s, err := m.enter(ctx)
	if err != nil {
		return Tally{}, err
	}
	defer s.mu.Unlock()
	return s.finish(l, r)
}

// Elect implements Store.
func (m *Memory) Elect(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
	if err := CheckKey(role, node); err != nil {
		return "", err
	}
	if ttl != 0 && CheckTTL(ttl) != nil {
		return "", ErrBadValue
	}
	s, err := m.enter(ctx)
	if err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	return s.elect(role, node, ttl), nil
}

// Close implements Store.
func (m *Memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// enter returns what the clients share, locked, unless this one is closed or ctx has ended.
func (m *Memory) enter(ctx context.Context) (*shared, error) {
	m.shared.mu.Lock()
	err := ctx.Err()
	select {
	case <-m.closed:
		err = ErrClosed
	case <-m.shared.ended:
		err = ErrClosed
	default:
	}
	if err != nil {
		m.shared.mu.Unlock()
		return nil, err
	}
	return m.shared, nil
}
