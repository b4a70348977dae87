package dependency

import (
	"fmt"
	"net/netip"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/internal/vtime"
)

// Maker makes dependencies. Its zero value is ready to use.
type Maker struct {
	Clock     *recloser.Clock       // of all breakers; nil: the machine's
	MayTarget func(netip.Addr) bool // what dependencies added at run time may be connected to; nil: anything
	Hold      func() bool           // whether a trip by suspicion is to wait; nil: never

	// Listeners hear every transition of every breaker. key is the value of the
	// header that the breaker is for, "" for the one of the dependency itself.
	Listeners []func(id, key string, t recloser.Transition)

	// Operator returns how to act on the dependency with that breaker. nil: through
	// the breaker.
	Operator func(*recloser.Breaker) Operator
}

// draft is a checked definition that is not in force yet.
type draft struct {
	*Dependency
	settings recloser.Config
	limits   guard.Config
}

// draft makes a dependency, around the parts of old if there is one, which it
// does not change yet.
func (m Maker) draft(c config.Dependency, runTime bool, old *Dependency) (draft, error) {
	d := draft{Dependency: &Dependency{Dependency: c, RunTime: runTime, Version: 1}}
	d.settings = c.Settings
	d.settings.Name, d.settings.Clock, d.settings.HoldSuspicion = c.ID, m.Clock, m.Hold
	d.Settings = d.settings
	d.limits = guard.Config{Retry: c.Retry, RateLimit: c.RateLimit, Timeout: c.Timeout, AttemptTimeout: min(c.AttemptTimeout, c.Timeout)}
	if err := d.make(m, old); err != nil {
		return draft{}, fmt.Errorf("dependency %s: %w", c.ID, err)
	}
	return d, nil
}

func (d *draft) make(m Maker, old *Dependency) (err error) {
	if old == nil {
		if d.Breaker, err = recloser.New(d.settings); err != nil {
			return err
		}
		for _, hear := range m.Listeners {
			d.Breaker.Subscribe(func(t recloser.Transition) { hear(d.ID, "", t) })
		}
		if m.Operator != nil {
			d.operator = m.Operator(d.Breaker)
		}
		d.Bulkhead = bulkhead.New(d.Dependency.Dependency.Bulkhead, vtime.Real{})
		d.Latency, d.Limited = suspect.NewLatency(time.Now()), &atomic.Uint64{}
	} else {
		if err = d.settings.Validate(); err != nil {
			return err
		}
		d.Breaker, d.Keys, d.Bulkhead, d.Latency = old.Breaker, old.Keys, old.Bulkhead, old.Latency
		d.Limited = old.Limited
		d.Transport, d.guard, d.operator, d.Version = old.Transport, old.guard, old.operator, old.Version+1
	}
	switch {
	case d.Key == nil:
		d.Keys = nil
	case d.Keys == nil || old.Key.Header != d.Key.Header:
		if d.Keys, err = recloser.NewSet(d.settings, nil); err != nil {
			return err
		}
		for _, hear := range m.Listeners {
			d.Keys.Subscribe(func(t recloser.Transition) { hear(d.ID, t.Name, t) })
		}
	}
	if old == nil || !reflect.DeepEqual(old.Retry, d.Retry) || old.RateLimit != d.RateLimit ||
		old.Timeout != d.Timeout || old.AttemptTimeout != d.AttemptTimeout {
		if d.guard, err = guard.Around(d.Breaker, d.limits); err != nil {
			return err
		}
	}
	if old == nil || old.AttemptTimeout != d.AttemptTimeout || old.HTTP != d.HTTP || old.RunTime != d.RunTime {
		d.Transport = m.transport(d.Dependency)
	}
	return nil
}

// apply puts the draft's settings in force. They were found to be right.
func (d *draft) apply() *Dependency {
	must(d.Breaker.Update(d.settings))
	if d.Keys != nil {
		must(d.Keys.Update(d.settings, nil))
		must(d.Keys.SetLimit(d.Key.Max))
	}
	d.Latency.Fix(d.Suspect)
	d.Bulkhead.SetMax(d.Dependency.Dependency.Bulkhead)
	return d.Dependency
}

// must is for what was checked before.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
