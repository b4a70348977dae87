package bench

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Cost is what a call costs.
type Cost struct {
	// Time is in ns: on one processor the time of that, so that other programs
	// of the machine take no part; on several, where waiting for each other is part
	// of the cost, time on the wall divided by the calls of all.
	Time   float64
	Allocs float64
}

// WarmUp makes the first calls, which are more work than others: one for each
// key at least.
func (p Peer) WarmUp(b Breaker) {
	for range max(500, p.Keys) {
		_ = b.Succeed()
	}
}

// Spell makes calls through b from procs goroutines for the time d. It fails if
// they are not all refused (open) or all let through (not open): such a figure
// would mean nothing.
func (p Peer) Spell(b Breaker, open bool, procs int, d time.Duration) (Cost, error) {
	type tally struct{ calls, refused int }
	var before, after runtime.MemStats
	var wg sync.WaitGroup
	tallies := make([]tally, procs)
	runtime.ReadMemStats(&before)
	used, start := ProcessorTime(), time.Now()
	for i := range tallies {
		wg.Go(func() {
			var t tally
			for own := fork(b); time.Since(start) < d; {
				const batch = 64 // so that the clock costs nothing
				for range batch {
					if own.Succeed() != nil {
						t.refused++
					}
				}
				t.calls += batch
			}
			tallies[i] = t
		})
	}
	wg.Wait()
	took := time.Since(start)
	if procs == 1 {
		took = ProcessorTime() - used
	}
	runtime.ReadMemStats(&after)
	var sum tally
	for _, t := range tallies {
		sum.calls += t.calls
		sum.refused += t.refused
	}
	if !p.behaves(open, sum.calls, sum.refused) {
		return Cost{}, fmt.Errorf("%s refused %d of %d calls (open: %v), so there is nothing to compare", p.Name, sum.refused, sum.calls, open)
	}
	n := float64(sum.calls)
	return Cost{Time: float64(took.Nanoseconds()) / n, Allocs: float64(after.Mallocs-before.Mallocs) / n}, nil
}

// ProcessorTime is what this process has used of all processors.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forker is a Breaker of which every goroutine needs one of its own.
type forker interface{ fork() Breaker }

func fork(b Breaker) Breaker {
	if f, ok := b.(forker); ok {
		return f.fork()
	}
	return b
}
