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

	// One statement, so that all of it is at one time: the document, if it is of this
	// version, its tally, and the change, which is not in the tally.
	withTally = `
		WITH at AS MATERIALIZED (SELECT clock_timestamp() AS now),
		document AS (SELECT slots FROM documents, at WHERE key = $1 AND epoch = $2 AND id = $3 AND ends > now),
		tally AS (
			SELECT count(*) FILTER (WHERE result = 0) AS good,
				count(*) FILTER (WHERE result = 1 OR result IS NULL AND ends <= now) AS bad,
				count(*) FILTER (WHERE result IS NULL AND ends > now) AS running
			FROM leases, at WHERE key = $1 AND epoch = $2 AND id = $3),
		done AS (`
	andTally = ` RETURNING 1)
		SELECT EXISTS (SELECT FROM document), EXISTS (SELECT FROM done), good, bad, running FROM tally`

	takeLease = withTally + `
		INSERT INTO leases (key, epoch, id, token, node, ends)
		SELECT $1, $2, $3, $4, $5, now + $6::interval FROM document, tally, at WHERE slots > good + running` + andTally
	finishLease = withTally + `
		UPDATE leases SET result = $5 FROM document, at WHERE ` + held + andTally
	returnLease = withTally + `
		DELETE FROM leases USING document, at WHERE ` + held + andTally
	held = `key = $1 AND epoch = $2 AND id = $3 AND token = $4 AND result IS NULL AND ends > now`
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
		tally.Running++
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
	case !current:
		return fleet.Tally{}, fleet.ErrStale
	case !done:
		return tally, fleet.ErrStale
	}
	tally.Running--
	switch r {
	case fleet.Good:
		tally.Good++
	case fleet.Bad:
		tally.Bad++
	case fleet.Unused:
	}
	return tally, nil
}

// lease changes a lease of a document while nobody else does, and returns whether that
// was done, whether the version is the document's, and its tally before.
func (s *Store) lease(ctx context.Context, l fleet.Lease, sql string, args ...any) (done, current bool, tally fleet.Tally, err error) {
	args = append([]any{l.Key, int64(l.Rev.Epoch), int64(l.Rev.ID), int64(l.Token)}, args...)
	err = s.send(ctx, func(b *pgx.Batch) {
		b.Queue(lockDoc, s.lock(l.Key))
		b.Queue(sql, args...).QueryRow(func(row pgx.Row) error {
			return row.Scan(&current, &done, &tally.Good, &tally.Bad, &tally.Running)
		})
	})
	return done, current, tally, err
}
