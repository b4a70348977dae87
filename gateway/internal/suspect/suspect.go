// Package suspect says how long a call to a dependency may run before it is
// suspect, and when so many are suspect at once that it is hardly their fault.
//
// A learned limit is never the slow limit: a dependency that gets slower for good
// would be cut off for good. So it says only when to suspect, and slow_call stays
// the operator's word on what is bad.
package suspect

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser"
)

const (
	margin   = 250 * time.Millisecond // above p95. A multiple of a percentile would gain nothing for a dependency that takes 300 ms
	trusted  = 30                     // samples from which on the histogram is believed
	warmUp   = 10 * time.Second       // after the start nothing is suspected: connections and caches are cold
	halving  = 5 * time.Minute        // how often what was learned loses half of its weight
	halvable = 400                    // samples from which on the histogram is halved
)

// Origin says where a limit comes from.
type Origin string

// Where a limit may come from.
const (
	Learned Origin = "learned" // healthy latency
	Default Origin = "default" // slow_call, as there is nothing learned that could be trusted
	Fixed   Origin = "fixed"   // the operator
)

// View is a limit with what it was made from.
type View struct {
	Value       time.Duration // calls that run longer are suspect; recloser.Off: none is
	Origin      Origin
	P50, P95    time.Duration // of healthy calls; 0 without samples
	Samples     uint64
	FrozenSince time.Time // since then nothing is learned, as the dependency is not healthy; zero: it learns
}

// Latency learns how fast a healthy dependency answers. It is safe for concurrent
// use.
type Latency struct {
	feeding atomic.Bool
	onTrial atomic.Bool // calls are trials now
	seen    histogram

	mu      sync.Mutex
	fixed   time.Duration // 0: learned
	began   time.Time
	halved  time.Time     // when that was last done
	lifted  time.Duration // the limit is at least that
	stopped time.Time     // when it stopped feeding
}

// NewLatency returns one that has learned nothing. What starts now has its first
// seconds to warm up.
func NewLatency(now time.Time) *Latency {
	l := &Latency{began: now, halved: now}
	l.feeding.Store(true)
	return l
}

// Fix sets the limit by hand: 0 means learned, recloser.Off that nothing is
// suspected.
func (l *Latency) Fix(limit time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fixed = limit
}

// Good tells of a good answer and how long it took, be it longer than the limit:
// else the limit could only shrink. A trial that is, lifts it as a witness does.
// While the dependency is healthy it takes no lock.
func (l *Latency) Good(took time.Duration) {
	switch {
	case l.feeding.Load():
		l.seen.add(took)
	case l.onTrial.Load() && took > l.seen.quantile(0.95)+margin:
		l.Lift(took)
	}
}

// Tick decides whether the dependency is healthy enough to learn from: closed, not
// ramping, at most a tenth of its calls bad. It is to be called every now and then.
func (l *Latency) Tick(now time.Time, s recloser.Stats) {
	healthy := s.Automatic == recloser.Closed && s.RampLimit == 0 && 10*s.Window.Bad() <= s.Window.Judged()
	l.onTrial.Store(s.Automatic == recloser.HalfOpen)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch was := l.feeding.Swap(healthy); {
	case healthy:
		l.stopped = time.Time{}
	case was:
		l.stopped = now
	}
	if !healthy || now.Sub(l.halved) < halving {
		return
	}
	l.halved = now
	l.lifted /= 2 // by now the histogram knows better
	if l.seen.total() >= halvable {
		l.seen.halve()
	}
}

// Lift raises the limit to at least three times that, up to slow_call: a call that
// took so long, and was suspect, ended well. It wears off within minutes, while the
// histogram learns.
func (l *Latency) Lift(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lifted = max(l.lifted, 3*took)
}

// Limit returns the limit in force, which slowCall caps: with the slow rule off
// there is none.
func (l *Latency) Limit(slowCall time.Duration, now time.Time) View {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := View{P50: l.seen.quantile(0.50), P95: l.seen.quantile(0.95), Samples: l.seen.total(), FrozenSince: l.stopped}
	switch {
	case l.fixed != 0:
		v.Value, v.Origin = l.fixed, Fixed
	case v.Samples < trusted || now.Sub(l.began) < warmUp:
		v.Value, v.Origin = slowCall, Default
	default:
		v.Value, v.Origin = v.P95+margin, Learned
	}
	if slowCall <= 0 || v.Value < 0 {
		v.Value = recloser.Off
		return v
	}
	v.Value = min(max(v.Value, l.lifted), slowCall)
	return v
}
