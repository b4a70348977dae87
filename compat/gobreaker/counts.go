package gobreaker

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Counts are the calls since the state changed last; while closed, those in the
// window that Interval and BucketPeriod describe. A call counts from when it is
// admitted, its end only while its beginning does. Beyond 2^32 calls all
// totals are halved as often as needed, so that their ratios stay.
type Counts struct {
	Requests             uint32 // calls let through
	TotalSuccesses       uint32
	TotalFailures        uint32
	TotalExclusions      uint32 // ends that IsExcluded ruled out
	ConsecutiveSuccesses uint32 // successes since the last failure
	ConsecutiveFailures  uint32 // failures since the last success
}

// tally is Counts without a limit and without the rows.
type tally struct {
	requests uint64
	ended    [outcomes]uint64
}

// bucket holds the calls that began in one BucketPeriod.
type bucket struct {
	tally
	age   uint64 // how many periods after the generation began
	row   uint64 // the last row that ends of them belong to
	inRow uint64 // how many do
}

// window sums up the buckets that are young enough. A row is the ends since
// they last changed from success to failure or back; each bucket knows its
// part of the newest row, so that it can leave with its bucket.
type window struct {
	tally
	length  uint64   // in buckets
	age     uint64   // of the newest bucket there may be
	buckets []bucket // those with calls, oldest first

	row   uint64  // the newest
	kind  outcome // success or failure
	inRow uint64
}

// slide lets the buckets go that are too old at age.
func (w *window) slide(age uint64) {
	if age <= w.age {
		return
	}
	w.age = age
	gone := 0
	for ; gone < len(w.buckets) && age-w.buckets[gone].age >= w.length; gone++ {
		old := &w.buckets[gone]
		w.requests -= old.requests
		for o, n := range old.ended {
			w.ended[o] -= n
		}
		if old.row == w.row {
			w.inRow -= old.inRow
		}
	}
	w.buckets = w.buckets[gone:]
}

func (w *window) clear() {
	*w = window{length: w.length, buckets: w.buckets[:0]}
}

// admit counts a call that begins now.
func (w *window) admit() {
	if n := len(w.buckets); n == 0 || w.buckets[n-1].age != w.age {
		w.buckets = append(w.buckets, bucket{age: w.age})
	}
	w.requests++
	w.buckets[len(w.buckets)-1].requests++
}

// book counts the end of a call that began at age, unless it has left the window.
func (w *window) book(age uint64, o outcome) {
	i := len(w.buckets) - 1
	if i < 0 || w.buckets[i].age != age { // seldom
		var found bool
		i, found = slices.BinarySearchFunc(w.buckets, age, func(b bucket, age uint64) int { return cmp.Compare(b.age, age) })
		if !found {
			return
		}
	}
	b := &w.buckets[i]
	w.ended[o]++
	b.ended[o]++
	if o == excluded {
		return
	}
	if w.kind != o {
		w.kind, w.inRow = o, 0
		w.row++
	}
	if b.row != w.row {
		b.row, b.inRow = w.row, 0
	}
	w.inRow++
	b.inRow++
}

func (w *window) counts() Counts {
	// No total is larger than the number of calls.
	halvings := max(bits.Len64(w.requests)-32, 0)
	c := Counts{
		Requests:        uint32(w.requests >> halvings),
		TotalSuccesses:  uint32(w.ended[success] >> halvings),
		TotalFailures:   uint32(w.ended[failure] >> halvings),
		TotalExclusions: uint32(w.ended[excluded] >> halvings),
	}
	inRow := uint32(min(w.inRow, math.MaxUint32))
	if w.kind == success {
		c.ConsecutiveSuccesses = inRow
	} else {
		c.ConsecutiveFailures = inRow
	}
	return c
}
