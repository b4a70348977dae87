package history

import (
	"fmt"
	"testing"
)

func BenchmarkRecord(b *testing.B) {
	h := Open(Options{Path: b.TempDir() + "/x.db"})
	defer func() { _ = h.Close(b.Context()) }()
	b.ReportAllocs()
	for b.Loop() {
		h.Record(Event{Kind: KindProbe, Text: "text"})
	}
}

func BenchmarkBatch(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := Open(Options{Path: b.TempDir() + "/x.db"})
			defer func() { _ = h.Close(b.Context()) }()
			id := int64(0)
			for b.Loop() {
				w := &batch{}
				for range n {
					id++
					w.events = append(w.events, Event{ID: id, At: noon, Kind: KindProbe, Text: "text and more text"})
				}
				if err := h.disk.write(b.Context(), w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCommit(b *testing.B) {
	h := Open(Options{Path: b.TempDir() + "/x.db"})
	defer func() { _ = h.Close(b.Context()) }()
	for b.Loop() {
		if err := h.Commit(b.Context(), Act{Name: "isolate"}, SetOverride(isolated("a"))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTokens(b *testing.B) {
	h := Open(Options{Path: b.TempDir() + "/x.db"})
	defer func() { _ = h.Close(b.Context()) }()
	for i := range 20 {
		if err := h.Commit(b.Context(), Act{}, PutToken(Token{ID: fmt.Sprint(i)})); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := h.Tokens(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
