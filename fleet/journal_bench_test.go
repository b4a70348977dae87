package fleet_test

import (
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/recloser-go/recloser/fleet"
)

// BenchmarkJournalPut is one change of a breaker of a program on its own, on the disk of this
// machine; in parallel those of many breakers, which are synced together.
func BenchmarkJournalPut(b *testing.B) {
	for name, goroutines := range map[string]int{"serial": 0, "parallel": 50} {
		b.Run(name, func(b *testing.B) {
			j, err := fleet.OpenJournal(filepath.Join(b.TempDir(), "journal"))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = j.Close() }()
			put := func(key string, epoch uint64) {
				expect := fleet.Rev{}
				if epoch > 1 {
					expect = rev(epoch - 1)
				}
				if _, err := j.Put(b.Context(), expect, fleet.Doc{Key: key, Rev: rev(epoch), Slots: 3, Data: make([]byte, 300)}); err != nil {
					b.Error(err)
				}
			}
			b.ReportAllocs()
			if goroutines == 0 {
				for epoch := uint64(1); b.Loop(); epoch++ {
					put("a", epoch)
				}
				return
			}
			b.SetParallelism(goroutines)
			var next atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				key := strconv.FormatInt(next.Add(1), 10)
				for epoch := uint64(1); pb.Next(); epoch++ {
					put(key, epoch)
				}
			})
		})
	}
}
