package main

import (
	"runtime"
	"slices"
	"time"

	"github.com/recloser-go/recloser/bench"
)

const (
	calmShare = 0.9 // of the processors asked for makes a round calm
	fewCalm   = 3   // with fewer calm rounds nothing can be said
)

// column is one thing measured for every peer of a sheet.
type column struct {
	title string
	procs int
	open  bool   // refusals are timed
	bytes bool   // heap is measured instead of time; one round says it all
	base  string // the peer that the others are compared with; "": the fastest rival with a rate window
	goals []goal

	costs [][]bench.Cost // by peer and round
	calm  []bool         // by round
}

// measure runs one round. It begins with another peer each time, so that none
// has a fixed place in it. Every round makes its breakers anew, as it is luck
// where one lands in memory, and none is there while another is timed, as
// the collector's work would be everybody's.
func (c *column) measure(peers []bench.Peer, round int, spell time.Duration) error {
	if c.costs == nil {
		c.costs = make([][]bench.Cost, len(peers))
	}
	if c.bytes {
		for i, p := range peers {
			c.costs[i] = append(c.costs[i], bench.Cost{Time: heap(p)})
		}
		c.calm = append(c.calm, true)
		return nil
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.procs))
	before := c.share()
	for i := range peers {
		i = (i + round) % len(peers)
		cost, err := c.time(peers[i], spell)
		if err != nil {
			return err
		}
		c.costs[i] = append(c.costs[i], cost)
	}
	c.calm = append(c.calm, min(before, c.share()) >= calmShare)
	return nil
}

func (c *column) time(p bench.Peer, spell time.Duration) (bench.Cost, error) {
	var b bench.Breaker
	if c.open {
		var err error
		if b, err = p.Open(); err != nil {
			return bench.Cost{}, err
		}
	} else {
		b = p.New()
	}
	p.WarmUp(b)
	runtime.GC()
	return p.Spell(b, c.open, c.procs, spell)
}

// share is how much of its processors the column gets. One alone is not asked:
// there it is the processor's own time that counts.
func (c *column) share() float64 {
	if c.procs == 1 {
		return 1
	}
	return share(c.procs)
}

func (c *column) calmRounds() (n int) {
	for _, calm := range c.calm {
		if calm {
			n++
		}
	}
	return n
}

// done says that there are as many calm rounds as wanted.
func (c *column) done(rounds int) bool { return c.bytes && len(c.calm) > 0 || c.calmRounds() >= rounds }

// busy says that there are too few calm rounds to leave the others out.
func (c *column) busy() bool { return !c.bytes && c.calmRounds() < fewCalm }

// median returns the median of f over the rounds that count, and half of what
// lies between the quartiles.
func (c *column) median(f func(round int) float64) (middle, half float64) {
	var list []float64
	for round, calm := range c.calm {
		if calm || c.busy() {
			list = append(list, f(round))
		}
	}
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2, (list[3*n/4] - list[n/4]) / 2
}

func (c *column) medianTime(peer int) float64 {
	m, _ := c.median(func(round int) float64 { return c.costs[peer][round].Time })
	return m
}

func (c *column) medianAllocs(peer int) float64 {
	m, _ := c.median(func(round int) float64 { return c.costs[peer][round].Allocs })
	return m
}

// to returns the peer that the others are compared with.
func (c *column) to(peers []bench.Peer) int {
	best := -1
	for i, p := range peers {
		if c.base != "" && p.Name == c.base || c.base == "" && p.RateWindow && (best < 0 || c.medianTime(i) < c.medianTime(best)) {
			best = i
		}
	}
	return best
}
