package recloser

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Set holds a breaker for each key, made on first use: one for each host,
// tenant or shard. It holds no more than SetLimit allows: for a new key it drops a
// breaker that nobody has asked for lately, and only one that is closed, not set
// by an operator, has no call running and no step to remember; one that has seen
// bad calls lately goes last. If it finds none,
// new keys share one breaker, named OverflowKey. All methods are safe for
// concurrent use.
type Set struct {
	// A copy of breakers, for Get. It is replaced once it has been short of a key
	// as often as there are keys; so copying costs no more than the misses did.
	index atomic.Pointer[map[string]*Breaker]

	mu        sync.Mutex // guards everything below
	breakers  map[string]*Breaker
	missed    int // by the index
	def       *rules
	perKey    map[string]*rules
	base      time.Time // of the rules
	limit     int
	keys      []string  // of breakers
	hand      int       // where in keys the search for one to drop goes on
	full      time.Time // when a search was in vain
	overflow  *Breaker  // nil as long as none was needed
	gone      Stats     // what those had counted that were dropped, see Stats
	listeners []*setListener
}

// setListener is a function that hears of every breaker of a set.
type setListener struct {
	fn    func(Transition)
	stops map[*Breaker]func()
}

// What a Set thinks of one of its breakers, see Breaker.place.
const (
	kept    = iota
	wanted  // somebody asked for it since the last search for one to drop
	spared  // ... nobody, but it has seen bad calls lately: it is dropped the next time
	dropped // it is not in the set any more
)

// OverflowKey is the name of the breaker that the keys share for which a Set has
// no room.
const OverflowKey = "(overflow)"

const (
	defaultSetLimit = 10_000
	// searchPause is how long a set that is full of breakers in use does not
	// look for one to drop.
	searchPause = time.Second
)

