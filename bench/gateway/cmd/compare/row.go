package main

import (
	"time"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

// row is one run in which all gateways take part side by side: what is wrong with
// which hotels.
type row struct {
	name    string
	hotels  int           // that each gateway has
	ill     int           // the first so many of them
	every   time.Duration // from one guest of an ill hotel to the next
	latency time.Duration // of an ill hotel while it is well
	script  town.Script
	ask     bool // each guest asks all hotels
	alone   bool // one gateway after the other: side by side it is too much for a small machine
	calm    bool // besides, each gateway runs a second time without a fault
}

// evenly is from one guest of a hotel to the next: 20 a second.
const evenly = 50 * time.Millisecond

// rows are the runs. Goals name them.
func rows() []row {
	return []row{
		{name: "black hole", hotels: 10, ill: 1, every: evenly, latency: town.Usual, script: town.BlackHole(), calm: true},
		{name: "errors, honest probe", hotels: 10, ill: 1, every: evenly, latency: town.Usual, script: town.Errors()},
		{name: "errors, /health lies", hotels: 10, ill: 1, every: evenly, latency: town.Usual, script: town.Liar()},
		{name: "30 % errors", hotels: 10, ill: 1, every: evenly, latency: town.Usual, script: town.Some(0.3)},
		{name: "up 2 s, down 2 s", hotels: 10, ill: 1, every: evenly, latency: town.Usual, script: town.Flapping(4 * time.Second)},
		{name: "ask ten", hotels: 10, ill: 1, every: evenly, latency: town.Usual, script: town.BlackHole(), ask: true},
		{name: "300 ms partner hangs", hotels: 10, ill: 1, every: evenly, latency: 300 * time.Millisecond, script: town.BlackHole()},
		{name: "six of ten hang", hotels: 10, ill: 6, every: evenly, latency: town.Usual, script: town.BlackHole()},
		{name: "1000 calls/s", hotels: 10, ill: 1, every: time.Millisecond, latency: town.Usual, script: town.BlackHole(), alone: true},
	}
}

// cpuRow is measured in another way: see cpu.go.
const cpuRow = "CPU"

// phases are the parts of a run.
type phases struct {
	warm, fault, after time.Duration
}

func (p phases) faultAt() time.Duration    { return p.warm }
func (p phases) recoveryAt() time.Duration { return p.warm + p.fault }
func (p phases) end() time.Duration        { return p.warm + p.fault + p.after }

// shorter are those of a row in which gateways run one after the other.
func (p phases) shorter() phases { return phases{p.warm, p.fault / 3, p.after / 3} }

// lasts is how long a row takes with so many gateways.
func (r row) lasts(p phases, gateways int) time.Duration {
	if r.alone {
		return time.Duration(gateways) * p.shorter().end()
	}
	return p.end()
}

var (
	// A learned limit is trusted after 10 s and 30 calls.
	fullPhases  = phases{15 * time.Second, 30 * time.Second, 30 * time.Second}
	quickPhases = phases{12 * time.Second, 8 * time.Second, 12 * time.Second}
)
