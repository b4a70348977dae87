// Command ratios runs Recloser and its rivals in turn, round by round, and
// prints a Markdown table of medians and ratios. A ratio compares calls of the
// same round, so a busy spell of the machine falls on both sides of it.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/bench"
)

func main() {
	flags := flag.NewFlagSet("ratios", flag.ExitOnError)
	quick := flags.Bool("quick", false, "a few seconds instead of half a minute; coarser")
	_ = flags.Parse(os.Args[1:]) // ExitOnError
	rounds, benchtime := 21, "25ms"
	if *quick {
		rounds, benchtime = 7, "5ms"
	}
	testing.Init()
	if err := run(rounds, benchtime); err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

func run(rounds int, benchtime string) error {
	if err := flag.Set("test.benchtime", benchtime); err != nil {
		return err
	}
	peers := bench.Peers()
	columns := []*column{
		{title: "closed, 1 processor", procs: 1, goal: 0.85},
		{title: "closed, 2 processors", procs: 2, goal: 0.7},
		{title: "refused, 1 processor", procs: 1, open: true, goal: 0.6},
	}
	fmt.Print(origin(), "\n\n")
	for _, c := range columns {
		if err := c.prepare(peers); err != nil {
			return err
		}
	}
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, rounds)
		for _, c := range columns {
			if err := c.measure(peers, round); err != nil {
				return err
			}
		}
	}
	report(peers, columns)
	return nil
}

func report(peers []bench.Peer, columns []*column) {
	fmt.Print("| breaker |")
	for _, c := range columns {
		fmt.Printf(" %s | ratio |", c.title)
	}
	fmt.Print(" bytes | settings |\n|---|", strings.Repeat("---:|---:|", len(columns)), "---:|---|\n")
	for i, p := range peers {
		fmt.Printf("| %s |", p.Name)
		for _, c := range columns {
			fmt.Printf(" %s | %.2f |", c.cell(i), c.ratio(i, c.fastest(peers)))
		}
		fmt.Printf(" %d | %s |\n", heap(p), p.Rule)
	}
	fmt.Printf(`
Median ns a call ± half the spread; on two processors wall time divided by the calls of both. Ratio: to the fastest
rival with a rate window, median over the rounds. Bytes: heap of one breaker after %d calls, mean of %d.

| goal for Do | fastest rival with a rate window | ratio | at most | holds | calm rounds |
|---|---|---:|---:|---|---:|
`, heapCalls, heapBreakers)
	for _, c := range columns {
		rival, holds := c.fastest(peers), "yes"
		ratio := c.ratio(0, rival)
		switch {
		case c.busy():
			holds = "not judged: machine busy"
		case ratio > c.goal:
			holds = "**no**"
		}
		fmt.Printf("| %s | %s | %.3f | %.2f | %s | %d of %d |\n", c.title, peers[rival].Name, ratio, c.goal, holds, c.calmRounds(), len(c.calm))
	}
	fmt.Printf("\nA round is calm if this process got at least %.0f %% of the processors it asked for, just before and just after.\n"+
		"The others do not count, unless fewer than three are calm: ~ marks that.\n", 100*calmShare)
}

const heapBreakers, heapCalls = 10_000, 20

// heap returns the bytes of heap that a breaker in use takes.
func heap(p bench.Peer) uint64 {
	var before, after runtime.MemStats
	list := make([]bench.Breaker, heapBreakers)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range list {
		list[i] = p.New()
		for range heapCalls {
			_ = list[i].Succeed()
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(list)
	return (after.HeapAlloc - before.HeapAlloc) / heapBreakers
}
