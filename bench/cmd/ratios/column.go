package main

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/recloser-go/recloser/bench"
)

// calmShare of the processors asked for makes a round calm.
const calmShare = 0.9

// column is one thing measured for every peer.
type column struct {
	title string
	procs int
	open  bool
	goal  float64

	breakers []bench.Breaker // by peer
	ns       [][]float64     // by peer and round
	calm     []bool          // by round
}

func (c *column) prepare(peers []bench.Peer) error {
	c.ns = make([][]float64, len(peers))
	for _, p := range peers {
		b := p.New()
		if c.open {
			var err error
			if b, err = p.Open(); err != nil {
				return err
			}
		}
		c.breakers = append(c.breakers, b)
	}
	return nil
}

// measure runs one round. It begins with another peer each time, so that none
// has a fixed place in it.
func (c *column) measure(peers []bench.Peer, round int) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.procs))
	before := share(c.procs)
	for i := range peers {
		i = (i + round) % len(peers)
		r := testing.Benchmark(func(b *testing.B) { bench.Parallel(b, c.breakers[i], c.open) })
		if r.N == 0 {
			return fmt.Errorf("%s, %s: the breaker did not do what it was timed for", c.title, peers[i].Name)
		}
		c.ns[i] = append(c.ns[i], float64(r.T.Nanoseconds())/float64(r.N))
	}
	c.calm = append(c.calm, min(before, share(c.procs)) >= calmShare)
	return nil
}

func (c *column) calmRounds() (n int) {
	for _, calm := range c.calm {
		if calm {
			n++
		}
	}
	return n
}

// busy says that there are too few calm rounds to leave the others out.
func (c *column) busy() bool { return c.calmRounds() < 3 }

// counted returns f of every round that counts, sorted.
func (c *column) counted(f func(round int) float64) []float64 {
	var list []float64
	for round, calm := range c.calm {
		if calm || c.busy() {
			list = append(list, f(round))
		}
	}
	slices.Sort(list)
	return list
}

func (c *column) times(peer int) []float64 {
	return c.counted(func(round int) float64 { return c.ns[peer][round] })
}

// fastest returns the rival with a rate window that has the lowest median.
func (c *column) fastest(peers []bench.Peer) int {
	best := -1
	for i, p := range peers {
		if p.RateWindow && (best < 0 || median(c.times(i)) < median(c.times(best))) {
			best = i
		}
	}
	return best
}

// ratio is the median of the rounds' ratios, not the ratio of the medians.
func (c *column) ratio(peer, to int) float64 {
	return median(c.counted(func(round int) float64 { return c.ns[peer][round] / c.ns[to][round] }))
}

func (c *column) cell(peer int) string {
	list, mark := c.times(peer), ""
	if c.busy() {
		mark = "~"
	}
	m := median(list)
	return fmt.Sprintf("%s%.1f ±%.0f %%", mark, m, 50*(list[len(list)-1]-list[0])/m)
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
