package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// Whoever comes back after some hundred changes gets them all, in order; after some
// thousand he has to load again, as the log is short.
func TestHowLongTheLogIs(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redisstore.Options{Addrs: []string{server.Addr}, Timeout: patient})
	_, at, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	change := func(from, to int) {
		for i := from; i < to; i++ {
			put(t, s, fleet.Doc{}, fmt.Sprintf("k%04d", i))
		}
	}
	const some = 3 * 101
	change(0, some)
	var seen []string
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = s.Watch(ctx, at, func(d fleet.Doc) {
		if seen = append(seen, d.Key); len(seen) == some {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Watch: %v after %d changes", err, len(seen))
	}
	for i, key := range seen {
		if want := fmt.Sprintf("k%04d", i); key != want {
			t.Fatalf("change %d is that of %s, want %s", i, key, want)
		}
	}

	change(some, 1500)
	if n := server.Do("xlen", "{recloser}:log").(int64); n < 1000 || n > 1200 {
		t.Errorf("the log has %d changes, want about 1000", n)
	}
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Watch(ctx, at, func(fleet.Doc) {}); !errors.Is(err, fleet.ErrResync) {
		t.Errorf("Watch from before the log: %v, want ErrResync", err)
	}
}

// What has vanished is not kept for ever: documents are swept by later ones, rows by
// those who look, and the rest by Redis.
func TestNothingIsLeft(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redisstore.Options{Addrs: []string{server.Addr}, Timeout: patient})
	const brief = 50 * time.Millisecond
	var last fleet.Doc
	for i := range 15 {
		next := fleet.Doc{Key: fmt.Sprint(i), Rev: fleet.Rev{Epoch: 1, ID: 1}, Slots: 1, TTL: brief}
		var err error
		if last, err = s.Put(t.Context(), fleet.Rev{}, next); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.Acquire(t.Context(), last.Key, last.Rev, "a", time.Hour); err != nil && !errors.Is(err, fleet.ErrConflict) {
		t.Fatal(err)
	}
	for node, ttl := range map[string]time.Duration{"gone": brief, "here": time.Hour} {
		if err := s.Say(t.Context(), []fleet.Row{{Key: "node", Node: node, Start: 1, Seq: 1}}, ttl); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Say(t.Context(), []fleet.Row{{Key: "breaker/1", Node: "gone", Start: 1, Seq: 1}}, brief); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, patience, func() bool {
		rows, err := s.Said(t.Context(), "node")
		return err == nil && len(rows) == 1
	}, "a row to vanish")
	if n := server.Do("hlen", "{recloser}:rows:node"); n != int64(1) {
		t.Errorf("%v rows are kept, want the one that lives", n)
	}
	eventually.True(t, patience, func() bool {
		docs, _, err := s.Load(t.Context())
		return err == nil && len(docs) == 0
	}, "the documents to vanish")
	for i := range 2 {
		put(t, s, fleet.Doc{}, fmt.Sprint("new", i))
	}
	if n := server.Do("hlen", "{recloser}:docs"); n != int64(2) {
		t.Errorf("%v documents are kept, want the two that are there", n)
	}
	for _, key := range []string{"{recloser}:ends", "{recloser}:rows:breaker/1", "{recloser}:trials:" + last.Key} {
		eventually.True(t, patience, func() bool { return server.Do("exists", key) == int64(0) }, key+" to vanish")
	}
}
