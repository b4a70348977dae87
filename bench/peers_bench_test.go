package bench

import "testing"

// BenchmarkSerial makes one call at a time.
func BenchmarkSerial(b *testing.B) {
	each(b, func(b *testing.B, breaker Breaker, open bool) {
		b.ReportAllocs()
		for b.Loop() {
			if refused := breaker.Succeed() != nil; refused != open {
				b.Fatalf("want refused = %v", open)
			}
		}
	})
}

// BenchmarkParallel is for -cpu 1,2.
func BenchmarkParallel(b *testing.B) { each(b, Parallel) }

func each(b *testing.B, f func(b *testing.B, breaker Breaker, open bool)) {
	for _, p := range Peers() {
		b.Run("state=closed/peer="+p.Name, func(b *testing.B) { f(b, p.New(), false) })
		b.Run("state=open/peer="+p.Name, func(b *testing.B) {
			breaker, err := p.Open()
			if err != nil {
				b.Fatal(err)
			}
			f(b, breaker, true)
		})
	}
}
