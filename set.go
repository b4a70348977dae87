package recloser

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
)

// A Set holds a breaker for each key, made on first use: one for each host,
// tenant or shard. Breakers are never removed, so do not take keys from what
// strangers send. All methods are safe for concurrent use.
type Set struct {
	def      Config
	perKey   map[string]Config
	breakers sync.Map // string to *Breaker

	mu        sync.Mutex // guards making breakers, and listeners
	count     int
	listeners map[*func(Transition)][]func()
}

// NewSet returns an empty set. Breakers get the settings of perKey, or else
// those of def, with the key as their name. The error names every setting that
// is wrong, and its key.
func NewSet(def Config, perKey map[string]Config) (*Set, error) {
	faults := []error{def.Validate()}
	for _, key := range slices.Sorted(maps.Keys(perKey)) {
		if err := perKey[key].Validate(); err != nil {
			faults = append(faults, fmt.Errorf("settings of %q: %w", key, err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return &Set{def: def, perKey: maps.Clone(perKey), listeners: map[*func(Transition)][]func(){}}, nil
}

// Get returns the breaker of key.
func (s *Set) Get(key string) *Breaker {
	if b, ok := s.breakers.Load(key); ok {
		return b.(*Breaker)
	}
	return s.add(key)
}

func (s *Set) add(key string) *Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.breakers.Load(key); ok {
		return b.(*Breaker)
	}
	cfg, ok := s.perKey[key]
	if !ok {
		cfg = s.def
	}
	cfg.Name = key
	b, err := New(cfg)
	if err != nil {
		panic(err) // NewSet has validated it
	}
	for fn := range s.listeners {
		s.listeners[fn] = append(s.listeners[fn], b.Subscribe(*fn))
	}
	s.breakers.Store(key, b)
	s.count++
	return b
}

// Len returns how many breakers there are.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// All returns the breakers there are, sorted by key.
func (s *Set) All() iter.Seq2[string, *Breaker] {
	return func(yield func(string, *Breaker) bool) {
		all := maps.Collect(s.each())
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !yield(key, all[key]) {
				return
			}
		}
	}
}

// each yields the breakers there are, in no order.
func (s *Set) each() iter.Seq2[string, *Breaker] {
	return func(yield func(string, *Breaker) bool) {
		s.breakers.Range(func(key, b any) bool { return yield(key.(string), b.(*Breaker)) })
	}
}

// Check calls Check on every breaker.
func (s *Set) Check() {
	for _, b := range s.each() {
		b.Check()
	}
}

// Subscribe has fn called with the transitions of every breaker, also of those
// made later: in order and one at a time for each, but for several breakers at
// once. See Breaker.Subscribe.
func (s *Set) Subscribe(fn func(Transition)) (unsubscribe func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := &fn
	s.listeners[key] = nil
	for _, b := range s.each() {
		s.listeners[key] = append(s.listeners[key], b.Subscribe(fn))
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, stop := range s.listeners[key] {
			stop()
		}
		delete(s.listeners, key)
	}
}
