package recloser

import (
	"context"
	"testing"
	"time"
)

// newForBench returns a breaker with the rate window and the slow rule on, and a good call.
func newForBench(b *testing.B) (*Breaker, func(context.Context) error) {
	b.Helper()
	b.ReportAllocs()
	br, err := New(Config{SlowCall: 2 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	return br, func(context.Context) error { return nil }
}

func BenchmarkDo(b *testing.B) {
	br, fn := newForBench(b)
	ctx := b.Context()
	for b.Loop() {
		_ = br.Do(ctx, fn)
	}
}

func BenchmarkDoParallel(b *testing.B) {
	br, fn := newForBench(b)
	ctx := b.Context()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_ = br.Do(ctx, fn)
		}
	})
}

func BenchmarkAllow(b *testing.B) {
	br, _ := newForBench(b)
	ctx := b.Context()
	for b.Loop() {
		p, _ := br.Allow(ctx)
		p.Done(nil)
	}
}

func BenchmarkRefuse(b *testing.B) {
	br, fn := newForBench(b)
	if err := br.TripFor(time.Hour, "bench", ""); err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	for b.Loop() {
		_ = br.Do(ctx, fn)
	}
}

// What of a call's time is reading the clock.
func BenchmarkNow(b *testing.B) {
	br, _ := newForBench(b)
	for b.Loop() {
		br.now()
	}
}
