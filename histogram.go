package recloser

import (
	"iter"
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

// sumOf merges histograms into one for people.
func sumOf(hs iter.Seq[*histogram]) Histogram {
	out := Histogram{Bounds: make([]time.Duration, histBuckets-1), Counts: make([]uint64, histBuckets)}
	for i := range out.Bounds {
		out.Bounds[i] = time.Duration(1) << (histShift + i)
	}
	for i := range histBuckets {
		for h := range hs {
			out.Counts[i] += h[i].Load()
		}
		middle := time.Duration(3) << (histShift + i - 2) // of an octave: 3/4 of its upper bound
		out.Sum += middle * time.Duration(out.Counts[i])
	}
	return out
}
