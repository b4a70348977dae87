package town

import (
	"cmp"
	"slices"
	"time"
)

// Fast is how soon an answer must come to be a fast refusal.
const Fast = 100 * time.Millisecond

func inOrder(calls []Call) []Call {
	return slices.SortedFunc(slices.Values(calls), func(a, b Call) int { return cmp.Compare(a.Due, b.Due) })
}

// Between returns the calls that were due in [from, until).
func Between(calls []Call, from, until time.Duration) []Call {
	var some []Call
	for _, c := range calls {
		if c.Due >= from && c.Due < until {
			some = append(some, c)
		}
	}
	return some
}

// Waited counts the calls that took longer than d.
func Waited(calls []Call, d time.Duration) int {
	n := 0
	for _, c := range calls {
		if c.Took > d {
			n++
		}
	}
	return n
}

// FirstRefusal returns when, after the fault began, the first guest came who was
// turned away fast by the gateway. calls are in order.
func FirstRefusal(calls []Call, fault time.Duration) (time.Duration, bool) {
	for _, c := range calls {
		if c.Due >= fault && c.Ours && c.Took < Fast {
			return c.Due - fault, true
		}
	}
	return 0, false
}

// row is how many calls must succeed one after the other for traffic to be full.
const row = 20

// BackToFull returns how long after the recovery the first of 20 calls in a row
// came that all succeed. calls are in order.
func BackToFull(calls []Call, recovery time.Duration) (time.Duration, bool) {
	good := 0
	for i, c := range calls {
		switch {
		case c.Due < recovery:
			continue
		case !c.OK:
			good = 0
			continue
		}
		if good++; good == row {
			return calls[i-row+1].Due - recovery, true
		}
	}
	return 0, false
}

// Succeeded counts the calls that were answered well.
func Succeeded(calls []Call) int {
	n := 0
	for _, c := range calls {
		if c.OK {
			n++
		}
	}
	return n
}

// Possible counts the calls that a hotel with this script would have served, had
// all reached it.
func Possible(calls []Call, s Script, fault time.Duration) int {
	n := 0
	for _, c := range calls {
		if s.Call(c.Due-fault, c.N) == Serve {
			n++
		}
	}
	return n
}

// Percentile returns the smallest of the values that at least this share of them
// do not exceed, and 0 of none.
func Percentile[T cmp.Ordered](values []T, share float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(share * float64(len(sorted)))
	if float64(rank) == share*float64(len(sorted)) {
		rank--
	}
	return sorted[min(max(rank, 0), len(sorted)-1)]
}

// Took returns how long each call took.
func Took(calls []Call) []time.Duration {
	times := make([]time.Duration, len(calls))
	for i, c := range calls {
		times[i] = c.Took
	}
	return times
}

// Lateness returns by how much the generator was late for each call.
func Lateness(calls []Call) []time.Duration {
	times := make([]time.Duration, len(calls))
	for i, c := range calls {
		times[i] = c.Late
	}
	return times
}
