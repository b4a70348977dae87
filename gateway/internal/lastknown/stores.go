package lastknown

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/internal/vtime"
)

// Stores has the store of each route, so that a reload of the config forgets no
// answer. The zero value is ready to use.
type Stores struct {
	mu      sync.Mutex
	byRoute map[string]made
}

type made struct {
	from  config.LastKnown
	store *Store
}

// Of returns the store of a route, the one it had before if its settings are the
// same; nil if it has none.
func (s *Stores) Of(route config.Route) *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if route.LastKnown == nil {
		delete(s.byRoute, route.Path)
		return nil
	}
	m, ok := s.byRoute[route.Path]
	if !ok || !reflect.DeepEqual(m.from, *route.LastKnown) {
		m = made{*route.LastKnown, New(route.LastKnown, vtime.Real{})}
		if s.byRoute == nil {
			s.byRoute = make(map[string]made)
		}
		s.byRoute[route.Path] = m
	}
	return m.store
}

// Keep forgets the stores of routes that are not among these.
func (s *Stores) Keep(routes []config.Route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byRoute, func(path string, _ made) bool {
		return !slices.ContainsFunc(routes, func(r config.Route) bool { return r.Path == path })
	})
}
