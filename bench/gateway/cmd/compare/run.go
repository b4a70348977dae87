package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
	"github.com/recloser-go/recloser/bench/gateway/town"
)

// outcome is what came out of one run.
type outcome struct {
	Row string `json:"row"`
	Run int    `json:"run"` // from 1
	// LateMS is by how much the guests were late themselves, p99: how busy the
	// machine was.
	LateMS   float64            `json:"late_p99_ms"`
	Gateways map[string]figures `json:"gateways"`
}

// settle is how long gateways run before the first guest comes. A random part of a
// second is added, so that in each run the fault meets another moment between two
// checks of their health.
const settle = 200 * time.Millisecond

// run lets all gateways take part in a row: side by side, or one after the other.
func (r row) run(ctx context.Context, kinds []entrant.Kind, p phases, t entrant.Tools, dir string) (outcome, error) {
	if !r.alone {
		return r.together(ctx, kinds, p, t, dir)
	}
	all := outcome{Row: r.name, Gateways: map[string]figures{}}
	for _, kind := range kinds {
		o, err := r.together(ctx, []entrant.Kind{kind}, p.shorter(), t, filepath.Join(dir, kind.Name))
		if err != nil {
			return outcome{}, err
		}
		maps.Copy(all.Gateways, o.Gateways)
		all.LateMS = max(all.LateMS, o.LateMS)
	}
	return all, nil
}

// together lets these gateways take part side by side.
func (r row) together(ctx context.Context, kinds []entrant.Kind, p phases, t entrant.Tools, dir string) (outcome, error) {
	var sides []*side
	defer func() {
		for _, s := range sides {
			s.close()
		}
	}()
	calms := []bool{false}
	if r.calm {
		calms = append(calms, true)
	}
	for _, kind := range kinds {
		for _, calm := range calms {
			s, err := openSide(kind, r, calm, place{len(sides), len(kinds) * len(calms)}, p, t, dir)
			if err != nil {
				return outcome{}, err
			}
			sides = append(sides, s)
		}
	}
	play(ctx, sides, p)
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	return sum(r, sides, p)
}

// play lets the guests of all sides come, with the fault in the middle.
func play(ctx context.Context, sides []*side, p phases) {
	start := time.Now().Add(settle + rand.N(time.Second))
	var all sync.WaitGroup
	defer all.Wait()
	for _, s := range sides {
		for _, h := range s.ill() {
			script := s.row.script
			if s.calm {
				script = town.Well()
			}
			h.Fault(start.Add(p.faultAt()), start.Add(p.recoveryAt()), script)
		}
		for _, g := range s.guests {
			all.Go(func() { g.Come(ctx, start) })
		}
	}
}

func sum(r row, sides []*side, p phases) (outcome, error) {
	o := outcome{Row: r.name, Gateways: map[string]figures{}}
	var late []time.Duration
	calm := map[string]figures{}
	for _, s := range sides {
		if err := s.Ended(); err != nil {
			return o, fmt.Errorf("%s in the row %q: %w", s.Name, r.name, err)
		}
		for _, log := range s.logs {
			late = slices.Concat(late, town.Lateness(log.Calls()))
		}
		if s.calm {
			calm[s.Name] = s.figures(p)
		} else {
			o.Gateways[s.Name] = s.figures(p)
		}
	}
	o.LateMS = ms(town.Percentile(late, 0.99))
	for name, f := range calm {
		if f[healthyP99] > 0 {
			o.Gateways[name][againstCalm] = o.Gateways[name][healthyP99] / f[healthyP99]
		}
	}
	return o, nil
}
