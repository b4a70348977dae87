//go:build unix

package pgstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// Somebody may have set for the whole database that a transaction sees nothing of what
// others do while it runs; who waits in one for its turn to count leases would count old ones.
func isolationOfTheDatabase(t *testing.T, server *pgtest.Server) {
	server.Exec(t, `ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'`)
	t.Cleanup(func() { server.Exec(t, `ALTER DATABASE postgres RESET default_transaction_isolation`) })
	s := open(t, server, "x")
	t.Cleanup(func() { _ = s.Close() })
	d := create(t, s, fleet.Doc{Key: "k", Slots: 1})
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, s.lock("k")); err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int32
	var group sync.WaitGroup
	for range maxConns {
		group.Go(func() {
			_, _, err := s.Acquire(t.Context(), "k", d.Rev, "n", time.Hour)
			switch {
			case err == nil:
				taken.Add(1)
			case !errors.Is(err, fleet.ErrNoSlot):
				t.Errorf("Acquire: %v", err)
			}
		})
	}
	eventually.True(t, enough, func() bool {
		return server.Query(t, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`) == maxConns
	}, "all to wait for their turn")
	_ = conn.Close(t.Context()) // and so the lock is gone
	group.Wait()
	if n := taken.Load(); n != 1 {
		t.Errorf("%d leases were taken of 1 slot", n)
	}
}

// Most nodes ask in vain, again and again: that must not make the server write.
func toAskInVainWritesNothing(t *testing.T, server *pgtest.Server) {
	s := open(t, server, "x")
	t.Cleanup(func() { _ = s.Close() })
	ctx := t.Context()
	d := create(t, s, fleet.Doc{Key: "k", Slots: 1})
	l, _, err := s.Acquire(ctx, "k", d.Rev, "n", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Elect(ctx, "r", "n", time.Hour); err != nil {
		t.Fatal(err)
	}
	transactions := func() int { return server.Query(t, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint`) }
	before := transactions()
	for range 10 {
		if _, _, err := s.Acquire(ctx, "k", d.Rev, "other", time.Hour); !errors.Is(err, fleet.ErrNoSlot) {
			t.Fatal(err)
		}
		if _, _, err := s.Acquire(ctx, "k", newRev(1), "other", time.Hour); !errors.Is(err, fleet.ErrConflict) {
			t.Fatal(err)
		}
		if holder, err := s.Elect(ctx, "r", "other", time.Hour); err != nil || holder != "n" {
			t.Fatal(holder, err)
		}
		if _, err := s.Put(ctx, newRev(7), fleet.Doc{Key: "k", Rev: newRev(8)}); !errors.Is(err, fleet.ErrConflict) {
			t.Fatal(err)
		}
		if _, _, err := s.Load(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := transactions() - before; n != 0 {
		t.Errorf("the server wrote in %d transactions", n)
	}
	if _, err := s.Finish(ctx, l, fleet.Good); err != nil {
		t.Fatal(err)
	}
	if transactions() == before {
		t.Error("the server counts no transactions; the test is wrong")
	}
}

// Who watches a server that hangs is told, as nothing will come.
func watchOfAHungServerEnds(t *testing.T, server *pgtest.Server) {
	s, err := Open(Options{URL: server.URL(), Schema: "x", Timeout: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var at uint64
	for { // a busy machine may make the tables slowly
		if _, at, err = s.Load(t.Context()); err == nil {
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	d := make(chan fleet.Doc, 10)
	watched := make(chan error, 1)
	go func() { watched <- s.Watch(t.Context(), at, func(seen fleet.Doc) { d <- seen }) }()
	other := open(t, server, "x")
	t.Cleanup(func() { _ = other.Close() })
	create(t, other, fleet.Doc{Key: "k"})
	select {
	case <-d:
	case err := <-watched:
		t.Fatal(err)
	}
	server.Pause(t)
	t.Cleanup(func() { server.Resume(t) })
	select {
	case err := <-watched:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Watch of a server that hangs ended with %v", err)
		}
	case <-time.After(enough):
		t.Error("Watch goes on although the server hangs")
	}
}

// The server asks after a minute whether a node lives of which it hears nothing, unless
// the URL says otherwise.
func deadNodesAreFound(t *testing.T, server *pgtest.Server) {
	for url, want := range map[string]string{server.URL(): "30 10 3", server.URL() + "&tcp_keepalives_idle=7": "7 10 3"} {
		s, err := Open(Options{URL: url, Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		var is string
		err = s.pool.QueryRow(t.Context(), `SELECT concat_ws(' ', current_setting('tcp_keepalives_idle'), current_setting('tcp_keepalives_interval'), current_setting('tcp_keepalives_count'))`).Scan(&is)
		if err != nil || is != want {
			t.Errorf("keepalives: %q, %v; want %q", is, err, want)
		}
	}
}
