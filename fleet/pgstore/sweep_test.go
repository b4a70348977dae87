//go:build unix

package pgstore

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// What has ended is removed after a while, and what has not stays.
func sweep(t *testing.T, server *pgtest.Server) {
	s := open(t, server, "x")
	t.Cleanup(func() { _ = s.Close() })
	ctx := t.Context()
	size := func() int {
		return server.Query(t, `SELECT (SELECT count(*) FROM x.documents) * 1000 + (SELECT count(*) FROM x.rows) * 100 +
			(SELECT count(*) FROM x.leases) * 10 + (SELECT count(*) FROM x.roles)`)
	}
	sweptAt := func(at time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.swept = at
	}
	sweptAt(time.Now())
	for _, ttl := range []time.Duration{time.Millisecond, time.Hour} {
		d := create(t, s, fleet.Doc{Key: ttl.String(), Slots: 2, TTL: time.Hour})
		if _, _, err := s.Acquire(ctx, d.Key, d.Rev, "n", time.Millisecond); err != nil {
			t.Fatal(err) // a lease that ran out is a result, and stays as long as the version
		}
		if _, err := s.Put(ctx, d.Rev, fleet.Doc{Key: d.Key, Rev: newRev(2), Slots: 1, TTL: ttl}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Elect(ctx, ttl.String(), "n", ttl); err != nil {
			t.Fatal(err)
		}
		if err := s.Say(ctx, []fleet.Row{{Key: "k", Node: ttl.String()}}, ttl); err != nil {
			t.Fatal(err)
		}
	}
	d := create(t, s, fleet.Doc{Key: "stays", Slots: 2})
	for _, ttl := range []time.Duration{time.Millisecond, time.Hour} {
		if _, _, err := s.Acquire(ctx, d.Key, d.Rev, "n", ttl); err != nil {
			t.Fatal(err)
		}
	}
	if got := size(); got != 3242 {
		t.Fatalf("there are %d things; the test is wrong", got)
	}
	// Nobody sees what has ended, so only when it is gone is for the sweep to say.
	eventually.True(t, enough, func() bool {
		sweptAt(time.Time{})
		if err := s.Say(ctx, []fleet.Row{{Key: "k", Node: time.Hour.String()}}, time.Hour); err != nil {
			t.Fatal(err)
		}
		return size() == 2121
	}, "one of each that has ended to be removed, and two leases")
	if _, tally, err := s.Acquire(ctx, d.Key, d.Rev, "n", time.Hour); err != nil || tally.Bad != 1 || tally.Running != 2 {
		t.Errorf("leases after a sweep: %+v, %v", tally, err)
	}
}
