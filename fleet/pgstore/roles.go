package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/recloser-go/recloser/fleet"
)

const (
	// Who asks in vain only reads: most nodes do, again and again.
	holdRole = `
		INSERT INTO roles AS r (role, node, ends)
		SELECT $1, $2, clock_timestamp() + $3::interval
		WHERE NOT EXISTS (SELECT FROM roles WHERE role = $1 AND node <> $2 AND ends > clock_timestamp())
		ON CONFLICT (role) DO UPDATE SET node = excluded.node, ends = excluded.ends
		WHERE r.node = excluded.node OR r.ends <= clock_timestamp()`
	leaveRole = `DELETE FROM roles WHERE role = $1 AND node = $2`
	roleNode  = `SELECT node FROM roles WHERE role = $1 AND ends > clock_timestamp()`
)

// Elect implements [fleet.Store].
func (s *Store) Elect(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
	if err := fleet.CheckKey(role, node); err != nil {
		return "", err
	}
	sql, args := leaveRole, []any{role, node}
	if ttl != 0 {
		if err := fleet.CheckTTL(ttl); err != nil {
			return "", err
		}
		sql, args = holdRole, append(args, ttl)
	}
	var done bool
	var holders []string
	err := s.send(ctx, func(b *pgx.Batch) {
		queueDone(b, &done, sql, args...)
		b.Queue(roleNode, role).Query(collect(&holders, pgx.RowTo[string]))
	})
	switch {
	case err != nil:
		return "", err
	case done && ttl != 0:
		return node, nil // even if its ttl was short
	case len(holders) == 0 && ttl != 0: // it was given up in between
		return s.Elect(ctx, role, node, ttl)
	case len(holders) == 0:
		return "", nil
	}
	return holders[0], nil
}
