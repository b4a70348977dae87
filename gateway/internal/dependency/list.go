package dependency

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// List is a fixed set of dependencies in the order of the file. It is safe for
// concurrent use; its slices are not to be changed.
type List struct {
	all   []*Dependency
	byID  map[string]*Dependency
	group map[string][]*Dependency
}

// NewList makes every dependency. It reports all that could not be made.
func NewList(from []config.Dependency) (*List, error) {
	l := &List{byID: make(map[string]*Dependency), group: make(map[string][]*Dependency)}
	var faults []error
	for _, c := range from {
		d, err := New(c)
		if err == nil && l.byID[c.ID] != nil {
			err = fmt.Errorf("dependency %s: defined twice", c.ID)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		l.all = append(l.all, d)
		l.byID[c.ID] = d
		if c.Group != "" {
			l.group[c.Group] = append(l.group[c.Group], d)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return l, nil
}

// All returns every dependency.
func (l *List) All() []*Dependency { return l.all }

// Get returns the dependency with that ID, nil and false if there is none.
func (l *List) Get(id string) (*Dependency, bool) {
	d, ok := l.byID[id]
	return d, ok
}

// Group returns the members of a group, nil if it has none.
func (l *List) Group(name string) []*Dependency {
	if name == config.Everyone {
		return l.all
	}
	return l.group[name]
}

// CloseIdle closes connections that no call uses.
func (l *List) CloseIdle() {
	for _, d := range l.all {
		if t, ok := d.Transport.(*http.Transport); ok {
			t.CloseIdleConnections()
		}
	}
}
