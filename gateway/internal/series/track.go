package series

import (
	"slices"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

const (
	length   = int64(Memory / Fine)
	manyKeys = 500 // a dependency with more breakers than that is looked at each 10 s only
)

// track is what is known of one dependency.
type track struct {
	of      *recloser.Breaker
	ring    [length]second
	last    totals // at the last sample
	started bool   // there was one

	coarse      totals // at the beginning of the coarse point that is being made
	coarseSince int64  // unix seconds; 0: none
	coarseState uint8  // the worst in it
}

// second is one sample, as small as it can be: there are 900 for each dependency.
type second struct {
	at                                   uint32 // unix seconds, to know it from one a quarter of an hour older
	good, failed, slow, ignored, refused uint32
	p50, p95                             uint32 // microseconds
	state                                uint8
}

// totals are what a dependency has counted since its start.
type totals struct {
	good, failed, slow, ignored, refused uint64
	latency                              []uint64
	bounds                               []time.Duration
}

func newTrack(of *recloser.Breaker) *track { return &track{of: of} }

// due reports whether it is time to look: at very many breakers, not each second.
func (t *track) due(d *dependency.Dependency, now time.Time) bool {
	return d.Keys == nil || d.Keys.Len() <= manyKeys || now.Unix()%int64(Coarse/Fine) == 0
}

// sample notes the second that is over at now. It returns the coarse point that is
// complete by it, if one is.
func (t *track) sample(d *dependency.Dependency, now time.Time) (p history.Point, ok bool) {
	sum, state := sumOf(d)
	at := now.Unix() - 1
	if t.started {
		t.ring[slot(at)] = t.last.until(sum).second(at, state)
	}
	step := int64(Coarse / Fine)
	if t.coarseSince != 0 && now.Unix() >= t.coarseSince+step {
		p, ok = t.coarse.until(sum).point(t.coarseSince, max(state, t.coarseState)), true
		t.coarseSince = 0
	}
	if t.coarseSince == 0 {
		t.coarse, t.coarseSince, t.coarseState = sum, now.Unix()/step*step, 0
	}
	t.coarseState = max(t.coarseState, state)
	t.last, t.started = sum, true
	return p, ok
}

// slot is where a second is kept. It is never negative, before 1970 neither.
func slot(at int64) int64 { return (at%length + length) % length }

// points returns what is in memory from a moment to another.
func (t *track) points(id string, from, to, now time.Time) []history.Point {
	first := max(ceil(from), now.Unix()-length)
	var out []history.Point
	for at := first; at < min(ceil(to), now.Unix()); at++ {
		s := t.ring[slot(at)]
		if s.at != uint32(at) {
			continue
		}
		out = append(out, history.Point{
			At: time.Unix(at, 0).UTC(), Dependency: id,
			Good: uint64(s.good), Failed: uint64(s.failed), Slow: uint64(s.slow), Ignored: uint64(s.ignored), Refused: uint64(s.refused),
			P50: time.Duration(s.p50) * time.Microsecond, P95: time.Duration(s.p95) * time.Microsecond,
			State: states[s.state],
		})
	}
	return out
}

// ceil is the first whole second that is not before t.
func ceil(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// inMaintenance is isolated, by a plan.
const inMaintenance = "maintenance"

// states lists the states, the one that matters most last.
var states = [...]string{
	recloser.Closed.String(), recloser.HeldClosed.String(), history.Shadowed, recloser.HalfOpen.String(), recloser.Open.String(),
	recloser.Isolated.String(), inMaintenance,
}

// sumOf returns what a dependency has counted, with all keys, and the state that matters
// most of its breakers'.
func sumOf(d *dependency.Dependency) (sum totals, worst uint8) {
	s := d.Stats()
	sum = totals{
		good: s.Success, failed: s.Failed, slow: s.Slow, ignored: s.Ignored, refused: d.Bulkhead.Refused() + d.Limited.Load(),
		latency: s.Latency.Counts, bounds: s.Latency.Bounds,
	}
	for _, n := range s.Refused {
		sum.refused += n
	}
	for b := range d.EachBreaker {
		state := b.State()
		name := state.String()
		switch {
		case state == recloser.Isolated && s.State == recloser.Isolated && maintenance.Acted(s.Override.By):
			name = inMaintenance
		case s.Shadow && state.EffectInShadow() != state.Effect():
			name = history.Shadowed
		}
		if i := slices.Index(states[:], name); i > int(worst) {
			worst = uint8(i)
		}
	}
	return sum, worst
}

// until returns what was counted from t to now. Another key of a dependency begins anew:
// nothing is below zero.
func (t totals) until(now totals) totals {
	d := totals{
		good: less(now.good, t.good), failed: less(now.failed, t.failed), slow: less(now.slow, t.slow),
		ignored: less(now.ignored, t.ignored), refused: less(now.refused, t.refused),
		bounds: now.bounds, latency: slices.Clone(now.latency),
	}
	for i := range min(len(d.latency), len(t.latency)) {
		d.latency[i] = less(d.latency[i], t.latency[i])
	}
	return d
}

func less(now, then uint64) uint64 {
	if now < then {
		return 0
	}
	return now - then
}

func (t totals) second(at int64, state uint8) second {
	return second{
		at: uint32(at), good: small(t.good), failed: small(t.failed), slow: small(t.slow), ignored: small(t.ignored), refused: small(t.refused),
		p50: small(uint64(t.quantile(0.50).Microseconds())), p95: small(uint64(t.quantile(0.95).Microseconds())), state: state,
	}
}

func small(n uint64) uint32 { return uint32(min(n, 1<<32-1)) }

func (t totals) point(at int64, state uint8) history.Point {
	return history.Point{
		At: time.Unix(at, 0).UTC(), Good: t.good, Failed: t.failed, Slow: t.slow, Ignored: t.ignored, Refused: t.refused,
		P50: t.quantile(0.50), P95: t.quantile(0.95), State: states[state],
	}
}

// quantile returns the latency that a share of the calls stayed below, 0 without
// calls. Within a bucket, an octave wide, they are taken to lie evenly.
func (t totals) quantile(share float64) time.Duration {
	var all uint64
	for _, n := range t.latency {
		all += n
	}
	left := share * float64(all)
	for i, n := range t.latency {
		if n == 0 {
			continue
		}
		if float64(n) < left {
			left -= float64(n)
			continue
		}
		if i == len(t.bounds) { // without a bound of its own
			return t.bounds[i-1]
		}
		lower := time.Duration(0)
		if i > 0 {
			lower = t.bounds[i-1]
		}
		return lower + time.Duration(left/float64(n)*float64(t.bounds[i]-lower))
	}
	return 0
}
