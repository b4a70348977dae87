//go:build unix

package pgstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/internal/eventually"
)

func newRev(epoch uint64) fleet.Rev { return fleet.Rev{Epoch: epoch, ID: rand.Uint64() | 1} }

func create(t *testing.T, s *Store, d fleet.Doc) fleet.Doc {
	t.Helper()
	d.Rev = newRev(1)
	d, err := s.Put(t.Context(), fleet.Rev{}, d)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A server that hangs must not keep what waited for it: pgx gives it 15 s, for each
// connection, in which the pool would be exhausted and Close would wait.
func hungServerHoldsNothing(t *testing.T, server *pgtest.Server) {
	for _, mode := range []string{"disable", "require"} {
		t.Run("sslmode="+mode, func(t *testing.T) { hungServer(t, server, strings.Replace(server.URL(), "disable", mode, 1)) })
	}
}

func hungServer(t *testing.T, server *pgtest.Server, url string) {
	both := make([]*Store, 2)
	for i := range both {
		var err error
		if both[i], err = Open(Options{URL: url, Schema: "x", Timeout: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = both[i].Close() })
	}
	s, closing := both[0], both[1]
	for _, c := range both {
		ask(t, c, 10, enough)
	}
	if n := server.Connections(t); n > 2*maxConns {
		t.Errorf("two nodes hold %d connections, want at most %d each", n, maxConns)
	}
	server.Pause(t)
	t.Cleanup(func() { server.Resume(t) })
	for _, c := range both {
		if done := ask(t, c, 10, 20*time.Millisecond); done > 0 {
			t.Errorf("%d of 10 were answered by a server that hangs", done)
		}
	}
	const quick = 5 * time.Second
	began := time.Now()
	_ = closing.Close()
	if took := time.Since(began); took > quick {
		t.Errorf("Close took %s while the server hung", took)
	}
	eventually.True(t, quick, func() bool { now := s.pool.Stat(); return now.AcquiredConns()+now.IdleConns() == 0 }, "connections that hang to be given up")
	server.Resume(t)
	if done := ask(t, s, 10, enough); done != 10 {
		t.Errorf("%d of 10 were answered after the server went on", done)
	}
}

// ask loads n times at once and returns how often that went well.
func ask(t *testing.T, s *Store, n int, within time.Duration) (done int) {
	t.Helper()
	var group sync.WaitGroup
	var mu sync.Mutex
	for range n {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			if _, _, err := s.Load(ctx); err == nil {
				mu.Lock()
				defer mu.Unlock()
				done++
			}
		})
	}
	group.Wait()
	return done
}

