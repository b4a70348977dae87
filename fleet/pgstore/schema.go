package pgstore

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNewer is returned if a later version of this package has made or changed the
// tables. The node goes on by itself; update it.
var ErrNewer = errors.New("pgstore: the tables are of a later version of Recloser: update this node, or give it a schema of its own")

// steps lead from each version of the tables to the next; from nothing to the first.
func steps() []string {
	return []string{
		`
		CREATE TABLE IF NOT EXISTS about (
			one     boolean PRIMARY KEY DEFAULT true CHECK (one),
			version integer NOT NULL,
			id      bigint  NOT NULL -- random: tables that were dropped and made again have another
		);
		CREATE TABLE IF NOT EXISTS documents (
			key     text COLLATE "C" PRIMARY KEY,
			epoch   bigint      NOT NULL,
			id      bigint      NOT NULL,
			slots   integer     NOT NULL,
			data    bytea       NOT NULL,
			ttl     interval    NOT NULL,
			put     timestamptz NOT NULL,
			ends    timestamptz NOT NULL,
			changed xid8        NOT NULL -- by which transaction, for Watch
		);
		CREATE INDEX IF NOT EXISTS documents_changed ON documents (changed);
		CREATE UNLOGGED TABLE IF NOT EXISTS rows (
			key   text COLLATE "C",
			node  text COLLATE "C",
			start bigint      NOT NULL,
			seq   bigint      NOT NULL,
			data  bytea       NOT NULL,
			said  timestamptz NOT NULL,
			ends  timestamptz NOT NULL,
			PRIMARY KEY (key, node)
		) WITH (fillfactor = 50);
		CREATE TABLE IF NOT EXISTS leases (
			key    text COLLATE "C",
			epoch  bigint,
			id     bigint,
			token  bigint,
			node   text        NOT NULL,
			ends   timestamptz NOT NULL,
			result smallint, -- 0 good, 1 bad; null while it runs, and if it ran out
			PRIMARY KEY (key, epoch, id, token)
		);
		CREATE TABLE IF NOT EXISTS roles (
			role text COLLATE "C" PRIMARY KEY,
			node text        NOT NULL,
			ends timestamptz NOT NULL
		);`,
	}
}

// makingIn bounds the making of the tables, whose files are synced to the disk one by one.
const makingIn = 10 * time.Second

// making is one attempt to make the tables.
type making struct {
	done chan struct{}
	err  error
}

// ready returns once the tables are there. They are made on a context of their own:
// that of a caller may be shorter than a slow disk takes, each time.
func (s *Store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.made {
		s.mu.Unlock()
		return nil
	}
	m := s.making
	if m == nil && s.life.Err() == nil {
		m = &making{done: make(chan struct{})}
		s.making = m
		s.running.Go(func() { s.make(m) })
	}
	s.mu.Unlock()
	if m == nil {
		return s.life.Err()
	}
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) make(m *making) {
	ctx, cancel := context.WithTimeout(s.life, makingIn)
	defer cancel()
	m.err = s.migrate(ctx)
	s.mu.Lock()
	s.made, s.making = m.err == nil, nil
	s.mu.Unlock()
	close(m.done)
}

func (s *Store) migrate(ctx context.Context) error {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	if err := suits(c.Conn().PgConn()); err != nil {
		return err
	}
	version, err := s.version(ctx, c)
	if err != nil || version == len(steps()) {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		// All nodes may start at once; one makes the tables.
		if _, err := tx.Exec(ctx, fmt.Sprintf(`SET LOCAL statement_timeout = %d`, makingIn.Milliseconds())); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, s.lock("")); err != nil {
			return err
		}
		version, err := s.version(ctx, tx)
		if err != nil || version == len(steps()) {
			return err
		}
		var there bool
		if err := tx.QueryRow(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, quoted(s.opts.Schema)).Scan(&there); err != nil {
			return err
		}
		all := steps()[version:]
		if !there { // IF NOT EXISTS would want the right to create it even if it is there
			all = append([]string{`CREATE SCHEMA ` + quoted(s.opts.Schema)}, all...)
		}
		for _, step := range all {
			if _, err := tx.Exec(ctx, step); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `INSERT INTO about (version, id) VALUES ($1, $2) ON CONFLICT (one) DO UPDATE SET version = excluded.version`,
			len(steps()), int64(rand.Uint64()))
		return err
	})
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version returns that of the tables, 0 if there are none, and ErrNewer if it is above ours.
func (s *Store) version(ctx context.Context, q querier) (int, error) {
	var there bool
	if err := q.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, quoted(s.opts.Schema, "about")).Scan(&there); err != nil || !there {
		return 0, err
	}
	var version int
	err := q.QueryRow(ctx, `SELECT version FROM about`).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if version > len(steps()) {
		return version, ErrNewer
	}
	return version, err
}

// suits says what is wrong with a server, if it is too old or the database cannot hold all names.
func suits(c *pgconn.PgConn) error {
	version := c.ParameterStatus("server_version")
	digits, _, _ := strings.Cut(version, ".")
	if major, err := strconv.Atoi(digits); err == nil && major < 13 {
		return fmt.Errorf("the server is PostgreSQL %s: 13 or later is needed", version)
	}
	if encoding := c.ParameterStatus("server_encoding"); encoding != "UTF8" {
		return fmt.Errorf("the database has the encoding %s, which cannot hold every name: use one with UTF8", encoding)
	}
	return nil
}

// lock returns the number of the advisory lock of a document, "": of the tables.
func (s *Store) lock(key string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("recloser\x00" + s.opts.Schema + "\x00" + key))
	return int64(h.Sum64())
}
