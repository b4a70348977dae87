package recloser

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations, one bucket an octave: one atomic add a call, and
// that add is the whole of the closed path's statistics, since totals are sums.
type histogram [histBuckets]atomic.Uint64

const (
	histShift   = 17 // the first bucket ends at 2^17 ns, about 0.13 ms
	histBuckets = 21 // the last bound is 2^36 ns, about 69 s
)

func (h *histogram) add(ns int64) {
	// A duration of exactly 2^n ns belongs to the bucket that ends there.
	h[min(bits.Len64(uint64(max(ns, 1)-1)>>histShift), histBuckets-1)].Add(1)
}

func (h *histogram) total() (n uint64) {
	for i := range h {
		n += h[i].Load()
	}
	return n
}

// newHistogram returns one for people, of nothing yet.
func newHistogram() Histogram {
	out := Histogram{Bounds: make([]time.Duration, histBuckets-1), Counts: make([]uint64, histBuckets)}
	for i := range out.Bounds {
		out.Bounds[i] = time.Duration(1) << (histShift + i)
	}
	return out
}

// add merges in what was counted.
func (h *Histogram) add(counted *histogram) {
	for i := range counted {
		if n := counted[i].Load(); n > 0 {
			middle := time.Duration(3) << (histShift + i - 2) // of an octave: 3/4 of its upper bound
			h.Counts[i] += n
			h.Sum += middle * time.Duration(n)
		}
	}
}
