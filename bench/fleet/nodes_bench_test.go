//go:build unix

package fleet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// BenchmarkNodes says what fifty nodes with a hundred dependencies each cost their server,
// and how long it takes from the failure that decides until all of them refuse.
func BenchmarkNodes(b *testing.B) {
	const nodes, dependencies, rounds, goal = 50, 100, 20, "0.2 s"
	var names []string
	for i := range dependencies {
		names = append(names, fmt.Sprintf("hotel-%02d", i))
	}
	for b.Loop() {
		server := redistest.Start(b)
		all := startFleet(b, server, nodes, names, fleet.Rule{})
		fmt.Printf("\n### %d nodes with %d dependencies each, one Redis\n\n", nodes, dependencies)

		var took []time.Duration
		for i := range rounds {
			took = append(took, refusal(b, all, i))
		}
		slices.Sort(took)
		fmt.Printf("All of %d nodes refuse after the fifth failure: median %v, worst %v of %d (goal %s).\n\n",
			nodes, took[rounds/2].Round(time.Millisecond), took[rounds-1].Round(time.Millisecond), rounds, goal)

		var table strings.Builder
		table.WriteString("| | requests/s | commands/s, with those in scripts | of a core, % | goal |\n|---|---:|---:|---:|---:|\n")
		measure := func(title string) {
			before := usageOf(server)
			<-time.After(10 * time.Second)
			l := usageOf(server).since(before)
			fmt.Fprintf(&table, "| %s | %s | %s | %.2f | 1 |\n", title, figure(l.requests), figure(l.commands), 100*l.core)
		}
		var guests guests
		stop := guests.come(all)
		eventually.True(b, patience, func() bool { return closed(all) }, "all to be closed")
		<-time.After(10 * time.Second)
		measure("all well, 5000 calls a second")
		guests.fail(1, 1)
		measure("one fails everywhere: the first 10 s")
		guests.fail(10, 1)
		measure("ten fail everywhere: the first 10 s")
		<-time.After(10 * time.Second)
		measure("ten fail everywhere: 20 s later")
		guests.fail(10, 0)
		eventually.True(b, patience, func() bool { return closed(all) }, "all to be closed again")
		guests.fail(10, 0.3)
		<-time.After(10 * time.Second)
		measure("ten fail everywhere by 30 %, so that the fleet does not trip")
		guests.fail(dependencies, 0.005)
		<-time.After(20 * time.Second)
		measure("all fail by 0.5 %, as by accident")
		stop()
		fmt.Println(table.String())
	}
}

func closed(all []node) bool {
	for _, n := range all {
		for _, breaker := range n.breakers {
			if breaker.State() != recloser.Closed {
				return false
			}
		}
	}
	return true
}

// refusal has the fifth call of a dependency fail that five nodes have seen fail between
// them, and returns how long it takes from there until all refuse.
func refusal(b *testing.B, all []node, dependency int) time.Duration {
	for _, n := range all[:5] {
		_ = n.breakers[dependency].Do(b.Context(), func(context.Context) error { return errDown })
	}
	failed := time.Now()
	eventually.True(b, patience, func() bool {
		for _, n := range all {
			if n.breakers[dependency].State() == recloser.Closed {
				return false
			}
		}
		return true
	}, "all nodes to refuse")
	return time.Since(failed)
}

// guests call each dependency at each node once a second.
type guests struct {
	mu    sync.Mutex
	first int     // so many dependencies
	share float64 // fail so often
}

func (g *guests) fail(first int, share float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.first, g.share = first, share
}

func (g *guests) call(dependency int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if dependency < g.first && rand.Float64() < g.share {
		return errDown
	}
	return nil
}

// come has them come until stop is called.
func (g *guests) come(all []node) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var nodes sync.WaitGroup
	for _, n := range all {
		nodes.Go(func() {
			every := time.NewTicker(time.Second / time.Duration(len(n.breakers)))
			defer every.Stop()
			for i := 0; ctx.Err() == nil; i = (i + 1) % len(n.breakers) {
				<-every.C
				_ = n.breakers[i].Do(ctx, func(context.Context) error { return g.call(i) })
			}
		})
	}
	return func() {
		cancel()
		nodes.Wait()
	}
}
