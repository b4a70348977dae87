//go:build unix

package pgstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
)

// BenchmarkStore is one node at a server on the same machine that syncs to its disk.
func BenchmarkStore(b *testing.B) {
	server := pgtest.Start(b, "fsync=on")
	s := open(b, server, "x")
	b.Cleanup(func() { _ = s.Close() })
	ctx := b.Context()
	fail := func(b *testing.B, err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	var rows []fleet.Row
	docs := make([]fleet.Doc, 100)
	for i := range docs {
		key := fmt.Sprintf("breaker/%d", i)
		d, err := s.Put(ctx, fleet.Rev{}, fleet.Doc{Key: key, Rev: newRev(1), Slots: 1, Data: make([]byte, 200)})
		fail(b, err)
		docs[i] = d
		rows = append(rows, fleet.Row{Key: key, Node: "n", Data: make([]byte, 100)})
	}
	_, _, err := s.Acquire(ctx, docs[99].Key, docs[99].Rev, "n", time.Hour)
	fail(b, err)

	b.Run("Load of 100", func(b *testing.B) {
		for b.Loop() {
			_, _, err := s.Load(ctx)
			fail(b, err)
		}
	})
	b.Run("Put", func(b *testing.B) {
		d := docs[0]
		for b.Loop() {
			next := d
			next.Rev = newRev(d.Rev.Epoch + 1)
			var err error
			d, err = s.Put(ctx, d.Rev, next)
			fail(b, err)
		}
		docs[0] = d
	})
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("Say of %d", n), func(b *testing.B) {
			for b.Loop() {
				for i := range rows {
					rows[i].Seq++
				}
				fail(b, s.Say(ctx, rows[:n], time.Minute))
			}
		})
	}
	b.Run("Said", func(b *testing.B) {
		for b.Loop() {
			_, err := s.Said(ctx, rows[0].Key)
			fail(b, err)
		}
	})
	b.Run("Acquire in vain", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := s.Acquire(ctx, docs[99].Key, docs[99].Rev, "n", time.Hour); !errors.Is(err, fleet.ErrNoSlot) {
				b.Fatal(err)
			}
		}
	})
	b.Run("Acquire and give back", func(b *testing.B) {
		for b.Loop() {
			l, _, err := s.Acquire(ctx, docs[1].Key, docs[1].Rev, "n", time.Hour)
			fail(b, err)
			_, err = s.Finish(ctx, l, fleet.Unused)
			fail(b, err)
		}
	})
}
