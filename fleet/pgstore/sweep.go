package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// sweepEvery is how often a node removes what has ended. Nobody sees such things, so
// that is only for the room they take.
const sweepEvery = time.Minute

// Whatever somebody uses at this moment is left for the next time.
const (
	sweepDocs = `DELETE FROM documents WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM documents WHERE ends <= clock_timestamp() FOR UPDATE SKIP LOCKED))`
	sweepRows = `DELETE FROM rows WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM rows WHERE ends <= clock_timestamp() FOR UPDATE SKIP LOCKED))`
	sweepRoles = `DELETE FROM roles WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM roles WHERE ends <= clock_timestamp() FOR UPDATE SKIP LOCKED))`
	sweepLeases = `DELETE FROM leases WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM leases l WHERE NOT EXISTS (
			SELECT FROM documents d WHERE d.key = l.key AND d.epoch = l.epoch AND d.id = l.id)
		FOR UPDATE SKIP LOCKED))`
)

// sweep removes what has ended, if it is time to. What fails is done the next time.
func (s *Store) sweep(ctx context.Context) {
	s.mu.Lock()
	due := time.Since(s.swept) >= sweepEvery
	if due {
		s.swept = time.Now()
	}
	s.mu.Unlock()
	if !due {
		return
	}
	_ = s.send(ctx, func(b *pgx.Batch) {
		for _, sql := range []string{sweepDocs, sweepRows, sweepRoles, sweepLeases} {
			b.Queue(sql)
		}
	})
}
