package recloser

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// ring counts the running calls of a closed period by the time they were
// admitted, in slices of about a tenth of the limit after which it lets go of
// them: the suspect limit, or SlowCall. So calls can be judged while they run. A
// call that is still in its slice when the slice expires is taken out of the ring
// (it is adrift then); it learns so when it tries to leave.
//
// A word is generation<<25 | sealed<<24 | calls. The generation tells the
// slices apart that share a word, so a call from long ago never touches the
// count of a new one.
type ring struct {
	limit    int64         // SlowCall as it was when the ring was made; never if off
	shift    uint8         // a slice lasts 1<<shift ns
	lost     atomic.Uint32 // races lost to another processor since somebody looked: a few, then there are more rings
	words    [ringSlices]atomic.Uint64
	good     *histogram // takes the calls that end well
	releases *releases  // of its calls; nil without CancelOnTrip
}

const (
	ringSlices  = 32
	ringBits    = 5
	callBits    = 24
	sealed      = 1 << callBits
	callMask    = sealed - 1
	roundSealed = ^uint64(callMask) // a generation that never comes
)

// ringLimit is the limit by which a ring lets go of its calls. Where nobody judges
// them, it only tells who is on the way.
func ringLimit(slowAfter, suspectAfter int64) int64 {
	if slowAfter == never {
		return int64(2 * time.Second)
	}
	return min(slowAfter, suspectAfter)
}

func (b *Breaker) beginRing(r *ring, good *histogram, releases *releases) {
	r.limit, r.good, r.releases = b.rules().slowAfter(), good, releases
	// A slice is a sixteenth to an eighth of the limit: a power of two costs a shift
	// instead of a division.
	r.shift = uint8(bits.Len64(uint64(ringLimit(r.limit, b.suspectAfter()))/8) - 1)
}

// fits reports whether the slices are right for calls that come from now on. The
// suspect limit may move without a new ring each time; the words suffice for 30
// slices.
func (b *Breaker) fits(r *ring) bool {
	slices := ringLimit(r.limit, b.suspectAfter()) >> r.shift
	return r.limit == b.rules().slowAfter() && (r.releases != nil) == b.cfg().CancelOnTrip && slices >= 6 && slices < 30
}

// enter counts a call admitted at now, and reports false if its slice is sealed.
func (r *ring) enter(now int64) bool {
	if r.tryEnter(now) {
		return true
	}
	return r.tryEnter(now)
}

// tryEnter is enter, but says no once when the ring has become crowded: see addRings.
func (r *ring) tryEnter(now int64) bool {
	slice := uint64(now) >> r.shift
	word, round := &r.words[slice%ringSlices], slice>>ringBits
	for {
		w := word.Load()
		next := w + 1
		if had := w >> (callBits + 1); had != round || w&sealed != 0 {
			if had >= round || w&callMask != 0 {
				return false
			}
			next = round<<(callBits+1) | 1
		}
		if word.CompareAndSwap(w, next) {
			return true
		}
		if r.lost.Add(1) == crowded {
			return false
		}
	}
}

// leave takes out a call admitted at start, and reports false if it is adrift.
func (r *ring) leave(start int64) bool {
	slice := uint64(start) >> r.shift
	word, round := &r.words[slice%ringSlices], slice>>ringBits
	for {
		w := word.Load()
		if w>>(callBits+1) != round || w&sealed != 0 || w&callMask == 0 {
			return false
		}
		if word.CompareAndSwap(w, w-1) {
			return true
		}
	}
}

// oldest returns when the oldest slice that has calls began, and false if none has.
func (r *ring) oldest() (start int64, ok bool) {
	var first uint64
	for i := range uint64(ringSlices) {
		w := r.words[i].Load()
		if w&callMask == 0 {
			continue
		}
		if slice := w>>(callBits+1)<<ringBits | i; !ok || slice < first {
			first, ok = slice, true
		}
	}
	return int64(first << r.shift), ok
}

// due returns when the calls of the slice that began at start are past their time.
func (r *ring) due(start, suspectAfter int64) int64 {
	return start + 1<<r.shift + ringLimit(r.limit, suspectAfter)
}

// expire seals the slice that began at start and returns how many calls it
// still had.
func (r *ring) expire(start int64) int64 {
	slice := uint64(start) >> r.shift
	word, round := &r.words[slice%ringSlices], slice>>ringBits
	for {
		w := word.Load()
		if w>>(callBits+1) != round {
			return 0 // they all left meanwhile, and a new slice began
		}
		if word.CompareAndSwap(w, round<<(callBits+1)|sealed) {
			return int64(w & callMask)
		}
	}
}

// seal closes the ring for good and returns how many calls it still had.
func (r *ring) seal() (calls int64) {
	for i := range r.words {
		calls += int64(r.words[i].Swap(roundSealed) & callMask)
	}
	return calls
}

// drain closes for good what has no calls, and reports whether that is all.
func (r *ring) drain() bool {
	empty := true
	for i := range r.words {
		w := r.words[i].Load()
		empty = (w&callMask == 0 && r.words[i].CompareAndSwap(w, roundSealed)) && empty
	}
	return empty
}

// admittedBefore returns how many running calls were admitted in slices before
// the one of t.
func (r *ring) admittedBefore(t int64) (calls int64) {
	limit := uint64(t) >> r.shift
	for i := range uint64(ringSlices) {
		w := r.words[i].Load()
		if w>>(callBits+1)<<ringBits|i < limit {
			calls += int64(w & callMask)
		}
	}
	return calls
}

// calls returns how many calls run.
func (r *ring) calls() (n int64) {
	for i := range r.words {
		n += int64(r.words[i].Load() & callMask)
	}
	return n
}
