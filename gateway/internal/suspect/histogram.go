package suspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in four buckets an octave from 1 ms. Its zero value
// is empty.
type histogram [buckets]atomic.Uint64

const (
	octaves   = 22 // 1 ms to more than an hour, the longest slow limit there can be
	perOctave = 4
	buckets   = 1 + octaves*perOctave // the first is for what takes at most 1 ms
)

// steps are the bounds within an octave: 2^(1/4), 2^(2/4) and 2^(3/4), in
// thousandths.
var steps = [perOctave]time.Duration{1189, 1414, 1682, 2000}

// bound returns the longest duration of a bucket.
func bound(i int) time.Duration {
	if i == 0 {
		return time.Millisecond
	}
	i--
	return steps[i%perOctave] * time.Microsecond << (i / perOctave)
}

func (h *histogram) add(took time.Duration) { h[bucket(took)].Add(1) }

// bucket returns where a duration is counted.
func bucket(took time.Duration) int {
	if took <= time.Millisecond {
		return 0
	}
	octave := min(bits.Len64(uint64((took-1)/time.Millisecond))-1, octaves-1)
	i := 1 + octave*perOctave
	for end := i + perOctave - 1; i < end && took > bound(i); i++ {
	}
	return i
}

func (h *histogram) total() (n uint64) {
	for i := range h {
		n += h[i].Load()
	}
	return n
}

// quantile returns the bound of the bucket that the quantile q is in: it is too
// high by at most a fifth, and never too low. 0 if the histogram is empty.
func (h *histogram) quantile(q float64) time.Duration {
	total := h.total()
	if total == 0 {
		return 0
	}
	var n uint64
	for i := range h {
		if n += h[i].Load(); float64(n) >= q*float64(total) {
			return bound(i)
		}
	}
	return bound(buckets - 1)
}

func (h *histogram) halve() {
	for i := range h {
		n := h[i].Load()
		h[i].Add(-(n / 2)) // calls may be added meanwhile
	}
}

const saveVersion = 1

var errSave = errors.New("suspect: what was saved of a dependency's latency is damaged; it is learned anew")

// Save returns what was learned, for Restore.
func (l *Latency) Save() []byte {
	b := []byte{saveVersion}
	for i := range l.seen {
		if n := l.seen[i].Load(); n > 0 {
			b = binary.AppendUvarint(b, uint64(i))
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

// Restore replaces what was learned by what Save returned. What it cannot read is
// an error, and changes nothing.
func (l *Latency) Restore(saved []byte) error {
	if len(saved) == 0 {
		return errSave
	}
	if saved[0] != saveVersion {
		return fmt.Errorf("suspect: the latency of a dependency was saved by another version (format %d, this one knows %d); it is learned anew", saved[0], saveVersion)
	}
	var counts [buckets]uint64
	for rest := saved[1:]; len(rest) > 0; {
		i, n := binary.Uvarint(rest)
		if n <= 0 || i >= buckets {
			return errSave
		}
		count, m := binary.Uvarint(rest[n:])
		if m <= 0 || count > 1<<48 {
			return errSave
		}
		counts[int(i)], rest = count, rest[n+m:]
	}
	for i, n := range counts {
		l.seen[i].Store(n)
	}
	return nil
}
