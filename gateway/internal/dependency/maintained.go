package dependency

import (
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

// What a maintenance acts on: *List is a maintenance.Breakers.
var _ maintenance.Breakers = (*List)(nil)

// Targets returns the dependencies there are now.
func (l *List) Targets() []maintenance.Target {
	var all []maintenance.Target
	for _, d := range l.All() {
		all = append(all, maintenance.Target{ID: d.ID, Group: d.Group, Labels: d.Labels})
	}
	return all
}

// Override returns what is set for a dependency, nil if nothing is, or if there is no
// such dependency.
func (l *List) Override(id string) *recloser.Override {
	if d, ok := l.Get(id); ok {
		return d.Breaker.Brief().Override
	}
	return nil
}

// Isolate cuts a dependency off until the given time, in place of what was set before.
// One that is gone needs no isolation.
func (l *List) Isolate(id, by, why string, until time.Time) error {
	if d, ok := l.Get(id); ok {
		return d.Operator().Isolate(by, why, until)
	}
	return nil
}

// Release takes back what is set.
func (l *List) Release(id, by, why string) {
	if d, ok := l.Get(id); ok {
		d.Operator().Release(by, why)
	}
}
