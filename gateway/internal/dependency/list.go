package dependency

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// List holds the dependencies there are: those of the file in its order, then
// those added at run time. It is safe for concurrent use; its slices are not to
// be changed.
type List struct {
	maker Maker
	now   atomic.Pointer[snapshot]

	mu sync.Mutex // one change at a time
}

// snapshot is the list at a moment. It is never changed.
type snapshot struct {
	all   []*Dependency
	byID  map[string]*Dependency
	group map[string][]*Dependency
}

func newSnapshot(all []*Dependency) *snapshot {
	s := &snapshot{all: all, byID: make(map[string]*Dependency), group: make(map[string][]*Dependency)}
	for _, d := range all {
		s.byID[d.ID] = d
		if d.Group != "" {
			s.group[d.Group] = append(s.group[d.Group], d)
		}
	}
	return s
}

// Empty returns a list whose dependencies m will make.
func (m Maker) Empty() *List {
	l := &List{maker: m}
	l.now.Store(newSnapshot(nil))
	return l
}

// NewList makes every dependency, with m. It reports all that could not be made.
func (m Maker) NewList(from []config.Dependency) (*List, error) {
	l := m.Empty()
	if err := l.Apply(from); err != nil {
		return nil, err
	}
	return l, nil
}

// All returns every dependency.
func (l *List) All() []*Dependency { return l.now.Load().all }

// Get returns the dependency with that ID, nil and false if there is none.
func (l *List) Get(id string) (*Dependency, bool) {
	d, ok := l.now.Load().byID[id]
	return d, ok
}

// Group returns the members of a group, nil if it has none.
func (l *List) Group(name string) []*Dependency {
	s := l.now.Load()
	if name == config.Everyone {
		return s.all
	}
	return s.group[name]
}

// What Put and Remove may say.
var (
	ErrOfFile = errors.New("it is of the config file: change it there and reload")
	ErrNone   = errors.New("there is no such dependency")
)

// Apply makes file the dependencies of the file, in its order. Those that were
// there keep their breakers, with their state; one that was added at run time and
// is in the file now becomes the file's. If one cannot be made, nothing changes, and
// the error names all that could not.
func (l *List) Apply(file []config.Dependency) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.now.Load()
	var (
		drafts []draft
		faults []error
		seen   = make(map[string]bool)
	)
	for _, c := range file {
		d, err := l.maker.draft(c, false, old.byID[c.ID])
		if err == nil && seen[c.ID] {
			err = fmt.Errorf("dependency %s: defined twice", c.ID)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		seen[c.ID] = true
		drafts = append(drafts, d)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	var all []*Dependency
	for _, d := range drafts {
		all = append(all, d.apply())
	}
	for _, d := range old.all {
		if d.RunTime && !seen[d.ID] {
			all = append(all, d)
		}
	}
	l.change(all)
	return nil
}

// Put adds a dependency at run time, or gives one that was added so another
// definition. ErrOfFile: the ID is the file's. It keeps its breaker's state.
func (l *List) Put(c config.Dependency) (*Dependency, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.now.Load()
	was := old.byID[c.ID]
	if was != nil && !was.RunTime {
		return nil, fmt.Errorf("dependency %s: %w", c.ID, ErrOfFile)
	}
	d, err := l.maker.draft(c, true, was)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(old.all)
	if i := slices.Index(all, was); i >= 0 {
		all[i] = d.apply()
	} else {
		all = append(all, d.apply())
	}
	l.change(all)
	return d.Dependency, nil
}

// Remove takes away a dependency that was added at run time; calls that run go on.
// ErrOfFile: it is the file's. ErrNone: there is none.
func (l *List) Remove(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.now.Load()
	d := old.byID[id]
	switch {
	case d == nil:
		return fmt.Errorf("dependency %s: %w", id, ErrNone)
	case !d.RunTime:
		return fmt.Errorf("dependency %s: %w", id, ErrOfFile)
	}
	l.change(slices.DeleteFunc(slices.Clone(old.all), func(o *Dependency) bool { return o == d }))
	return nil
}

// change puts another list in force.
func (l *List) change(all []*Dependency) {
	old, next := l.now.Load(), newSnapshot(all)
	l.now.Store(next)
	for _, d := range old.all {
		if n := next.byID[d.ID]; n == nil || n.Transport != d.Transport {
			d.closeIdle()
		}
	}
}

// CloseIdle closes connections that no call uses.
func (l *List) CloseIdle() {
	for _, d := range l.All() {
		d.closeIdle()
	}
}

func (d *Dependency) closeIdle() {
	if t, ok := d.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}
