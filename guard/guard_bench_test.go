package guard

import (
	"context"
	"testing"
	"time"
)

func BenchmarkDo(b *testing.B) {
	bare := newTest(b, Config{})
	full := newTest(b, Config{
		Timeout: time.Minute, AttemptTimeout: time.Second, RateLimit: RateLimit{Rate: 1e6, Burst: 1e6}, Bulkhead: Bulkhead{Max: 25},
		Retry: Retry{Attempts: 3, Unmarked: true},
	})
	adaptive := newTest(b, Config{Bulkhead: Bulkhead{Min: 2, Max: 25}})
	ctx := b.Context()
	waits := func(ctx context.Context) error {
		ctx.Done()
		return nil
	}
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"breaker alone", func() error { return bare.breaker.Do(ctx, succeeds) }},
		{"bare", func() error { return bare.Do(ctx, succeeds) }},
		{"everything on", func() error { return full.Do(ctx, succeeds) }},
		{"everything on, and somebody waits", func() error { return full.Do(ctx, waits) }},
		{"adaptive bulkhead", func() error { return adaptive.Do(ctx, succeeds) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
