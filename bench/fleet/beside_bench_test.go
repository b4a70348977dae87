//go:build unix

package fleet_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
)

// BenchmarkBeside has ten nodes that call one hotel, once by gobreaker's distributed
// breaker and once by a fleet, on the same server.
func BenchmarkBeside(b *testing.B) {
	const nodes = 10
	for b.Loop() {
		server := redistest.Start(b)
		towns := [2]town{gobreakerTown(b, server, nodes), recloserTown(b, server, nodes)}
		var table []pair
		add := func(title string, of func(t *town) float64) {
			table = append(table, pair{title, of(&towns[0]), of(&towns[1])})
		}
		for _, took := range []time.Duration{200 * time.Millisecond, time.Millisecond} {
			title := fmt.Sprintf("calls of %v that end well, a second, if each node always makes one", took)
			add(title, func(t *town) float64 { return t.through(took, 5*time.Second) })
		}
		add("failures that are known, of one at each node at the same moment", (*town).atOnce)
		alone := [2]cost{towns[0].cost(server), towns[1].cost(server)}
		table = append(table,
			pair{"what a call costs, µs", alone[0].each.Seconds() * 1e6, alone[1].each.Seconds() * 1e6},
			pair{"requests to Redis for a call", alone[0].requests, alone[1].requests},
		)
		nothing := func() {}
		for _, state := range []struct {
			name      string
			do, after func()
		}{
			{"is well", nothing, nothing},
			{"hangs", server.Pause, server.Resume},
			{"is killed", server.Kill, server.Restart},
		} {
			state.do()
			table = append(table, during(&towns, "Redis "+state.name, state.after)...)
		}
		fmt.Printf("\n### %d nodes, one hotel, one Redis\n\n%s\n", nodes, comparison(table))
	}
}

// through returns how many calls a second end well, if each node always makes one.
func (t *town) through(took, span time.Duration) float64 {
	var well atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(span)
	for _, call := range t.nodes {
		all.Go(func() {
			for time.Now().Before(end) {
				err := call(func() error { <-time.After(took); return nil })
				if err == nil && time.Now().Before(end) {
					well.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(well.Load()) / span.Seconds()
}

// atOnce has a call of each node fail at the same time, as far as they run at the same time, and
// returns how many of them are known after a while.
func (t *town) atOnce() float64 {
	before := t.counted()
	var all sync.WaitGroup
	for _, call := range t.nodes {
		all.Go(func() { _ = call(func() error { <-time.After(50 * time.Millisecond); return errDown }) })
	}
	all.Wait()
	<-time.After(2 * time.Second)
	return float64(t.counted() - before)
}

// cost is that of a call which does nothing while there is no other.
type cost struct {
	each     time.Duration
	requests float64
}

func (t *town) cost(server *redistest.Server) cost {
	call, nothing := t.nodes[0], func() error { return nil }
	calls, before, began := 0, usageOf(server), time.Now()
	for time.Since(began) < 2*time.Second {
		for range 20 { // so that the clock costs little
			_ = call(nothing)
			calls++
		}
	}
	took, after := time.Since(began), usageOf(server)
	return cost{took / time.Duration(calls), (after.requests - before.requests) / float64(calls)}
}

// during has guests come to both towns, and returns what they met.
func during(towns *[2]town, title string, after func()) []pair {
	const span = 10 * time.Second
	var met [2]meetings
	var all sync.WaitGroup
	for i := range towns {
		all.Go(func() { met[i] = towns[i].visit(span) })
	}
	<-time.After(span)
	after()
	all.Wait()
	return []pair{
		{title + ": calls that are refused, %", met[0].refused(), met[1].refused()},
		{title + ": calls that take over 0.1 s, %", met[0].late(), met[1].late()},
		{title + ": the longest, s", met[0].longest(), met[1].longest()},
	}
}

// meeting is what became of a call of a hotel that was well.
type meeting struct {
	err  error
	took time.Duration
}

type meetings []meeting

// visit has a call of 1 ms come to each node once a second, whatever became of those
// before, and returns when all have ended.
func (t *town) visit(span time.Duration) (met meetings) {
	var mu sync.Mutex
	var all sync.WaitGroup
	every := time.NewTicker(time.Second / time.Duration(len(t.nodes)))
	defer every.Stop()
	for i := range int(span/time.Second) * len(t.nodes) {
		call := t.nodes[i%len(t.nodes)]
		<-every.C
		all.Go(func() {
			began := time.Now()
			err := call(func() error { <-time.After(time.Millisecond); return nil })
			mu.Lock()
			defer mu.Unlock()
			met = append(met, meeting{err, time.Since(began)})
		})
	}
	all.Wait()
	return met
}

func (all meetings) share(is func(meeting) bool) float64 {
	n := 0
	for _, m := range all {
		if is(m) {
			n++
		}
	}
	return 100 * float64(n) / float64(max(1, len(all)))
}

func (all meetings) refused() float64 { return all.share(func(m meeting) bool { return m.err != nil }) }

func (all meetings) late() float64 {
	return all.share(func(m meeting) bool { return m.took > 100*time.Millisecond })
}

func (all meetings) longest() (most float64) {
	for _, m := range all {
		most = max(most, m.took.Seconds())
	}
	return most
}

func TestMeetings(t *testing.T) {
	all := meetings{{nil, time.Millisecond}, {errDown, 2 * time.Second}, {nil, 300 * time.Millisecond}, {errDown, 0}, {nil, 0}}
	if got, want := []float64{all.refused(), all.late(), all.longest()}, []float64{40, 40, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if none := (meetings{}); none.refused() != 0 || none.longest() != 0 {
		t.Error("where nobody came somebody was refused")
	}
}
