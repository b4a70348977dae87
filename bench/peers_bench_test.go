package bench

import (
	"sync/atomic"
	"testing"
)

// BenchmarkSerial makes one call at a time.
func BenchmarkSerial(b *testing.B) {
	each(b, func(b *testing.B, p Peer, breaker Breaker, open bool) {
		refused := 0
		p.WarmUp(breaker)
		b.ReportAllocs()
		for b.Loop() {
			if breaker.Succeed() != nil {
				refused++
			}
		}
		check(b, p, open, refused)
	})
}

// BenchmarkParallel is for -cpu 1,2.
func BenchmarkParallel(b *testing.B) {
	each(b, func(b *testing.B, p Peer, breaker Breaker, open bool) {
		var refused atomic.Int64
		p.WarmUp(breaker)
		b.ReportAllocs()
		b.ResetTimer() // the making of 10 000 breakers takes long
		b.RunParallel(func(pb *testing.PB) {
			own, n := fork(breaker), int64(0)
			for pb.Next() {
				if own.Succeed() != nil {
					n++
				}
			}
			refused.Add(n)
		})
		check(b, p, open, int(refused.Load()))
	})
}

func check(b *testing.B, p Peer, open bool, refused int) {
	b.Helper()
	if !p.behaves(open, b.N, refused) {
		b.Errorf("%d of %d calls were refused, and open is %v", refused, b.N, open)
	}
}

func each(b *testing.B, f func(b *testing.B, p Peer, breaker Breaker, open bool)) {
	for _, g := range Groups(coarse(b)) {
		for _, p := range g.Peers {
			name := "group=" + g.Name + "/peer=" + p.Name
			b.Run(name+"/state=closed", func(b *testing.B) { f(b, p, p.New(), false) })
			if p.Refusal == nil || p.Keys > 0 {
				continue
			}
			b.Run(name+"/state=open", func(b *testing.B) {
				breaker, err := p.Open()
				if err != nil {
					b.Fatal(err)
				}
				f(b, p, breaker, true)
			})
		}
	}
}
