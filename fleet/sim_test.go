//go:build !race

package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/vtime"
)

// sim is a fleet on virtual time: the coordinators, the breakers and the memory store
// are the real ones; the way to the store, the callers and the dependencies are not.
type sim struct {
	testing.TB
	virtual *vtime.Virtual
	clock   *recloser.Clock
	random  *rand.Rand
	store   *Memory
	nodes   []*simNode
	tick    time.Duration
	last    uint64 // position up to which changes were pushed

	delay    time.Duration // of the way to the store and back, half to twice that
	lossy    float64       // share of operations whose result gets lost
	deaf     float64       // share of pushes that get lost
	hung     bool          // the store does not answer
	ops      map[opKind]int
	trialsAt map[string]int // running trials by dependency
	mostOf   map[string]int // the most there ever were
	trials   []time.Time    // when each began
}

type simNode struct {
	*sim
	c        *coordinator
	clock    *recloser.Clock // that of sim, unless it is wrong
	skew     time.Duration   // by how much
	breakers map[string]*recloser.Breaker
	cut      bool // off from the store
	watch    int  // number of the watch that it has
}

// newSim returns a fleet of n nodes that have the same breakers.
func newSim(t testing.TB, seed uint64, n int, cfg Config, names []string, settings recloser.Config) *sim {
	t.Helper()
	s := &sim{
		TB: t, virtual: vtime.NewVirtual(epoch), clock: recloser.NewManualClock(epoch), random: rand.New(rand.NewPCG(seed, 1)),
		tick: tick, delay: 2 * time.Millisecond, ops: map[opKind]int{}, trialsAt: map[string]int{}, mostOf: map[string]int{},
	}
	s.virtual.OnMove(func(d time.Duration) {
		s.clock.Advance(d)
		for _, n := range s.nodes {
			if n.clock != s.clock {
				n.clock.Advance(d)
			}
		}
	})
	s.store = NewMemoryAt(s.clock)
	for i := range n {
		s.add(fmt.Sprintf("node-%02d", i), cfg, names, settings)
	}
	return s
}

// add starts one more node.
func (s *sim) add(name string, cfg Config, names []string, settings recloser.Config) *simNode {
	s.Helper()
	return s.addSkewed(name, 0, cfg, names, settings)
}

// addSkewed starts a node whose clock is wrong.
func (s *sim) addSkewed(name string, skew time.Duration, cfg Config, names []string, settings recloser.Config) *simNode {
	s.Helper()
	cfg.Fleet, cfg.Node = "town", name
	if err := cfg.Validate(); err != nil {
		s.Fatal(err)
	}
	n := &simNode{sim: s, clock: s.clock, skew: skew, breakers: map[string]*recloser.Breaker{}}
	if skew != 0 {
		n.clock = recloser.NewManualClock(n.now())
	}
	n.c = newCoordinator(cfg, rand.New(rand.NewPCG(s.random.Uint64(), 2)), n.now())
	for _, name := range names {
		settings.Name, settings.Clock = name, n.clock
		b, err := recloser.New(settings)
		if err != nil {
			s.Fatal(err)
		}
		n.breakers[name] = b
		n.c.join(b, n.now())
	}
	s.nodes = append(s.nodes, n)
	s.virtual.After(time.Duration(s.random.Int64N(int64(s.tick))), n.ticks)
	return n
}

func (s *sim) now() time.Time      { return s.virtual.Now() }
func (s *sim) run(d time.Duration) { s.virtual.Run(d) }
func (s *sim) spread(d time.Duration) time.Duration {
	return d/2 + time.Duration(s.random.Int64N(int64(d)*3/2+1))
}

// now is the time by the node's own clock.
func (n *simNode) now() time.Time { return n.virtual.Now().Add(n.skew) }

// ticks has a node do what is due, again and again.
func (n *simNode) ticks() {
	n.c.step(n.now())
	n.drive()
	n.virtual.After(n.tick, n.ticks)
}

// drive does for a coordinator what a Node does.
func (n *simNode) drive() {
	if n.watch != n.c.watching {
		n.watch = n.c.watching
		n.catchUp(n.watch, n.c.position)
	}
	for _, name := range n.c.probes {
		n.virtual.After(n.spread(50*time.Millisecond), func() {
			var err error
			for range opinionTries {
				if err = n.c.cfg.Probe(context.Background(), name); err == nil {
					break
				}
			}
			n.c.probed(name, err, n.now())
			n.drive()
		})
	}
	n.c.probes = nil
	o := n.c.next(n.now())
	if o == nil {
		return
	}
	n.ops[o.kind]++
	finish := func(after time.Duration) {
		n.virtual.After(after, func() {
			n.c.done(o, n.now())
			n.drive()
		})
	}
	way := n.spread(n.delay)
	lost := n.random.Float64() < n.lossy
	if n.unreachable() {
		o.err = context.DeadlineExceeded
		finish(opTimeout)
		return
	}
	n.virtual.After(way/2, func() {
		if n.unreachable() {
			o.err = context.DeadlineExceeded
			finish(opTimeout)
			return
		}
		o.run(context.Background(), n.store, n.c.cfg.Node)
		n.push()
		if lost {
			*o = op{kind: o.kind, member: o.member, key: o.key, expect: o.expect, lease: o.lease, ttl: o.ttl, asked: o.asked, err: context.DeadlineExceeded}
			finish(opTimeout - way/2)
			return
		}
		finish(way / 2)
	})
}

