package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// A server is memory stores as if they were on another machine: it can do all that a
// Harness asks for.
type server struct {
	mu       sync.Mutex
	memories map[string]*fleet.Memory // by prefix
	gate     chan struct{}            // closed unless the server hangs
	drop     chan struct{}            // closed when connections are dropped
	open     atomic.Int32
}

func newServer() *server {
	s := &server{memories: map[string]*fleet.Memory{}, gate: make(chan struct{}), drop: make(chan struct{})}
	close(s.gate)
	return s
}

// A remote is a client of a server.
type remote struct {
	*fleet.Memory
	server *server
	closed chan struct{}
	once   sync.Once
}

func (s *server) client(prefix string) *remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memories[prefix] == nil {
		s.memories[prefix] = fleet.NewMemory()
	}
	s.open.Add(1)
	return &remote{Memory: s.memories[prefix].Share(), server: s, closed: make(chan struct{})}
}

func (s *server) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.memories {
		m.Flush()
	}
}

func (s *server) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = make(chan struct{})
}

func (s *server) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.gate)
}

func (s *server) dropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.drop)
	s.drop = make(chan struct{})
}

func (s *server) state() (gate, drop chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gate, s.drop
}

func (s *server) harness() Harness {
	client := func(_ testing.TB, prefix string) fleet.Store { return s.client(prefix) }
	return Harness{
		New: client, Quiet: client,
		Skewed:      func(_ testing.TB, prefix string, _ time.Duration) fleet.Store { return s.client(prefix) },
		Pause:       func(testing.TB) { s.pause() },
		Resume:      func(testing.TB) { s.resume() },
		Restart:     func(testing.TB) { s.dropAll(); s.flush() },
		Flush:       func(testing.TB) { s.flush() },
		Drop:        func(testing.TB) { s.dropAll() },
		Connections: func(testing.TB) int { return int(s.open.Load()) },
	}
}

// reach waits while the server hangs.
func (r *remote) reach(ctx context.Context) error {
	gate, _ := r.server.state()
	select {
	case <-gate:
		return nil
	default:
	}
	select {
	case <-gate:
		return nil
	case <-r.closed:
		return fleet.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *remote) Load(ctx context.Context) ([]fleet.Doc, uint64, error) {
	if err := r.reach(ctx); err != nil {
		return nil, 0, err
	}
	return r.Memory.Load(ctx)
}

func (r *remote) Watch(ctx context.Context, after uint64, f func(fleet.Doc)) error {
	if err := r.reach(ctx); err != nil {
		return err
	}
	_, dropped := r.server.state()
	connected, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-dropped:
			cancel()
		case <-connected.Done():
		}
	}()
	err := r.Memory.Watch(connected, after, f)
	if ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return errors.New("connection lost")
	}
	return err
}

func (r *remote) Put(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
	if err := r.reach(ctx); err != nil {
		return fleet.Doc{}, err
	}
	return r.Memory.Put(ctx, expect, next)
}

func (r *remote) Say(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
	if err := r.reach(ctx); err != nil {
		return err
	}
	return r.Memory.Say(ctx, rows, ttl)
}

func (r *remote) Said(ctx context.Context, key string) ([]fleet.Row, error) {
	if err := r.reach(ctx); err != nil {
		return nil, err
	}
	return r.Memory.Said(ctx, key)
}

func (r *remote) Acquire(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
	if err := r.reach(ctx); err != nil {
		return fleet.Lease{}, fleet.Tally{}, err
	}
	return r.Memory.Acquire(ctx, key, rev, node, ttl)
}

func (r *remote) Finish(ctx context.Context, l fleet.Lease, result fleet.Result) (fleet.Tally, error) {
	if err := r.reach(ctx); err != nil {
		return fleet.Tally{}, err
	}
	return r.Memory.Finish(ctx, l, result)
}

func (r *remote) Elect(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
	if err := r.reach(ctx); err != nil {
		return "", err
	}
	return r.Memory.Elect(ctx, role, node, ttl)
}

func (r *remote) Close() error {
	r.once.Do(func() { close(r.closed); r.server.open.Add(-1) })
	return r.Memory.Close()
}

// Every test applies to a server that can do all of it.
func TestRemoteMemory(t *testing.T) {
	Run(t, func(*testing.T) Harness { return newServer().harness() })
}
