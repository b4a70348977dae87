package main

import "fmt"

// goal is a promise about one of our peers.
type goal struct {
	peer string
	kind kind
	most float64
}

// kind says what of a peer is compared with that of another. Each is the median
// of the rounds' own comparisons, not a comparison of the medians.
type kind struct {
	format string
	of     func(c *column, peer, to int) float64
	alone  bool // there is no other
}

var (
	ratio = kind{format: "%.2f", of: func(c *column, peer, to int) float64 {
		m, _ := c.median(func(round int) float64 { return c.costs[peer][round].Time / c.costs[to][round].Time })
		return m
	}}
	added = kind{format: "%+.1f ns", of: func(c *column, peer, to int) float64 {
		m, _ := c.median(func(round int) float64 { return c.costs[peer][round].Time - c.costs[to][round].Time })
		return m
	}}
	addedAllocs = kind{format: "%+.1f allocs", of: func(c *column, peer, to int) float64 {
		m, _ := c.median(func(round int) float64 { return c.costs[peer][round].Allocs - c.costs[to][round].Allocs })
		return m
	}}
	absolute = kind{format: "%.0f", alone: true, of: func(c *column, peer, _ int) float64 { return c.medianTime(peer) }}
)

// holds compares as closely as the value is printed, no closer.
func (g goal) holds(value float64) bool {
	var shown float64
	if _, err := fmt.Sscanf(fmt.Sprintf(g.kind.format, value), "%g", &shown); err != nil {
		return false
	}
	return shown <= g.most
}