func (n *simNode) unreachable() bool { return n.cut || n.hung }

// push tells all that watch of what has changed.
func (s *sim) push() {
	docs, last, _, err := s.store.since(context.Background(), s.last)
	if err != nil { // it was flushed
		_, s.last, _ = s.store.Load(context.Background())
		return
	}
	s.last = last
	for i := range docs {
		for _, n := range s.nodes {
			n.deliver(n.watch, &docs[i])
		}
	}
}

// deliver shows a change to a node, at the latest when it compares counters.
func (n *simNode) deliver(watch int, d *Doc) {
	way := n.spread(n.delay) / 2
	if n.random.Float64() < n.deaf {
		way = 2 * time.Second
	}
	n.virtual.After(way, func() {
		if watch == 0 || watch != n.watch {
			return
		}
		if n.unreachable() {
			n.virtual.After(2*time.Second, func() { n.catchUp(watch, n.c.position) })
			return
		}
		shown := *d
		shown.Age += way
		n.c.heard(watch, &shown, n.now())
		n.drive()
	})
}

// catchUp shows what has changed since a position.
func (n *simNode) catchUp(watch int, position uint64) {
	if watch == 0 || watch != n.watch {
		return
	}
	docs, _, _, err := n.store.since(context.Background(), position)
	if err != nil {
		n.virtual.After(n.delay, func() {
			n.c.unwatched(watch, err, n.now())
			n.drive()
		})
		return
	}
	for i := range docs {
		n.deliver(watch, &docs[i])
	}
}

// flush empties the store.
func (s *sim) flush() {
	s.store.Flush()
	s.push()
	for _, n := range s.nodes {
		n.catchUp(n.watch, n.c.position)
	}
}

// serve says how long a call takes and how it ends.
type serve func(n *simNode, name string) (took time.Duration, err error)

// call makes one, and reports whether it was let through.
func (n *simNode) call(name string, serve serve) bool {
	p, err := n.breakers[name].Allow(context.Background())
	if err != nil {
		return false
	}
	took, err := serve(n, name)
	trial := p.Trial()
	if trial {
		n.trialsAt[name]++
		n.mostOf[name] = max(n.mostOf[name], n.trialsAt[name])
		n.trials = append(n.trials, n.virtual.Now())
	}
	permit := &p
	if trial { // past the limit it has its verdict, whenever it ends
		n.virtual.After(min(took, 2*time.Second), func() { n.trialsAt[name]-- })
	}
	n.virtual.After(took, func() { permit.Done(err) })
	return true
}

// callers has a call come each interval on the average, for ever.
func (n *simNode) callers(name string, interval time.Duration, serve serve, each func(let bool)) {
	n.virtual.After(time.Duration(n.random.ExpFloat64()*float64(interval)), func() {
		let := n.call(name, serve)
		if each != nil {
			each(let)
		}
		n.callers(name, interval, serve, each)
	})
}

// in returns how many nodes have that state.
func (s *sim) in(name string, state recloser.State) (count int) {
	for _, n := range s.nodes {
		if n.breakers[name].State() == state {
			count++
		}
	}
	return count
}

// record returns what the store has.
func (s *sim) record(name string) version {
	docs, _, err := s.store.Load(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	for i := range docs {
		if docs[i].Key == breakerKey+name {
			v, err := versionOf(&docs[i], s.now())
			if err != nil {
				s.Fatal(err)
			}
			return v
		}
	}
	return version{}
}

// await lets time pass until ok, and returns how much that was.
func (s *sim) await(what string, most time.Duration, ok func() bool) time.Duration {
	s.Helper()
	began := s.now()
	for !ok() {
		if s.virtual.Since(began) > most {
			s.Fatalf("at %s: not within %s: %s\n%s", s.virtual.Since(epoch), most, what, s.describe())
		}
		s.run(10 * time.Millisecond)
	}
	return s.virtual.Since(began)
}

func (s *sim) describe() (text string) {
	for _, n := range s.nodes {
		st := n.c.status(n.now())
		text += fmt.Sprintf("%s %s %v doubtful %t\n", st.Node, st.Mode, st.Err, st.Doubtful)
		for _, b := range st.Breakers {
			text += fmt.Sprintf("  %s: %s %+v; here %s\n", b.Name, b.Record.State, b.Rev, n.breakers[b.Name].Explain())
		}
	}
	return text
}
