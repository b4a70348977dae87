// Package dependency holds the other sides of calls while the gateway runs:
// each has its settings, its breaker and its connections.
package dependency

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
	"github.com/recloser-go/recloser/guard"
)

// Dependency is one other side as it is defined at a moment. It is never
// changed: another definition is another Dependency, around the same breakers and
// whatever else has to outlive it.
type Dependency struct {
	config.Dependency
	RunTime bool   // added through the API; else it is of the file
	Version uint64 // of the definition: goes up with each change

	Breaker   *recloser.Breaker // of all calls; with Key, of those without the header
	Keys      *recloser.Set     // the breakers of the others; nil without Key
	Bulkhead  *bulkhead.Bulkhead
	Limited   *atomic.Uint64 // calls that RateLimit refused; counted by whoever made them
	Latency   *suspect.Latency
	Transport http.RoundTripper // sends a request as it is: no breaker, no timeout of its own

	guard    *guard.Guard
	operator Operator // nil: the breaker
}

// BreakerOf returns the breaker that judges a call for the request.
func (d *Dependency) BreakerOf(r *http.Request) *recloser.Breaker {
	if header := d.KeyHeader(r); header != "" {
		return d.Keys.Get(r.Header.Get(header))
	}
	return d.Breaker
}

// KeyHeader returns the header by whose value the request has a breaker, "" if it has
// that of all: as every request has while an operator has set something.
func (d *Dependency) KeyHeader(r *http.Request) string {
	if d.Keys == nil || r.Header.Get(d.Key.Header) == "" {
		return ""
	}
	if s := d.Breaker.State(); s == recloser.Isolated || s == recloser.HeldClosed {
		return ""
	}
	return d.Key.Header
}

// GuardOf returns the guard around a call for the request: the breaker that
// judges it, and the limits and retries that all calls of the dependency share.
func (d *Dependency) GuardOf(r *http.Request) *guard.Guard {
	if b := d.BreakerOf(r); b != d.Breaker {
		return d.guard.With(b)
	}
	return d.guard
}

// Learn notes how long an answer took. One that says that the dependency failed, or is
// too busy, shows nothing of how long it takes when it is well.
func (d *Dependency) Learn(status int, took time.Duration) {
	if status < 500 && status != http.StatusTooManyRequests {
		d.Latency.Good(took)
	}
}

// Stats returns those of Breaker, with what the breakers of keys have counted added:
// running calls, and the calls, refusals, transitions and latencies since the start. State and
// window stay those of Breaker.
func (d *Dependency) Stats() recloser.Stats {
	s := d.Breaker.Stats()
	if d.Keys != nil {
		s.Add(d.Keys.Stats())
	}
	return s
}

// EachBreaker yields every breaker of the dependency.
func (d *Dependency) EachBreaker(yield func(*recloser.Breaker) bool) {
	if !yield(d.Breaker) || d.Keys == nil {
		return
	}
	for _, b := range d.Keys.All() {
		if !yield(b) {
			return
		}
	}
}
