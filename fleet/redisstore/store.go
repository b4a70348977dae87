package redisstore

import (
	"context"
	"strings"
	"sync"

	"github.com/recloser-go/recloser/fleet"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Store is a fleet's store on a Redis server. Its methods are those of [fleet.Store];
// what they return of the server says where it is, what is wrong and what to do next.
type Store struct {
	client  redis.UniversalClient
	opts    Options
	prefix  string // with its hash tag
	ctx     context.Context
	close   context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // orders running.Add before Close's Wait
	closed bool
}

// maxIdleConns is for who watches and who does something meanwhile.
const maxIdleConns = 2

var _ fleet.Store = (*Store)(nil)

// Open returns a store with the options. It does not wait for the server: whether
// that can be used shows with the first method. The error is of the options alone, and
// names all that is wrong with them. What go-redis says of connections that fail goes to
// stderr unless a program has called [LogTo].
func Open(opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	// A Redis that hangs must cost a bounded time, and only the caller knows whether a
	// command may be sent again. Connections that a network has forgotten cost a timeout each,
	// so few are kept.
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:                    opts.Addrs,
		MasterName:               opts.Master,
		IsClusterMode:            opts.Cluster,
		Username:                 opts.User,
		Password:                 opts.Password,
		SentinelUsername:         opts.SentinelUser,
		SentinelPassword:         opts.SentinelPassword,
		DB:                       opts.DB,
		TLSConfig:                opts.TLS,
		Protocol:                 2,
		ContextTimeoutEnabled:    true,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              opts.Timeout,
		ReadTimeout:              opts.Timeout,
		WriteTimeout:             opts.Timeout,
		PoolTimeout:              opts.Timeout,
		MaxIdleConns:             maxIdleConns,
		IdentitySuffix:           "recloser",
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	s := &Store{client: client, opts: opts, prefix: "{" + opts.Prefix + "}:"}
	s.ctx, s.close = context.WithCancel(context.Background())
	return s, nil
}

// Caps implements [fleet.Store]. Whether Redis writes to disk is up to its own
// settings, so nothing is promised of a restart.
func (s *Store) Caps() fleet.Caps {
	return fleet.Caps{Name: "redis"}
}

// Close implements [fleet.Store]. It waits for what runs, for the store's timeout at most.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	var err error
	if first {
		s.close()
		err = s.client.Close()
	}
	s.running.Wait()
	return err
}

// key returns the key in Redis of a kind of things, and of the one that is named.
func (s *Store) key(kind string, name ...string) string {
	return s.prefix + strings.Join(append([]string{kind}, name...), ":")
}

// begin counts something that runs until done is called, unless the store is closed.
func (s *Store) begin() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fleet.ErrClosed
	}
	s.running.Add(1)
	return s.running.Done, nil
}

// run runs a script and returns its reply.
func (s *Store) run(ctx context.Context, script *redis.Script, keys []string, args ...any) (any, error) {
	return s.within(ctx, func(ctx context.Context) (any, error) {
		return script.Run(ctx, s.client, keys, args...).Result()
	})
}

// within calls f, which talks to the server, within the store's timeout, and returns what it does,
// or as soon as ctx is cancelled: go-redis does not see that while it waits for a server.
func (s *Store) within(ctx context.Context, f func(context.Context) (any, error)) (any, error) {
	done, err := s.begin()
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	stop := context.AfterFunc(s.ctx, cancel)
	type answer struct {
		reply any
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		defer done()
		defer cancel()
		defer stop()
		reply, err := f(bounded)
		answers <- answer{reply, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-bounded.Done():
		// The answer that came at the same moment counts.
		select {
		case a = <-answers:
		default:
			a.err = bounded.Err()
		}
	}
	switch {
	case a.err == nil:
		return a.reply, nil
	case s.ctx.Err() != nil:
		return nil, fleet.ErrClosed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, s.explain(a.err)
}
