package fleet

import "time"

// tally counts the calls of one breaker of this node by when they were judged. The
// older calls are, the coarser it knows that.
type tally struct {
	buckets []bucket // by time
	was     count    // all, but those that ended in a trip
}

type bucket struct {
	from time.Time
	count
}

// add counts calls that were judged just now.
func (t *tally) add(c count, window time.Duration, now time.Time) {
	t.was = t.was.plus(c)
	if t.was.calls() > 1e6 { // what was long ago matters less
		t.was.Good, t.was.Bad = t.was.Good/2, t.was.Bad/2
	}
	if n := len(t.buckets); n > 0 && now.Sub(t.buckets[n-1].from) < window/12 {
		t.buckets[n-1].count = t.buckets[n-1].plus(c)
		return
	}
	t.buckets = append(t.merged(window, now), bucket{now, c})
}

// merged returns the buckets that are not too old, with those taken together that
// began closely one after the other, as seen from now.
func (t *tally) merged(window time.Duration, now time.Time) []bucket {
	kept := t.buckets[:0]
	for _, b := range t.buckets {
		age := now.Sub(b.from)
		switch n := len(kept); {
		case age > longest:
		case n > 0 && age > window && b.from.Sub(kept[n-1].from) < age/16:
			kept[n-1].count = kept[n-1].plus(b.count)
		default:
			kept = append(kept, b)
		}
	}
	return kept
}

// in returns the calls of the last d.
func (t *tally) in(d time.Duration, now time.Time) (c count) {
	for i := len(t.buckets) - 1; i >= 0 && now.Sub(t.buckets[i].from) <= d; i-- {
		c = c.plus(t.buckets[i].count)
	}
	return c
}

// forgive takes the calls of the last d out of what was: they ended in a trip.
func (t *tally) forgive(d time.Duration, now time.Time) { t.was = t.was.minus(t.in(d, now)) }

// clear forgets when calls were.
func (t *tally) clear() { t.buckets = nil }
