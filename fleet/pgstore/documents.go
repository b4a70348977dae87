package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/recloser-go/recloser/fleet"
)

const (
	docColumns = `key, epoch, id, slots, data, ttl, greatest(clock_timestamp() - put, '0')`

	loadDocs = `SELECT ` + docColumns + ` FROM documents WHERE ends > clock_timestamp() ORDER BY key`
	loadDoc  = `SELECT ` + docColumns + ` FROM documents WHERE ends > clock_timestamp() AND key = $1`

	// A document that has ended is as good as none. A transaction that fails tells nobody.
	createDoc = `
		INSERT INTO documents AS d (key, epoch, id, slots, data, ttl, put, ends, changed)
		VALUES ($1, $2, $3, $4, $5, $6::interval, clock_timestamp(), ` + docEnds + `, pg_current_xact_id())
		ON CONFLICT (key) DO UPDATE SET
			epoch = excluded.epoch, id = excluded.id, slots = excluded.slots, data = excluded.data, ttl = excluded.ttl,
			put = excluded.put, ends = excluded.ends, changed = excluded.changed
		WHERE d.ends <= clock_timestamp()
		RETURNING pg_notify($7, '')`
	replaceDoc = `
		UPDATE documents SET epoch = $2, id = $3, slots = $4, data = $5, ttl = $6::interval,
			put = clock_timestamp(), ends = ` + docEnds + `, changed = pg_current_xact_id()
		WHERE key = $1 AND epoch = $8 AND id = $9 AND ends > clock_timestamp()
		RETURNING pg_notify($7, '')`
	docEnds = `CASE WHEN $6::interval = '0' THEN 'infinity' ELSE clock_timestamp() + $6::interval END`
)

// Load implements [fleet.Store].
func (s *Store) Load(ctx context.Context) ([]fleet.Doc, uint64, error) {
	var at uint64
	var docs []fleet.Doc
	err := s.send(ctx, func(b *pgx.Batch) { queueChanges(b, &at, &docs, loadDocs) })
	if err != nil {
		return nil, 0, err
	}
	return docs, at, nil
}

// Put implements [fleet.Store].
func (s *Store) Put(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
	if err := next.Check(expect); err != nil {
		return fleet.Doc{}, err
	}
	args := []any{next.Key, int64(next.Rev.Epoch), int64(next.Rev.ID), next.Slots, bytea(next.Data), next.TTL, s.channel}
	sql := createDoc
	if expect != (fleet.Rev{}) {
		sql = replaceDoc
		args = append(args, int64(expect.Epoch), int64(expect.ID))
	}
	var done bool
	var docs []fleet.Doc
	err := s.send(ctx, func(b *pgx.Batch) {
		queueDone(b, &done, sql, args...)
		b.Queue(loadDoc, next.Key).Query(collect(&docs, scanDoc))
	})
	if err != nil {
		return fleet.Doc{}, err
	}
	switch {
	case done && len(docs) == 0: // its ttl was short
		return next, nil
	case done:
		return docs[0], nil
	case len(docs) == 0:
		return fleet.Doc{}, fleet.ErrConflict
	}
	return docs[0], fleet.ErrConflict
}

func scanDoc(rows pgx.CollectableRow) (fleet.Doc, error) {
	var d fleet.Doc
	var epoch, id int64
	err := rows.Scan(&d.Key, &epoch, &id, &d.Slots, &d.Data, &d.TTL, &d.Age)
	d.Rev = fleet.Rev{Epoch: uint64(epoch), ID: uint64(id)}
	return d, err
}

// collect returns a callback that reads all rows into list, anew if it is sent again.
func collect[T any](list *[]T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*list, err = pgx.CollectRows(rows, scan)
		return err
	}
}

// queueDone queues a statement and notes whether it did anything.
func queueDone(b *pgx.Batch, done *bool, sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		rows.Close()
		*done = rows.CommandTag().RowsAffected() > 0
		return rows.Err()
	})
}

// bytea is data as a column has it that cannot be null.
func bytea(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}
