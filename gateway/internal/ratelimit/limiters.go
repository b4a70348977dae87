package ratelimit

import (
	"maps"
	"slices"
	"sync"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/internal/vtime"
)

// Limiters has the limiter of each route, so that a reload of the config neither gives
// anybody new tokens nor forgets what was refused. The zero value is ready to use.
type Limiters struct {
	mu      sync.Mutex
	byRoute map[string]*Limiter
}

// Of returns the limiter of a route, the one it had before if its settings are the
// same; nil if it has none.
func (s *Limiters) Of(route config.Route) *Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := route.RateLimit
	if c == nil || c.Rate <= 0 {
		delete(s.byRoute, route.Path)
		return nil
	}
	old := s.byRoute[route.Path]
	if old != nil && old.from == *c {
		return old
	}
	l := New(*c, vtime.Real{})
	if old != nil {
		l.refused.Store(old.refused.Load())
	}
	if s.byRoute == nil {
		s.byRoute = make(map[string]*Limiter)
	}
	s.byRoute[route.Path] = l
	return l
}

// Keep forgets the limiters of routes that are not among these.
func (s *Limiters) Keep(routes []config.Route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byRoute, func(path string, _ *Limiter) bool {
		return !slices.ContainsFunc(routes, func(r config.Route) bool { return r.Path == path })
	})
}

// Refused returns how many requests for a route were refused.
func (s *Limiters) Refused(path string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byRoute[path]; l != nil {
		return l.refused.Load()
	}
	return 0
}
