package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
)

// A Node is this process's part in a fleet. It shares what its breakers see, and puts
// what the fleet decides in force in them. No call waits for it: breakers look at
// their own memory, and go on by themselves while the store is away. All methods are safe
// for concurrent use.
//
// A Node takes two goroutines and one that watches the store, from Start to Close.
type Node struct {
	fleet, name string

	store Store
	stop  context.CancelFunc // nil before Start
	wake  chan struct{}      // has room for one
	ops   chan *op
	ended chan struct{} // closed when all goroutines have ended

	mu sync.Mutex // guards what follows; no operation of the store is done with it held
	c  *coordinator
}

// New returns a node that is not started yet. The store remains the caller's, and must
// stay open until Close has returned.
func New(cfg Config, store Store) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if store == nil {
		return nil, errors.New("fleet: no store: give what redisstore.Open, pgstore.Open, OpenJournal or NewMemory returns")
	}
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	return &Node{
		fleet: cfg.Fleet, name: cfg.Node, store: store, wake: make(chan struct{}, 1), ops: make(chan *op, 1), ended: make(chan struct{}),
		c: newCoordinator(cfg, random, time.Now()),
	}, nil
}

// do calls f as the only one that touches the coordinator, and has the loop look at
// what that changed.
func (n *Node) do(f func(now time.Time)) {
	n.mu.Lock()
	f(time.Now())
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Join has breakers follow the fleet, by their names. A name that is there already, or
// that cannot be a key, is an error, and nothing joins. A breaker belongs to one Node at
// a time, and what a recloser.Set may drop does not belong here. An override that it has before
// the store is heard, as after a restart, is shared, unless the fleet knows of something later.
func (n *Node) Join(breakers ...*recloser.Breaker) (err error) {
	n.do(func(now time.Time) {
		for i, b := range breakers {
			name := b.Name()
			if CheckKey(breakerKey+name) != nil || name == "" {
				err = fmt.Errorf("fleet: a breaker named %q cannot join: %w", name, ErrBadKey)
				return
			}
			if n.c.byName[name] != nil || slices.ContainsFunc(breakers[:i], func(b *recloser.Breaker) bool { return b.Name() == name }) {
				err = fmt.Errorf("fleet: a breaker named %q has joined already; names must differ", name)
				return
			}
		}
		for _, b := range breakers {
			n.c.join(b, now)
		}
	})
	return err
}

// Leave has a breaker go on alone.
func (n *Node) Leave(name string) { n.do(func(now time.Time) { n.c.leave(name, now) }) }

// Start begins. Starting twice is an error.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stop != nil {
		return errors.New("fleet: the node was started before")
	}
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	var all sync.WaitGroup
	all.Go(func() { n.work(ctx) })
	all.Go(func() { n.loop(ctx, &all) })
	go func() {
		all.Wait()
		close(n.ended)
	}()
	return nil
}

// Close leaves the fleet; the breakers go on alone. It waits no longer than the store
// takes to end what it does, and half a second for one that does not end it.
func (n *Node) Close() {
	n.mu.Lock()
	stop := n.stop
	n.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	select {
	case <-n.ended:
	case <-time.After(time.Second / 2):
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.c.part(time.Now()) // where the store has not ended it; in vain otherwise
}

// watcher is the watch that runs; number 0: none.
type watcher struct {
	number int
	stop   context.CancelFunc
}

// loop has the coordinator do what is due, and starts what it wants.
func (n *Node) loop(ctx context.Context, all *sync.WaitGroup) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	w := watcher{stop: func() {}}
	defer func() { w.stop() }()
	for {
		n.mu.Lock()
		now := time.Now()
		o := n.c.next(now)
		watch, position := n.c.watching, n.c.position
		probes, ask := n.c.probes, n.c.cfg.Probe
		n.c.probes = nil
		n.mu.Unlock()
		if o != nil {
			n.ops <- o // there is room: it is the only one
		}
		if watch != w.number {
			w.stop()
			w.number = watch
			watched, stop := context.WithCancel(ctx)
			if w.stop = stop; watch != 0 {
				all.Go(func() { n.watch(watched, watch, position) })
			}
		}
		for _, name := range probes {
			all.Go(func() { n.probe(ctx, name, ask) })
		}
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-ticker.C:
			n.mu.Lock()
			n.c.step(time.Now())
			n.mu.Unlock()
		}
	}
}

// work does the operations of the store, one after the other.
func (n *Node) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			n.part()
			return
		case o := <-n.ops:
			o.run(ctx, n.store, n.name)
			n.do(func(now time.Time) { n.c.done(o, now) })
		}
	}
}

// part leaves the fleet, and gives up what this node has, so that another need not wait.
func (n *Node) part() {
	ctx, cancel := context.WithTimeout(context.Background(), opTimeout)
	defer cancel()
	n.mu.Lock()
	last := n.c.part(time.Now())
	n.mu.Unlock()
	for _, o := range last {
		o.run(ctx, n.store, n.name) // else it runs out
	}
}

