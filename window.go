package recloser

import "math"

// window holds the judged calls of a closed period: the running slice and ten
// full ones. Good calls of the running one are not counted here: it remembers how
// many the breaker had booked when it began. The breaker's lock guards it.
type window struct {
	starts [windowSlices]int64
	good   [windowSlices]uint32    // of a full one
	head   uint8                   // the running one
	used   uint8                   // how many are
	before uint64                  // good calls booked by the breaker before the running one began
	bad    *[windowSlices]badSlice // nil as long as no call was bad
	rollAt int64                   // when to look whether the running one may end
}

const windowSlices = 11

type badSlice struct {
	failed, slow uint32
	gaveUp       uint32 // callers who gave up: for the run rule only
	first, last  int64  // admission of the first and the last bad call
}

// sums are the counts of the window as one.
type sums struct {
	good, failed, slow, gaveUp uint64
	first, last                int64
}

func (w *sums) bad() uint64 { return w.failed + w.slow }

// add adds n slow calls admitted at admitted.
func (w *sums) add(admitted, n int64) {
	if w.bad() == 0 {
		w.first, w.last = admitted, admitted
	}
	w.first, w.last = min(w.first, admitted), max(w.last, admitted)
	w.slow += uint64(n)
}

func (w *sums) counts(run int) Counts {
	return Counts{Good: w.good, Failed: w.failed, Slow: w.slow, Run: run}
}

func (w *sums) judged() uint64 { return w.good + w.failed + w.slow }

// begin starts a new slice at now. good is the breaker's count of good calls.
func (w *window) begin(r *rules, now int64, good uint64) {
	if w.used > 0 {
		w.good[w.head] = uint32(min(good-w.before, math.MaxUint32))
		w.head = (w.head + 1) % windowSlices
	}
	w.used = min(w.used+1, windowSlices)
	w.starts[w.head], w.before = now, good
	if w.bad != nil {
		w.bad[w.head] = badSlice{}
	}
	w.rollAt = now + r.slice()
}

// badOf returns the running slice's bad calls.
func (w *window) badOf() *badSlice {
	if w.bad == nil {
		w.bad = &[windowSlices]badSlice{}
	}
	return &w.bad[w.head]
}

// roll starts a new slice if the running one is long and full enough, or too
// old, and else says when to look again.
func (w *window) roll(r *rules, now int64, good uint64) {
	start, judged := w.starts[w.head], good-w.before
	if w.bad != nil {
		judged += uint64(w.bad[w.head].failed) + uint64(w.bad[w.head].slow)
	}
	if judged >= r.perSlice() || now-start >= r.oldSlice() {
		w.begin(r, now, good)
		return
	}
	w.rollAt = min(now+r.slice()/8, start+r.oldSlice())
}

// book adds n bad calls admitted at admitted to the running slice.
func (w *window) book(admitted int64, n uint32, failed bool) {
	s := w.badOf()
	if s.failed+s.slow == 0 {
		s.first, s.last = admitted, admitted
	}
	s.first, s.last = min(s.first, admitted), max(s.last, admitted)
	count := &s.slow
	if failed {
		count = &s.failed
	}
	*count += min(n, math.MaxUint32-*count)
}

// bookGaveUp adds a caller who gave up to the running slice.
func (w *window) bookGaveUp() { w.badOf().gaveUp++ }

// sum adds up the slices that are not too old at now.
func (w *window) sum(r *rules, now int64, good uint64) (t sums) {
	for i := range w.used {
		i = (w.head - i + windowSlices) % windowSlices
		if w.starts[i] < now-r.maxAge() {
			break
		}
		if i == w.head {
			t.good = good - w.before
		} else {
			t.good += uint64(w.good[i])
		}
		if w.bad == nil {
			continue
		}
		s := &w.bad[i]
		if s.failed+s.slow > 0 {
			if t.bad() == 0 {
				t.first, t.last = s.first, s.last
			}
			t.first, t.last = min(t.first, s.first), max(t.last, s.last)
		}
		t.failed += uint64(s.failed)
		t.slow += uint64(s.slow)
		t.gaveUp += uint64(s.gaveUp)
	}
	return t
}
