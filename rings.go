package recloser

import (
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// rings are the rings of a closed period that has more than its first one: after
// a limit has changed, since calls are judged by the SlowCall that they were
// admitted under; and where processors get into each other's way, see addRings.
type rings struct {
	all   []*ring // every one that may have calls
	fresh []*ring // those that take new ones

	mine sync.Pool // hands each processor the ring that it had before
	next atomic.Uint32
}

// lane is the histogram that a processor has to itself. The padding keeps two of them off the
// same cache line.
type lane struct {
	histogram
	_ [64]byte
}

// crowded is how many races lost within a slice of the window make a ring crowded.
const crowded = 16

// ring returns the one to enter now.
func (p *period) ring() *ring {
	if rs := p.rings.Load(); rs != nil {
		return rs.pick()
	}
	return &p.first
}

func (rs *rings) pick() *ring {
	if len(rs.fresh) == 1 {
		return rs.fresh[0]
	}
	r, ok := rs.mine.Get().(*ring)
	if !ok {
		r = rs.fresh[int(rs.next.Add(1))%len(rs.fresh)]
	}
	rs.mine.Put(r)
	return r
}

// everyRing yields all rings that may have calls.
func (p *period) everyRing(yield func(*ring) bool) {
	rs := p.rings.Load()
	if rs == nil {
		yield(&p.first)
		return
	}
	for _, r := range rs.all {
		if !yield(r) {
			return
		}
	}
}

// running returns how many calls of the period are in its rings.
func (p *period) running() (n int64) {
	for r := range p.everyRing {
		n += r.calls()
	}
	return n
}

// seal closes all rings for good and returns how many calls they still had.
func (p *period) seal() (n int64) {
	for r := range p.everyRing {
		n += r.seal()
	}
	return n
}

// newRings has calls enter fresh rings, made for the rules in force: n of them.
// The old ones stay for as long as they have calls. The breaker's lock is held.
func (b *Breaker) newRings(p *period, n int) {
	b.remember()
	for len(b.lanes) < n {
		b.lanes = append(b.lanes, &lane{})
	}
	was := p.ring()
	rs := &rings{all: slices.Collect(p.everyRing)}
	for i := range n {
		r := &ring{}
		b.beginRing(r, &b.lanes[i].histogram, b.releasesOf(p))
		if b.fits(was) { // only more of them: their slices expire together
			r.shift = was.shift
		}
		rs.fresh = append(rs.fresh, r)
	}
	rs.all = append(rs.all, rs.fresh...)
	p.rings.Store(rs)
}

// fitRings makes new rings if those there are do not fit the rules and the suspect
// limit.
func (b *Breaker) fitRings(p *period, now int64) {
	if p.state != Closed {
		return
	}
	if !b.fits(p.ring()) {
		b.newRings(p, p.fresh())
	}
	b.sizeReleases(p, now)
}

// addRings gives each processor a ring of its own if they got into each other's
// way. It waits for nobody.
func (b *Breaker) addRings() {
	p := b.cur.Load()
	if p.state != Closed || p.fresh() > 1 || p.ring().lost.Load() < crowded || runtime.GOMAXPROCS(0) == 1 || !b.mu.TryLock() {
		return
	}
	defer b.mu.Unlock()
	if b.cur.Load() == p && p.fresh() == 1 {
		b.newRings(p, runtime.GOMAXPROCS(0))
	}
}

// tendRings drops rings that have no more calls. The breaker's lock is held.
func (b *Breaker) tendRings(p *period) {
	p.ring().lost.Store(0)
	rs := p.rings.Load()
	if rs == nil || len(rs.all) == len(rs.fresh) {
		return
	}
	kept := &rings{fresh: rs.fresh}
	for _, r := range rs.all {
		if slices.Contains(rs.fresh, r) || !r.drain() {
			kept.all = append(kept.all, r)
		}
	}
	p.rings.Store(kept)
}

// histograms yields all that count calls which were not ignored.
func (b *Breaker) histograms(seen *past) iter.Seq[*histogram] {
	return func(yield func(*histogram) bool) {
		for _, l := range seen.lanes {
			if !yield(&l.histogram) {
				return
			}
		}
		_ = yield(&b.good) && yield(&seen.rest)
	}
}

// goods returns how many calls of the breaker ended well and in time. The
// breaker's lock is held.
func (b *Breaker) goods() uint64 {
	n := b.good.total()
	if b.past != nil {
		for _, l := range b.lanes {
			n += l.total()
		}
	}
	return n
}

// fresh returns how many rings take new calls.
func (p *period) fresh() int {
	if rs := p.rings.Load(); rs != nil {
		return len(rs.fresh)
	}
	return 1
}
