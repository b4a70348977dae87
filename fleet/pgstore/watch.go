package pgstore

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/recloser-go/recloser/fleet"
)

// PollEvery is how often Watch looks whether something has changed that it was not told.
const PollEvery = 2 * time.Second

// How no change is missed: a document carries the number of the transaction that put it.
// Those numbers are given when transactions begin, and become visible when they end, in
// another order; so a position is not the highest number that was seen, but the lowest of
// those that were still running (xmin of a snapshot), or would be the next. Whatever is
// below was visible then; whatever becomes visible later is not below. A document may be
// read twice, and no counter that everybody must change in turn is needed.
const (
	position = `SELECT version, id, pg_postmaster_start_time(), pg_snapshot_xmin(pg_current_snapshot()) FROM about`
	changes  = `SELECT ` + docColumns + ` FROM documents WHERE changed >= $1 AND ends > clock_timestamp() ORDER BY changed`
)

// A position also tells lives of the server and of the tables apart, in its upper bits:
// a server that was restored or took over gives numbers anew.
const xidBits = 48

func positionOf(id int64, started time.Time, xmin uint64) uint64 {
	var life [16]byte
	binary.BigEndian.PutUint64(life[:], uint64(id))
	binary.BigEndian.PutUint64(life[8:], uint64(started.UnixMicro()))
	h := fnv.New64a()
	_, _ = h.Write(life[:])
	return h.Sum64()<<xidBits | xmin&(1<<xidBits-1)
}

// queueChanges queues to read documents, and first the position that they lead to.
func queueChanges(b *pgx.Batch, at *uint64, docs *[]fleet.Doc, sql string, args ...any) {
	b.Queue(position).QueryRow(func(row pgx.Row) error {
		var version int
		var id int64
		var started time.Time
		var xmin uint64
		if err := row.Scan(&version, &id, &started, &xmin); err != nil {
			return orEmptied(err)
		}
		if version > len(steps()) {
			return ErrNewer
		}
		*at = positionOf(id, started, xmin)
		return nil
	})
	b.Queue(sql, args...).Query(collect(docs, scanDoc))
}

// Watch implements [fleet.Store]. It has a connection of its own, and returns when that ends.
func (s *Store) Watch(ctx context.Context, after uint64, f func(fleet.Doc)) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	err := s.watch(watching, after, f)
	if isGone(err) {
		err = fleet.ErrResync
	}
	return s.explain(ctx, err)
}

func (s *Store) watch(ctx context.Context, after uint64, f func(fleet.Doc)) error {
	heard := false // on this goroutine, as all that reads from the connection
	config := s.pool.Config().ConnConfig
	config.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { heard = true }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		// A server is told goodbye, as it logs those who are not polite, but is not waited for.
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Millisecond)
		defer cancel()
		_ = conn.Close(bye)
	}()
	within, cancel := s.within(ctx)
	_, err = conn.Exec(within, `LISTEN `+quoted(s.channel))
	cancel()
	if err != nil {
		return err
	}
	shown := map[string]fleet.Rev{}
	for {
		heard = false
		at, docs, err := s.changes(ctx, conn, after)
		if err != nil {
			return err
		}
		if at>>xidBits != after>>xidBits {
			return fleet.ErrResync
		}
		// As long as one transaction of the server runs, what came after it is read again.
		read := make(map[string]fleet.Rev, len(docs))
		for _, d := range docs {
			read[d.Key] = d.Rev
			if shown[d.Key] != d.Rev {
				f(d)
			}
		}
		after, shown = at, read
		for !heard {
			wait, cancel := context.WithTimeout(ctx, PollEvery)
			err = conn.PgConn().WaitForNotification(wait)
			cancel()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, context.DeadlineExceeded) {
				break // its time to look
			}
			if err != nil {
				return err
			}
		}
	}
}

func (s *Store) changes(ctx context.Context, conn *pgx.Conn, after uint64) (at uint64, docs []fleet.Doc, err error) {
	within, cancel := s.within(ctx)
	defer cancel()
	b := &pgx.Batch{}
	queueChanges(b, &at, &docs, changes, after&(1<<xidBits-1))
	err = conn.SendBatch(within, b).Close()
	return at, docs, err
}
