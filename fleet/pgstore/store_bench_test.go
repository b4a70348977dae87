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

// BenchmarkStore is one node at a server on the same machine that syncs to its disk, and
// how long the server is busy with it.
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

	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			busy := server.Busy(b)
			for b.Loop() {
				fail(b, f())
			}
			b.ReportMetric(float64((server.Busy(b)-busy).Microseconds())/float64(b.N), "server-µs/op")
		})
	}
	run("Load of 100", func() error { _, _, err := s.Load(ctx); return err })
	run("Put", func() error {
		next := docs[0]
		next.Rev = newRev(docs[0].Rev.Epoch + 1)
		docs[0], err = s.Put(ctx, docs[0].Rev, next)
		return err
	})
	for _, n := range []int{1, 10, 100} {
		run(fmt.Sprintf("Say of %d", n), func() error {
			for i := range rows {
				rows[i].Seq++
			}
			return s.Say(ctx, rows[:n], time.Minute)
		})
	}
	run("Said", func() error { _, err := s.Said(ctx, rows[0].Key); return err })
	run("Acquire in vain", func() error {
		if _, _, err := s.Acquire(ctx, docs[99].Key, docs[99].Rev, "n", time.Hour); !errors.Is(err, fleet.ErrNoSlot) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	run("Acquire and give back", func() error {
		l, _, err := s.Acquire(ctx, docs[1].Key, docs[1].Rev, "n", time.Hour)
		if err == nil {
			_, err = s.Finish(ctx, l, fleet.Unused)
		}
		return err
	})
}