// What nobody waits for any more does not go on at the server.
func abandonedStatementsEnd(t *testing.T, server *pgtest.Server) {
	s, err := Open(Options{URL: server.URL(), Schema: "x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	d := create(t, s, fleet.Doc{Key: "k"})
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT FROM x.documents FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		_, err := s.Put(ctx, d.Rev, fleet.Doc{Key: "k", Rev: newRev(2)})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Put of a document that is locked: %v", err)
		}
	}
	// Without a deadline of the caller the store's own timeout holds.
	if _, err := s.Put(t.Context(), d.Rev, fleet.Doc{Key: "k", Rev: newRev(2)}); err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("Put of a document that is locked: %v", err)
	}
	eventually.True(t, enough, func() bool {
		return server.Query(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`) == 0
	}, "statements that nobody waits for to end")
}

// The tables are made although each caller goes away before they are.
func tablesAreMadeBehindImpatientCallers(t *testing.T, server *pgtest.Server) {
	s := open(t, server, "x")
	t.Cleanup(func() { _ = s.Close() })
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, s.lock("")); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, _, err := s.Load(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Load while another node makes the tables: %v", err)
		}
	}
	_ = conn.Close(t.Context()) // and so the lock is gone
	eventually.True(t, enough, func() bool {
		return server.Query(t, `SELECT count(*) FROM pg_tables WHERE schemaname = 'x'`) == 5
	}, "the tables to be made")
}

func allNodesMakeTheTables(t *testing.T, server *pgtest.Server) {
	var group sync.WaitGroup
	for range 50 {
		s := open(t, server, "x")
		t.Cleanup(func() { _ = s.Close() })
		group.Go(func() {
			if _, _, err := s.Load(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := server.Query(t, `SELECT version FROM x.about`); n != len(steps()) {
		t.Errorf("the tables are of version %d", n)
	}
}

// A crash loses what is said anew anyway, and nothing else.
func crash(t *testing.T, server *pgtest.Server) {
	s := open(t, server, "x")
	t.Cleanup(func() { _ = s.Close() })
	ctx := t.Context()
	d := create(t, s, fleet.Doc{Key: "k", Slots: 2, Data: []byte("data")})
	l, _, err := s.Acquire(ctx, "k", d.Rev, "n", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Elect(ctx, "r", "a", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.Say(ctx, []fleet.Row{{Key: "k", Node: "n", Seq: 1}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	ask(t, s, 10, enough) // so that there are several connections
	server.Restart(t)
	if _, _, err := s.Load(ctx); err != nil {
		t.Logf("the first found out, for all: %v", err)
	}
	docs, _, err := s.Load(ctx)
	if err != nil || len(docs) != 1 || docs[0].Rev != d.Rev || string(docs[0].Data) != "data" {
		t.Errorf("Load after a crash: %v, %v", docs, err)
	}
	if holder, err := s.Elect(ctx, "r", "b", time.Hour); err != nil || holder != "a" {
		t.Errorf("Elect after a crash: %q, %v; want a", holder, err)
	}
	if tally, err := s.Finish(ctx, l, fleet.Good); err != nil || tally != (fleet.Tally{Good: 1}) {
		t.Errorf("Finish after a crash: %+v, %v", tally, err)
	}
	if rows, err := s.Said(ctx, "k"); err != nil || len(rows) != 0 {
		t.Errorf("Said after a crash: %v, %v", rows, err)
	}
}

// A replica that takes over and misses what was put last is another life: who watches
// loads again, and finds the version before.
func TestFailoverThatLosesTheLastWrite(t *testing.T) {
	server := pgtest.Start(t)
	replica := server.Replica(t)
	both := pgtest.URLAt(server.Addr(), replica.Addr()) + "&target_session_attrs=read-write"
	s, err := Open(Options{URL: both, Schema: "x", Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx := t.Context()
	kept := create(t, s, fleet.Doc{Key: "k"})
	eventually.True(t, enough, func() bool {
		return replica.Query(t, `SELECT count(*) FROM pg_tables WHERE schemaname = 'x'`) == 5 && replica.Query(t, `SELECT count(*) FROM x.documents`) == 1
	}, "the replica to have the first version")
	onReplica, err := Open(Options{URL: replica.URL(), Schema: "x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = onReplica.Close() })
	if _, err := onReplica.Put(ctx, kept.Rev, fleet.Doc{Key: "k", Rev: newRev(2)}); err == nil || !strings.Contains(err.Error(), "target_session_attrs=read-write") {
		t.Errorf("Put on a replica: %v", err)
	}

	replica.Kill(t) // stopped, it would find what was sent in its socket
	lost, err := s.Put(ctx, kept.Rev, fleet.Doc{Key: "k", Rev: newRev(2)})
	if err != nil {
		t.Fatal(err)
	}
	_, at, err := s.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	go func() { watched <- s.Watch(ctx, at, func(fleet.Doc) {}) }()
	eventually.True(t, enough, func() bool { return server.Connections(t) > 1 }, "somebody to watch")
	server.Kill(t)
	replica.Restart(t)
	replica.Promote(t)
	if err := <-watched; err == nil {
		t.Error("Watch ended without an error")
	}
	var docs []fleet.Doc
	eventually.True(t, enough, func() bool { docs, _, err = s.Load(ctx); return err == nil }, "the replica to be found")
	if len(docs) != 1 || docs[0].Rev != kept.Rev {
		t.Fatalf("after the failover there is %v, want the version before", docs)
	}
	patient, cancel := context.WithTimeout(ctx, enough)
	defer cancel()
	if err := s.Watch(patient, at, func(fleet.Doc) {}); !errors.Is(err, fleet.ErrResync) {
		t.Errorf("Watch from a position of the server before: %v, want ErrResync", err)
	}
	if got, err := s.Put(ctx, lost.Rev, fleet.Doc{Key: "k", Rev: newRev(3)}); !errors.Is(err, fleet.ErrConflict) || got.Rev != kept.Rev {
		t.Errorf("Put on what was lost: %v, %v", got, err)
	}
}
