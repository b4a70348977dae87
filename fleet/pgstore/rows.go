package pgstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/recloser-go/recloser/fleet"
)

const (
	// Sequences are unsigned: with the highest bit turned over they compare as such.
	sayRows = `
		INSERT INTO rows AS r (key, node, start, seq, data, said, ends)
		SELECT key, node, start, seq, data, clock_timestamp(), clock_timestamp() + $6::interval
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[]) AS new (key, node, start, seq, data)
		ON CONFLICT (key, node) DO UPDATE SET
			start = excluded.start,
			seq   = CASE WHEN ` + late + ` THEN r.seq ELSE excluded.seq END,
			data  = CASE WHEN ` + late + ` THEN r.data ELSE excluded.data END,
			said  = excluded.said,
			ends  = CASE WHEN ` + late + ` THEN greatest(r.ends, excluded.ends) ELSE excluded.ends END`
	late = `r.start = excluded.start AND r.seq # (1::bigint << 63) >= excluded.seq # (1::bigint << 63) AND r.ends > excluded.said`

	saidRows = `
		SELECT key, node, start, seq, data, greatest(clock_timestamp() - said, '0')
		FROM rows WHERE key = $1 AND ends > clock_timestamp() ORDER BY node`
)

// Say implements [fleet.Store].
func (s *Store) Say(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
	if err := fleet.CheckRows(rows, ttl); err != nil {
		return err
	}
	err := s.send(ctx, func(b *pgx.Batch) {
		for _, round := range rounds(rows) {
			queueRows(b, round, ttl)
		}
	})
	if err != nil {
		return err
	}
	s.sweep(ctx)
	return nil
}

func queueRows(b *pgx.Batch, rows []fleet.Row, ttl time.Duration) {
	var keys, nodes []string
	var starts, seqs []int64
	var data [][]byte
	for _, r := range rows {
		keys = append(keys, r.Key)
		nodes = append(nodes, r.Node)
		starts = append(starts, int64(r.Start))
		seqs = append(seqs, int64(r.Seq))
		data = append(data, bytea(r.Data))
	}
	b.Queue(sayRows, keys, nodes, starts, seqs, data, ttl)
}

// rounds puts rows of the same key and node one after the other, as one statement
// cannot change a row twice; each round in order, as two who lock in different orders
// may wait for each other.
func rounds(rows []fleet.Row) [][]fleet.Row {
	type place struct{ key, node string }
	times := map[place]int{}
	var all [][]fleet.Row
	for _, r := range rows {
		p := place{r.Key, r.Node}
		n := times[p]
		times[p]++
		if n == len(all) {
			all = append(all, nil)
		}
		all[n] = append(all[n], r)
	}
	for _, round := range all {
		slices.SortFunc(round, func(a, b fleet.Row) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Node, b.Node))
		})
	}
	return all
}

// Said implements [fleet.Store].
func (s *Store) Said(ctx context.Context, key string) ([]fleet.Row, error) {
	if err := fleet.CheckKey(key); err != nil {
		return nil, err
	}
	var rows []fleet.Row
	err := s.send(ctx, func(b *pgx.Batch) { b.Queue(saidRows, key).Query(collect(&rows, scanRow)) })
	return rows, err
}

func scanRow(rows pgx.CollectableRow) (fleet.Row, error) {
	var r fleet.Row
	var start, seq int64
	err := rows.Scan(&r.Key, &r.Node, &start, &seq, &r.Data, &r.Age)
	r.Start, r.Seq = uint64(start), uint64(seq)
	return r, err
}