// NewSet returns an empty set. Breakers get the settings of perKey, or else
// those of def, with the key as their name. The error names every setting that
// is wrong, and its key.
func NewSet(def Config, perKey map[string]Config) (*Set, error) {
	s := &Set{base: time.Now(), limit: defaultSetLimit, breakers: map[string]*Breaker{}}
	s.index.Store(&map[string]*Breaker{})
	if err := s.setRules(def, perKey); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Set) setRules(def Config, perKey map[string]Config) error {
	faults := []error{def.Validate()}
	for _, key := range slices.Sorted(maps.Keys(perKey)) {
		if err := perKey[key].Validate(); err != nil {
			faults = append(faults, fmt.Errorf("settings of %q: %w", key, err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	s.def, s.perKey = &rules{def.WithDefaults(), s.base}, make(map[string]*rules, len(perKey))
	for key, cfg := range perKey {
		s.perKey[key] = &rules{cfg.WithDefaults(), s.base}
	}
	return nil
}

// Update puts other settings in force for all breakers, those made later too, as
// Breaker.Update does for one. What is wrong is an error, and changes nothing.
// The Clock of def and perKey counts for breakers made from now on.
func (s *Set) Update(def Config, perKey map[string]Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.setRules(def, perKey); err != nil {
		return err
	}
	for key, b := range s.each() {
		b.update(s.rulesOf(key).on(b.cfg().Clock))
	}
	return nil
}

func (s *Set) rulesOf(key string) *rules {
	if r, ok := s.perKey[key]; ok {
		return r
	}
	return s.def
}

// SetLimit bounds how many breakers the set holds, from 1 up. Default 10 000. Those
// above it stay until they can be dropped.
func (s *Set) SetLimit(most int) error {
	if most < 1 {
		return fmt.Errorf("recloser: a set cannot hold %d breakers: must be at least 1", most)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = most
	return nil
}

// Get returns the breaker of key. Ask for it anew with each call, do not keep it:
// a breaker that was dropped meanwhile is not the one that others get.
func (s *Set) Get(key string) *Breaker {
	if b := (*s.index.Load())[key]; b != nil {
		if b.place.Load() == wanted || b.place.CompareAndSwap(kept, wanted) || b.place.CompareAndSwap(spared, wanted) {
			return b
		}
	}
	return s.find(key)
}

// find returns the breaker of a key that the index does not know, or knows no more.
func (s *Set) find(key string) *Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == OverflowKey {
		return s.shared()
	}
	if b := s.breakers[key]; b != nil {
		b.place.Store(wanted)
		if s.missed++; s.missed >= len(s.breakers) {
			index := maps.Clone(s.breakers)
			s.index.Store(&index)
			s.missed = 0
		}
		return b
	}
	for len(s.keys) >= s.limit {
		if !s.drop() {
			return s.shared()
		}
	}
	b := s.make(key)
	s.breakers[key] = b
	s.keys = append(s.keys, key)
	return b
}

// shared returns the breaker of all keys for which there is no room.
func (s *Set) shared() *Breaker {
	if s.overflow == nil {
		s.overflow = s.make(OverflowKey)
	}
	return s.overflow
}

func (s *Set) make(key string) *Breaker {
	b := &Breaker{}
	b.begin(key, s.rulesOf(key))
	for _, l := range s.listeners {
		l.stops[b] = b.Subscribe(l.fn)
	}
	return b
}

// drop drops a breaker that nobody has asked for since it was looked at last, and
// reports false if it finds none.
func (s *Set) drop() bool {
	if time.Since(s.full) < searchPause {
		return false
	}
	for range 3 * len(s.keys) {
		s.hand = (s.hand + 1) % len(s.keys)
		key := s.keys[s.hand]
		b := s.breakers[key]
		if b.place.CompareAndSwap(wanted, kept) {
			continue
		}
		idle, troubled := b.isIdle()
		if !idle || troubled && b.place.CompareAndSwap(kept, spared) {
			continue
		}
		if !b.place.CompareAndSwap(kept, dropped) && !b.place.CompareAndSwap(spared, dropped) {
			continue
		}
		s.keep(b)
		delete(s.breakers, key)
		last := len(s.keys) - 1
		s.keys[s.hand] = s.keys[last]
		s.keys = s.keys[:last]
		for _, l := range s.listeners {
			l.stops[b]()
			delete(l.stops, b)
		}
		return true
	}
	s.full = time.Now()
	return false
}

// isIdle reports whether little would be lost with the breaker: no call runs, no
// state and no step has to be remembered; and whether it has seen bad calls lately,
// which it would forget.
func (b *Breaker) isIdle() (idle, troubled bool) {
	if b.cur.Load().state != Closed { // most that are not idle, without the lock
		return false, false
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.settle(now)
	p := b.cur.Load()
	idle = p.state == Closed && b.hold.Load() == nil && p.ramp.Load() == nil &&
		b.adrift.Load() == 0 && p.running() == 0 && (b.past == nil || !b.tripped || b.calm(p, now))
	if idle && p.trouble != nil {
		w := b.sum(p, now)
		troubled = p.run.length > 0 || p.throttled > 0 || w.bad() > 0
	}
	return idle, troubled
}

// Len returns how many breakers there are.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overflow != nil {
		return len(s.keys) + 1
	}
	return len(s.keys)
}

// All returns the breakers there are, sorted by key.
func (s *Set) All() iter.Seq2[string, *Breaker] {
	return func(yield func(string, *Breaker) bool) {
		s.mu.Lock()
		all := maps.Collect(s.each())
		s.mu.Unlock()
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !yield(key, all[key]) {
				return
			}
		}
	}
}

// each yields the breakers there are, in no order. The set's lock is held.
func (s *Set) each() iter.Seq2[string, *Breaker] {
	return func(yield func(string, *Breaker) bool) {
		if s.overflow != nil && !yield(OverflowKey, s.overflow) {
			return
		}
		for key, b := range s.breakers {
			if !yield(key, b) {
				return
			}
		}
	}
}

// Check calls Check on every breaker.
func (s *Set) Check() {
	s.mu.Lock()
	all := make([]*Breaker, 0, len(s.breakers)+1)
	for _, b := range s.each() {
		all = append(all, b)
	}
	s.mu.Unlock()
	for _, b := range all {
		b.Check()
	}
}

// Subscribe has fn called with the transitions of every breaker, also of those
// made later: in order and one at a time for each, but for several breakers at
// once. See Breaker.Subscribe.
func (s *Set) Subscribe(fn func(Transition)) (unsubscribe func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &setListener{fn: fn, stops: map[*Breaker]func(){}}
	s.listeners = append(s.listeners, l)
	for _, b := range s.each() {
		l.stops[b] = b.Subscribe(fn)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, stop := range l.stops {
			stop()
		}
		clear(l.stops)
		s.listeners = slices.DeleteFunc(s.listeners, func(o *setListener) bool { return o == l })
	}
}
