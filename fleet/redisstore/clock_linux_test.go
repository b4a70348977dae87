//go:build !race

package redisstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet/fleettest"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/internal/clocktest"
)

func TestFleetOnAWrongClock(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(t)
	server := redistest.StartIn(t, clock.Env())
	fleettest.WrongClock(t, fleetOn(server), func(t testing.TB, by time.Duration) {
		t.Helper()
		clock.Set(t, by)
		seconds, err := strconv.ParseInt(server.Do("time").([]any)[0].(string), 10, 64)
		if is := time.Until(time.Unix(seconds, 0)); err != nil || (is-by).Abs() > time.Minute {
			t.Fatalf("the server's clock is wrong by %v, want %v", is, by)
		}
	})
}
