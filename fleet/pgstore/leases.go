package pgstore

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/recloser-go/recloser/fleet"
)

const (
	// Who counts leases does so alone. This lock writes nothing, so that to ask for
	// a slot that is not free costs the server no write.
	lockDoc = `SELECT pg_advisory_xact_lock($1)`

	ofVersion = `key = $1 AND epoch = $2 AND id = $3`
	isCurrent = `EXISTS (SELECT FROM documents WHERE ` + ofVersion + ` AND ends > clock_timestamp())`

	takeLease = `
		INSERT INTO leases (key, epoch, id, token, node, ends)
		SELECT key, epoch, id, $4, $5, clock_timestamp() + $6::interval
		FROM documents WHERE ` + ofVersion + ` AND ends > clock_timestamp() AND slots > (
			SELECT count(*) FROM leases
			WHERE ` + ofVersion + ` AND (result = 0 OR result IS NULL AND ends > clock_timestamp()))`

	held        = ofVersion + ` AND token = $4 AND result IS NULL AND ends > clock_timestamp() AND ` + isCurrent
	finishLease = `UPDATE leases SET result = $5 WHERE ` + held
	returnLease = `DELETE FROM leases WHERE ` + held

	tallyLeases = `
		SELECT ` + isCurrent + `,
			count(*) FILTER (WHERE result = 0),
			count(*) FILTER (WHERE result = 1 OR result IS NULL AND ends <= now),
			count(*) FILTER (WHERE result IS NULL AND ends > now)
		FROM leases, clock_timestamp() AS now WHERE ` + ofVersion
)

// Acquire implements [fleet.Store].
func (s *Store) Acquire(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
	if err := fleet.CheckKey(key, node); err != nil {
		return fleet.Lease{}, fleet.Tally{}, err
	}
	if err := fleet.CheckTTL(ttl); err != nil {
		return fleet.Lease{}, fleet.Tally{}, err
	}
	l := fleet.Lease{Key: key, Rev: rev, Token: rand.Uint64(), TTL: ttl}
	taken, current, tally, err := s.lease(ctx, l, takeLease, node, ttl)
	switch {
	case err != nil:
		return fleet.Lease{}, fleet.Tally{}, err
	case taken:
		return l, tally, nil
	case !current:
		return fleet.Lease{}, fleet.Tally{}, fleet.ErrConflict
	}
	return fleet.Lease{}, tally, fleet.ErrNoSlot
}

// Finish implements [fleet.Store].
func (s *Store) Finish(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
	if err := fleet.CheckKey(l.Key); err != nil {
		return fleet.Tally{}, err
	}
	sql, args := finishLease, []any{int16(r)}
	if r == fleet.Unused {
		sql, args = returnLease, nil
	}
	done, current, tally, err := s.lease(ctx, l, sql, args...)
	switch {
	case err != nil:
		return fleet.Tally{}, err
	case done:
		return tally, nil
	case !current:
		return fleet.Tally{}, fleet.ErrStale
	}
	return tally, fleet.ErrStale
}

// lease runs a statement on a lease of a document while nobody else does, and returns
// whether it did anything, whether the version is the document's, and its tally then.
func (s *Store) lease(ctx context.Context, l fleet.Lease, sql string, args ...any) (done, current bool, tally fleet.Tally, err error) {
	args = append([]any{l.Key, int64(l.Rev.Epoch), int64(l.Rev.ID), int64(l.Token)}, args...)
	err = s.send(ctx, func(b *pgx.Batch) {
		b.Queue(lockDoc, s.lock(l.Key))
		queueDone(b, &done, sql, args...)
		b.Queue(tallyLeases, args[:3]...).QueryRow(func(row pgx.Row) error {
			return row.Scan(&current, &tally.Good, &tally.Bad, &tally.Running)
		})
	})
	return done, current, tally, err
}
