//go:build unix

package pgstore

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/internal/eventually"
)

const enough = 30 * time.Second

// heard counts what a watch has shown, by key and epoch.
type heard struct {
	mu    sync.Mutex
	times map[string]int
}

func (h *heard) of(key string, epoch uint64) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.times[key+"/"+strconv.FormatUint(epoch, 10)]
}

// listen watches until the test ends.
func listen(t *testing.T, s *Store, after uint64) *heard {
	t.Helper()
	h := &heard{times: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Watch(ctx, after, func(d fleet.Doc) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.times[d.Key+"/"+strconv.FormatUint(d.Rev.Epoch, 10)]++
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != context.Canceled { //nolint:errorlint // it is ctx's own
			t.Errorf("Watch ended with %v", err)
		}
	})
	return h
}

// A transaction that began first and ends last is below all positions that were seen
// meanwhile in the order of numbers, and must be shown nevertheless.
func lateTransactionIsNotMissed(t *testing.T, server *pgtest.Server) {
	s := open(t, server, "x")
	t.Cleanup(func() { _ = s.Close() })
	put := func(key string, epoch uint64) {
		t.Helper()
		var expect fleet.Rev
		if epoch > 1 {
			expect = fleet.Rev{Epoch: epoch - 1, ID: epoch - 1}
		}
		if _, err := s.Put(t.Context(), expect, fleet.Doc{Key: key, Rev: fleet.Rev{Epoch: epoch, ID: epoch}}); err != nil {
			t.Fatal(err)
		}
	}
	put("late", 1)
	_, before, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := listen(t, s, before)

	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `UPDATE x.documents SET epoch = 2, id = 2, changed = pg_current_xact_id() WHERE key = 'late'`); err != nil {
		t.Fatal(err)
	}
	const puts = 5
	for i := range uint64(puts) {
		put("k", i+1)
	}
	eventually.True(t, enough, func() bool { return first.of("k", puts) > 0 }, "a change after one that is not done to be seen")
	docs, between, err := s.Load(t.Context())
	if err != nil || len(docs) != 2 || docs[1].Rev.Epoch != 1 {
		t.Fatalf("Load: %v, %v", docs, err)
	}
	second := listen(t, s, between)
	for i := range uint64(puts) {
		put("l", i+1)
	}
	eventually.True(t, enough, func() bool { return first.of("l", puts) > 0 && second.of("l", puts) > 0 }, "more changes to be seen")
	if n := first.of("k", puts) + first.of("l", puts); n != 2 {
		t.Errorf("two documents that were read again and again were shown %d times", n)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, enough, func() bool { return first.of("late", 2) == 1 && second.of("late", 2) == 1 }, "the late change to be seen")
}

// A push that is lost is made up for by the same Watch.
func lostPush(t *testing.T, server *pgtest.Server) {
	s, quiet := open(t, server, "x"), open(t, server, "x")
	t.Cleanup(func() { _ = s.Close(); _ = quiet.Close() })
	quiet.channel = "nobody listens"
	_, at, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := listen(t, s, at)
	for _, key := range []string{"a", "b"} {
		create(t, quiet, fleet.Doc{Key: key})
		eventually.True(t, enough, func() bool { return h.of(key, 1) == 1 }, "a change that was not pushed to be seen")
	}
}

// A position is of no use in another life of the server or of the tables.
func TestPositionsOfLives(t *testing.T) {
	began := time.UnixMicro(1e15)
	at := positionOf(1, began, 7)
	if at&(1<<xidBits-1) != 7 {
		t.Errorf("position %x does not hold 7", at)
	}
	if other := positionOf(1, began, 1<<40); other>>xidBits != at>>xidBits {
		t.Errorf("two positions of one life, %x and %x, look like two lives", at, other)
	}
	for _, other := range []uint64{positionOf(2, began, 7), positionOf(1, began.Add(time.Second), 7)} {
		if other>>xidBits == at>>xidBits {
			t.Errorf("positions of two lives, %x and %x, look alike", at, other)
		}
	}
}
