//go:build !race

package pgstore

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet/fleettest"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/internal/clocktest"
)

func TestFleetOnAWrongClock(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(t)
	server := pgtest.StartIn(t, clock.Env())
	fleettest.WrongClock(t, fleetOn(server), func(t testing.TB, by time.Duration) {
		t.Helper()
		clock.Set(t, by)
		seconds := server.Query(t, `SELECT extract(epoch FROM clock_timestamp())::integer`)
		if is := time.Until(time.Unix(int64(seconds), 0)); (is - by).Abs() > time.Minute {
			t.Fatalf("the server's clock is wrong by %v, want %v", is, by)
		}
	})
}
