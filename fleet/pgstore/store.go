package pgstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/recloser-go/recloser/fleet"
)

// Store is a fleet's store in a PostgreSQL database. Its methods are those of
// [fleet.Store]; what they return of the server says what is wrong and what to do next.
type Store struct {
	opts    Options
	pool    *pgxpool.Pool
	channel string // of NOTIFY; channels are the database's, not the schema's

	life    context.Context // until Close
	end     context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	made   bool      // the tables are there
	making *making   // while somebody sees to that
	swept  time.Time // when this node last removed what has ended
}

var _ fleet.Store = (*Store)(nil)

// Open returns a store with the options. It does not wait for the server: whether
// that can be used shows with the first method, which makes the tables if there are none.
// The error is of the options alone, and names all that is wrong with them.
func Open(opts Options) (*Store, error) {
	config, err := opts.parse()
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	s := &Store{opts: opts, channel: opts.Schema}
	s.life, s.end = context.WithCancel(context.Background())
	if s.pool, err = pgxpool.NewWithConfig(s.life, config); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// Caps implements [fleet.Store]. What a server promises that is alone is lost if it
// has a replica that takes over, unless that is synchronous, which is not for us to know.
func (s *Store) Caps() fleet.Caps {
	return fleet.Caps{Name: "postgres", Durable: true}
}

// Close implements [fleet.Store].
func (s *Store) Close() error {
	s.mu.Lock() // orders running.Go before Wait
	s.end()
	s.mu.Unlock()
	s.pool.Close()
	s.running.Wait()
	return nil
}

// send sends the statements that queue queues and hands their results to their callbacks,
// within the store's timeout. They are one transaction, and each sees what others committed
// before it began.
func (s *Store) send(ctx context.Context, queue func(*pgx.Batch)) error {
	within, cancel := s.within(ctx)
	defer cancel()
	err := s.trySend(within, queue)
	if isGone(err) { // tables that somebody dropped are made again, as the server did nothing
		s.mu.Lock()
		s.made = false
		s.mu.Unlock()
		err = s.trySend(within, queue)
	}
	if isLost(err) && within.Err() == nil {
		s.pool.Reset() // a server that ended one connection has ended all
	}
	return s.explain(ctx, err)
}

func (s *Store) trySend(ctx context.Context, queue func(*pgx.Batch)) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	b := &pgx.Batch{}
	queue(b)
	return s.pool.SendBatch(ctx, b).Close()
}

// within returns a context for one use of the server.
func (s *Store) within(ctx context.Context) (context.Context, context.CancelFunc) {
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	stop := context.AfterFunc(s.life, cancel)
	return within, func() { stop(); cancel() }
}
