package recloser

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	var ticks atomic.Int64
	b, err := newBreaker(Config{Name: "x", Consecutive: 1, OpenFor: 100 * time.Millisecond, Jitter: Off, Trials: 1, Ramp: Off}, &ticks)
	if err != nil {
		t.Fatal(err)
	}
	fail := func(context.Context) error { return errors.New("boom") }
	ok := func(context.Context) error { return nil }
	t.Log(b.Do(t.Context(), ok), b.Explain())
	t.Log(b.Do(t.Context(), fail), b.Explain())
	t.Log(b.Do(t.Context(), fail), b.Explain())
	ticks.Add(int64(100 * time.Millisecond))
	t.Log(b.State(), b.Explain())
	t.Log(b.Do(t.Context(), ok), b.Explain())
	t.Logf("%+v", b.Stats())
}

func BenchmarkDo(b *testing.B) {
	br, _ := New(Config{SlowCall: 2 * time.Second})
	ctx := context.Background()
	fn := func(context.Context) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		_ = br.Do(ctx, fn)
	}
}

func BenchmarkDoParallel(b *testing.B) {
	br, _ := New(Config{SlowCall: 2 * time.Second})
	ctx := context.Background()
	fn := func(context.Context) error { return nil }
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_ = br.Do(ctx, fn)
		}
	})
}

func BenchmarkNow(b *testing.B) {
	br, _ := New(Config{SlowCall: 2 * time.Second})
	for b.Loop() {
		br.now()
	}
}

func BenchmarkRefuse(b *testing.B) {
	br, _ := New(Config{SlowCall: 2 * time.Second})
	ctx := context.Background()
	_ = br.TripFor(time.Hour, "", "")
	fn := func(context.Context) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		_ = br.Do(ctx, fn)
	}
}
