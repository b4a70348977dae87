package probe

import (
	"fmt"
	"time"
)

const (
	pairGap = 500 * time.Millisecond // between the two probes after a first bad call
	rowBad  = 3                      // bad probes that trip, if there are no good calls
)

// pair is the two probes that a first bad call makes.
type pair struct {
	goods uint64    // at the bad call
	due   time.Time // the next of them
	bad   int
}

// lookClosed believes calls more than probes, and has a first bad call looked into.
func (w *watch) lookClosed(now time.Time, run int) {
	if w.verdict == Bad && w.goods > w.rowGoods {
		w.trust = belied
	}
	if w.pair != nil && w.goods > w.pair.goods {
		w.pair = nil
	}
	switch {
	case run == 0:
		w.pair, w.paired = nil, false
	case !w.paired && !w.rate.busy && w.trust == known:
		w.pair, w.paired, w.forPair = &pair{goods: w.goods, due: now}, true, false
	}
}

// takeClosed says what follows from what a probe of a closed dependency found.
func (w *watch) takeClosed(r Result) act {
	switch {
	case r.Verdict == Good:
	case w.pair != nil && w.pair.bad == 2:
		w.pair = nil
		return act{do: trip, why: "two were bad after a bad call, the last: " + r.Why}
	case w.row >= rowBad && w.trust != belied:
		return act{do: trip, why: fmt.Sprintf("%d in a row were bad and no call was good, the last: %s", w.row, r.Why)}
	}
	return act{}
}
