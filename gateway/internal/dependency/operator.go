package dependency

import (
	"time"

	"github.com/recloser-go/recloser"
)

// Operator is how people, plans and probes act on a dependency: its breaker, or the
// fleet that the breaker belongs to. See recloser.Breaker for what the methods do.
type Operator interface {
	Isolate(by, why string, until time.Time) error
	HoldClosed(by, why string, until time.Time) error
	Release(by, why string) bool
	Reset(by, why string)
	TryNow(by, why string) bool
	TripNow(by, why string) bool
	HoldTrials(d time.Duration) bool
}

var _ Operator = (*recloser.Breaker)(nil)

// Operator returns how to act on d.
func (d *Dependency) Operator() Operator {
	if d.operator != nil {
		return d.operator
	}
	return d.Breaker
}
