package recloser

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// release is how a trip lets go of callers that wait for an answer.
type release struct {
	context.Context // done then, with the *OpenError for them as the cause
	cancel          context.CancelCauseFunc

	from, width int64        // of the admissions that it is for; width 0: of all
	calls       atomic.Int64 // that have it and have not ended; not counted if width is 0
	end         int64        // later ones do not have it; guarded by releases.mu
	due         int64        // once its period is left: when it comes; guarded by the breaker's lock, as is
	err         *OpenError   // with what
}

// releases are those of a period. Without a suspect limit one serves all calls.
// With one each slice of time has its own, as a trip by suspicion lets go of
// callers only as they pass that limit.
type releases struct {
	now atomic.Pointer[release] // the one to take, as a rule

	mu    sync.Mutex
	width int64 // of new ones
	all   []*release
}

// drop says that a call which has it has ended.
func (r *release) drop() {
	if r != nil && r.width > 0 {
		r.calls.Add(-1)
	}
}

func (r *release) covers(at int64) bool { return r.width == 0 || uint64(at-r.from) < uint64(r.width) }

// take returns the release of a call admitted at at.
func (rs *releases) take(at int64) *release {
	r := rs.now.Load()
	if r != nil && r.covers(at) {
		if r.width == 0 {
			return r
		}
		r.calls.Add(1)
		if rs.now.Load() == r { // else it may have been let go of as one without calls
			return r
		}
		r.drop()
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r = rs.find(at)
	if r == nil {
		r = &release{from: at, end: never}
		if rs.width > 0 {
			r.from, r.width, r.end = at/rs.width*rs.width, rs.width, at/rs.width*rs.width+rs.width
		}
		r.Context, r.cancel = context.WithCancelCause(context.Background())
		rs.now.Store(r)
		rs.all = append(slices.DeleteFunc(rs.all, func(o *release) bool { return o.width > 0 && o.calls.Load() == 0 }), r)
	}
	if r.width > 0 {
		r.calls.Add(1)
	} else {
		r.end = never
		rs.now.Store(r)
	}
	return r
}

func (rs *releases) find(at int64) *release {
	for _, r := range slices.Backward(rs.all) {
		if r.width == rs.width && r.covers(at) {
			return r
		}
	}
	return nil
}

// resize has new releases serve that much time each; 0: all.
func (rs *releases) resize(width, now int64) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if width == rs.width {
		return
	}
	if r := rs.now.Swap(nil); r != nil && r.width == 0 {
		r.end = now
	}
	rs.width = width
}

// empty takes out all there are; the period is over.
func (rs *releases) empty() (all []*release) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.now.Store(nil)
	all, rs.all = rs.all, nil
	return all
}

// releasesOf returns those for calls that p admits from now on; nil without
// CancelOnTrip.
func (b *Breaker) releasesOf(p *period) *releases {
	if !b.cfg().CancelOnTrip {
		return nil
	}
	if p.releases == nil {
		p.releases = &releases{}
	}
	return p.releases
}

// sizeReleases has the releases of p be for as long as its slices are, if they are
// for slices. now is when the suspect limit came or went, if p has begun.
func (b *Breaker) sizeReleases(p *period, now int64) {
	switch {
	case p.trouble == nil || p.releases == nil:
	case b.suspectAfter() == never:
		p.releases.resize(0, now)
	default:
		p.releases.resize(1<<p.ring().shift, now)
	}
}

// letGo releases the callers of a period that was left for p at at: those past
// the suspect limit at once, the others as they pass it; or everybody at once,
// unless it was left by suspicion.
func (b *Breaker) letGo(old, p *period, at int64, bySuspicion bool) {
	err := b.refusalOf(p, ReasonReleased)
	for _, r := range old.releases.empty() {
		r.err, r.due = err, at
		if bySuspicion {
			r.due = r.end + b.suspectAfter()
		}
		b.leaving = append(b.leaving, r)
	}
	b.releaseDue(p, at, at)
}

// nextRelease returns when the next callers of a period that is over are to be
// let go.
func (b *Breaker) nextRelease() int64 {
	at := int64(never)
	if b.past != nil {
		for _, r := range b.leaving {
			at = min(at, r.due)
		}
	}
	return at
}

func (b *Breaker) releaseDue(_ *period, at, _ int64) {
	b.leaving = slices.DeleteFunc(b.leaving, func(r *release) bool {
		if r.due <= at {
			r.cancel(r.err)
		}
		return r.due <= at
	})
}