func (n *Node) watch(ctx context.Context, number int, position uint64) {
	err := n.store.Watch(ctx, position, func(d Doc) {
		n.do(func(now time.Time) { n.c.heard(number, &d, now) })
	})
	if ctx.Err() == nil {
		n.do(func(now time.Time) { n.c.unwatched(number, err, now) })
	}
}

// A dependency fails to a probe if it does so each time: one may be an accident.
const (
	opinionTries = 3
	opinionPause = 200 * time.Millisecond
)

// probe offers a second opinion.
func (n *Node) probe(ctx context.Context, name string, ask func(context.Context, string) error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := errors.New("the probe panicked")
	defer func() {
		_ = recover()
		n.do(func(now time.Time) { n.c.probed(name, err, now) })
	}()
	for range opinionTries {
		if err = ask(ctx, name); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(opinionPause):
		}
	}
}

// ErrNotJoined is what acts on a breaker return that has not joined.
var ErrNotJoined = errors.New("fleet: no breaker of that name has joined")

// member calls f with a breaker that has joined.
func (n *Node) member(name string, f func(m *member, now time.Time)) error {
	err := fmt.Errorf("%w: %q", ErrNotJoined, name)
	n.do(func(now time.Time) {
		if m := n.c.byName[name]; m != nil {
			err = nil
			f(m, now)
		}
	})
	return err
}

// Isolate has all nodes refuse all calls of a dependency, as Breaker.Isolate does on one.
// Here that is in force when Isolate returns, whether the store is there or not; the others
// hear of it as soon as it is.
func (n *Node) Isolate(name, by, why string, until time.Time) error {
	return n.override(name, Record{State: recloser.Isolated, Reason: recloser.ReasonIsolated, By: by, Note: why}, until)
}

// HoldClosed has all nodes let all calls pass, see Isolate.
func (n *Node) HoldClosed(name, by, why string, until time.Time) error {
	return n.override(name, Record{State: recloser.HeldClosed, Reason: recloser.ReasonHeldClosed, By: by, Note: why}, until)
}

func (n *Node) override(name string, r Record, until time.Time) (err error) {
	missing := n.member(name, func(m *member, now time.Time) { err = m.set(r, until, now) })
	return errors.Join(missing, err)
}

// Release takes an override back on all nodes, see Isolate. It reports false if there
// was none.
func (n *Node) Release(name, by, why string) (released bool, err error) {
	err = n.member(name, func(m *member, now time.Time) { released = m.release(by, why, now) })
	return released, err
}

// Reset closes the breaker of all nodes, see Isolate. An isolation stays.
func (n *Node) Reset(name, by, why string) error {
	return n.member(name, func(m *member, now time.Time) { m.reset(by, why, now) })
}

// TryNow has the fleet start trials before the open time is over. It reports false if
// it is not open.
func (n *Node) TryNow(name, by, why string) (tried bool, err error) {
	err = n.member(name, func(m *member, _ time.Time) { tried = m.try(n.c, by, why) })
	return tried, err
}

// TripNow opens the breaker of all nodes, as Breaker.TripNow does on one: for who has
// other evidence than calls, such as probes. It reports false if this node's breaker was
// not closed.
func (n *Node) TripNow(name, by, why string) (tripped bool, err error) {
	err = n.member(name, func(m *member, now time.Time) { tripped = m.tripNow(n.c, by, why, now) })
	return tripped, err
}

// HoldTrials has the open time of all nodes end no sooner than in d, see
// Breaker.HoldTrials. It reports false if this node's breaker is not open.
func (n *Node) HoldTrials(name string, d time.Duration) (open bool, err error) {
	err = n.member(name, func(m *member, now time.Time) { open = m.holdTrials(n.c, d, now) })
	return open, err
}

// Update puts other settings in force; Fleet and Node stay as they are. What is wrong is
// an error, and changes nothing.
func (n *Node) Update(cfg Config) error {
	cfg.Fleet, cfg.Node = n.fleet, n.name
	if err := cfg.Validate(); err != nil {
		return err
	}
	n.do(func(now time.Time) {
		n.c.cfg = cfg.WithDefaults()
		n.c.beat.soon(now)
	})
	return nil
}

// Seek has this node try to get a role, such as that of the sender of alerts, and keep
// it: at most one node of the fleet has it. Quit gives it up.
func (n *Node) Seek(role string) error {
	if err := CheckKey(role); err != nil {
		return err
	}
	n.do(func(time.Time) { n.c.seek(role) })
	return nil
}

// Quit gives a role up.
func (n *Node) Quit(role string) { n.do(func(now time.Time) { n.c.quit(role, now) }) }

// Holds reports whether this node has the role for certain. While the store is away
// nobody has it for long.
func (n *Node) Holds(role string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.c.holds(role, time.Now())
}
