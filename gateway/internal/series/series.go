// Package series keeps numbers of dependencies over time, for charts: each second
// of the last quarter of an hour in memory, and ten seconds at a time in the
// history, which thins them out with age.
//
// It needs 33 kB for each dependency, however many calls there are.
package series

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/internal/vtime"
)

const (
	// Fine is the distance of the points in memory.
	Fine = time.Second
	// Coarse is the distance of those given to the history.
	Coarse = 10 * time.Second
	// Memory is how far back the points in memory reach.
	Memory = 15 * time.Minute

	storeFor = 5 * time.Second // how long the history may take
	retries  = 6               // batches kept for it while it does not take them: a minute
)

// Store keeps the coarse points. A *history.History is one.
type Store interface {
	AddPoints(ctx context.Context, points []history.Point) error
	Points(ctx context.Context, dependency string, from, to time.Time, step time.Duration) ([]history.Point, error)
}

// Options are what a Series is made from.
type Options struct {
	Dependencies func() []*dependency.Dependency // those there are now; required
	Store        Store                           // nil: there is only what is in memory
	Clock        vtime.Clock                     // nil: the machine's
	Log          *slog.Logger                    // nil: nothing is logged
}

// Series samples dependencies. It is safe for concurrent use.
type Series struct {
	o Options

	mu      sync.RWMutex
	tracks  map[string]*track // by the dependency's ID
	pending []history.Point   // not taken by the store yet
}

// New starts nothing; see Run.
func New(o Options) *Series {
	if o.Clock == nil {
		o.Clock = vtime.Real{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Series{o: o, tracks: make(map[string]*track)}
}

// Run samples each second until ctx is done.
func (s *Series) Run(ctx context.Context) {
	for {
		now := s.o.Clock.Now()
		s.o.Clock.Wait(ctx, now.Truncate(Fine).Add(Fine).Sub(now), nil)
		if ctx.Err() != nil {
			return
		}
		s.Sample(ctx, s.o.Clock.Now())
	}
}

// Sample notes what happened since the last one, as of the second before now. It is for
// Run, and for tests.
func (s *Series) Sample(ctx context.Context, now time.Time) {
	points := s.sample(now)
	if s.o.Store == nil || len(points) == 0 {
		return
	}
	ctx, cancel := s.o.Clock.WithTimeout(ctx, storeFor)
	defer cancel()
	if err := s.o.Store.AddPoints(ctx, points); err != nil {
		s.o.Log.WarnContext(ctx, "points for charts not kept, they will be tried again for a minute", "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = s.pending[min(len(points), len(s.pending)):]
}

// sample returns the points that the store should have and has not.
func (s *Series) sample(now time.Time) []history.Point {
	all := s.o.Dependencies()
	s.mu.Lock()
	defer s.mu.Unlock()
	there := make(map[string]bool, len(all))
	for _, d := range all {
		there[d.ID] = true
		t := s.tracks[d.ID]
		if t == nil || t.of != d.Breaker { // removed and added again: nothing in common
			t = newTrack(d.Breaker)
			s.tracks[d.ID] = t
		}
		if !t.due(d, now) {
			continue
		}
		if p, ok := t.sample(d, now); ok {
			p.Dependency = d.ID
			s.pending = append(s.pending, p)
		}
	}
	for id := range s.tracks {
		if !there[id] {
			delete(s.tracks, id)
		}
	}
	if over := len(s.pending) - retries*max(1, len(all)); over > 0 {
		s.pending = append([]history.Point(nil), s.pending[over:]...)
	}
	return s.pending
}

// Step returns the distance of points that suits a chart of that length.
func Step(length time.Duration) time.Duration {
	for _, step := range []time.Duration{Fine, Coarse, time.Minute} {
		if length <= 900*step {
			return step
		}
	}
	return 10 * time.Minute
}

// Points returns the points of a dependency that begin at from or later and
// before to, oldest first. With a step of Fine they are those in memory.
// A point in which nothing was sampled is not there.
func (s *Series) Points(ctx context.Context, id string, from, to time.Time, step time.Duration) ([]history.Point, error) {
	if step < Coarse {
		s.mu.RLock()
		defer s.mu.RUnlock()
		if t := s.tracks[id]; t != nil {
			return t.points(id, from, to, s.o.Clock.Now()), nil
		}
		return nil, nil
	}
	if s.o.Store == nil {
		return nil, nil
	}
	points, err := s.o.Store.Points(ctx, id, from, to, step)
	if err != nil {
		return nil, fmt.Errorf("series: %w", err)
	}
	return points, nil
}
