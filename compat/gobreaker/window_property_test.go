package gobreaker

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// ended is one event of a window, as the naive count below remembers it.
type ended struct {
	age     uint64
	outcome outcome // outcomes: the call was only admitted
}

// recount counts by going through everything that ever happened.
func recount(events []ended, age, length uint64) Counts {
	var c Counts
	inWindow := func(e ended) bool { return age-e.age < length }
	for _, e := range events {
		switch {
		case !inWindow(e):
		case e.outcome == success:
			c.TotalSuccesses++
		case e.outcome == failure:
			c.TotalFailures++
		case e.outcome == excluded:
			c.TotalExclusions++
		default:
			c.Requests++
		}
	}
	last := outcomes
	for _, e := range slices.Backward(events) {
		if e.outcome > failure {
			continue
		}
		if last != outcomes && e.outcome != last {
			break
		}
		last = e.outcome
		switch {
		case !inWindow(e):
		case last == success:
			c.ConsecutiveSuccesses++
		default:
			c.ConsecutiveFailures++
		}
	}
	return c
}

// Whatever ends late: a row never holds ends that have left the window, as the
// original's can, which then trips on failures long gone.
func TestWindowAgreesWithANaiveCount(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := window{length: 1 + r.Uint64N(5)}
		var events []ended
		var running []uint64
		for step := range 200 {
			switch r.IntN(6) {
			case 0, 1:
				w.admit()
				events = append(events, ended{w.age, outcomes})
				running = append(running, w.age)
			case 2:
				w.slide(w.age + r.Uint64N(2+r.Uint64N(w.length+1)))
			default:
				if len(running) == 0 {
					continue
				}
				i := r.IntN(len(running))
				age, o := running[i], outcome(r.IntN(int(outcomes)))
				running = append(running[:i], running[i+1:]...)
				w.book(age, o)
				if w.age-age < w.length {
					events = append(events, ended{age, o})
				}
			}
			if got, want := w.counts(), recount(events, w.age, w.length); got != want {
				t.Fatalf("seed %d, step %d: counts %+v, want %+v", seed, step, got, want)
			}
		}
	}
}
