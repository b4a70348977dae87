package fleet

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// coordinator is a node's part in the fleet, as a state machine on whatever time it
// is given. Somebody calls step each tick, does what next returns and hands it back to
// done, tells it of changes by heard, and watches the store while watching is not 0. It
// never waits for anything.
type coordinator struct {
	cfg     Config
	random  *rand.Rand
	start   uint64 // of this process
	seq     uint64 // of rows
	members []*member
	byName  map[string]*member
	flying  *op  // under way
	hung    bool // flying has taken too long; its result will not count

	synced   bool      // all documents are loaded, and what changes is heard
	reload   time.Time // when to load again although synced; zero: not
	watching int       // number of the watch that is wanted; 0: none
	watches  int       // so far
	position uint64    // from which to watch
	retryAt  time.Time // when to try the store again
	pause    time.Duration
	loadedAt time.Time // last
	since    time.Time // when synced changed last
	contact  time.Time // when the store answered last
	err      error     // why the store is of no use; nil: it is

	aboutRev Rev
	beat     beat
	ended    []ended // leases to be finished
	roles    []*candidacy
	probes   []string // dependencies to probe now, for who drives
	doubtful bool
	troubled bool      // it is, or something is open here and not for all
	doubtAt  time.Time // when it was asked whether it is
	news     bool      // a call was bad since
	stranger bool      // the store is not for this node
}

const (
	// tick is how often step is to be called: how soon a bad call is noticed.
	tick = 100 * time.Millisecond
	// grace is how much longer a node keeps to what the fleet said than that says.
	grace = 30 * time.Second
	// refresh is how often an order is renewed.
	refresh = 5 * time.Second

	firstPause, longestPause = 250 * time.Millisecond, 5 * time.Second
)

func newCoordinator(cfg Config, random *rand.Rand, now time.Time) *coordinator {
	return &coordinator{
		cfg: cfg.WithDefaults(), random: random, start: random.Uint64(), since: now,
		byName: map[string]*member{}, err: errNotYet,
	}
}

var (
	errNotYet = errors.New("fleet: the store has not answered yet")
	errHung   = errors.New("fleet: the store does not answer")
	errTwin   = errors.New("fleet: another process has the name of this node; give each its own")
)

// step does what is due on this node.
func (c *coordinator) step(now time.Time) {
	if c.flying != nil && !c.hung && now.Sub(c.flying.asked) > opTimeout+100*time.Millisecond {
		c.hung = true
		c.lose(now, errHung)
	}
	c.troubled = c.doubtful
	for _, m := range c.members {
		m.look(c, now)
		c.troubled = c.troubled || m.own()
	}
	if c.news || now.Sub(c.doubtAt) >= time.Second {
		c.doubt(now)
	}
}

// next returns the operation to do next, nil if there is none or one is under way.
func (c *coordinator) next(now time.Time) *op {
	if c.flying != nil {
		return nil
	}
	o := c.wanted(now)
	if o != nil {
		o.asked, c.flying = now, o
	}
	return o
}

func (c *coordinator) wanted(now time.Time) *op {
	if now.Before(c.retryAt) {
		return nil
	}
	if !c.synced || !c.reload.IsZero() && !now.Before(c.reload) {
		c.reload = time.Time{}
		return &op{kind: opLoad}
	}
	if o := c.putAbout(); o != nil {
		return o
	}
	if c.beat.lookedAt.IsZero() { // who the others are comes before what they say
		return c.beat.wanted(c, now)
	}
	if o := c.finish(); o != nil {
		return o
	}
	for _, m := range c.members {
		if o := m.wanted(c, now); o != nil {
			o.member = m
			return o
		}
	}
	if o := c.say(now); o != nil {
		return o
	}
	if o := c.answerAsk(now); o != nil {
		return o
	}
	if o := c.beat.wanted(c, now); o != nil {
		return o
	}
	if o := c.elect(now); o != nil {
		return o
	}
	return c.wantOthers(now) // last, as where many breakers are in trouble there is always one to look at
}

// done takes in what came of an operation.
func (c *coordinator) done(o *op, now time.Time) {
	hung := c.hung
	c.flying, c.hung = nil, false
	if hung {
		c.lose(now, cmp.Or(o.err, errHung)) // once more: it is not known what became of it
		return
	}
	if !o.answered() {
		c.lose(now, o.err)
		return
	}
	c.contact = now
	if m := o.member; m != nil && c.byName[m.name] != m { // it has left meanwhile
		if o.kind == opAcquire && o.err == nil {
			c.ended = append(c.ended, ended{nil, o.lease, Unused})
		}
		return
	}
	switch o.kind {
	case opLoad:
		c.loaded(o, now)
	case opPut:
		c.put(o, now)
	case opSay:
		c.said(o, now)
	case opSaid:
		if o.member != nil {
			o.member.judge(c, o.rows, now)
		} else {
			c.beat.heard(o.rows, c.cfg.Node, c.start)
		}
	case opAcquire:
		if o.member != nil {
			o.member.acquired(c, o, now)
		} else {
			c.askAcquired(o)
		}
	case opFinish:
		c.finished(o)
	case opElect:
		c.elected(o)
	}
}

// loaded takes in all documents there are.
func (c *coordinator) loaded(o *op, now time.Time) {
	found := map[string]*Doc{}
	for i := range o.docs {
		found[o.docs[i].Key] = &o.docs[i]
	}
	if err := c.meet(found[aboutKey]); err != nil {
		c.stranger = true
		c.lose(now, err)
		c.retryAt = now.Add(grace)
		return
	}
	c.stranger = false
	for _, m := range c.members {
		m.askRev = Rev{}
		if d := found[askKey+m.name]; d != nil {
			m.askRev = d.Rev
		}
		d := found[breakerKey+m.name]
		if d == nil {
			d = &Doc{}
		}
		m.answered(c, d, o.asked, now)
	}
	for _, m := range c.members {
		m.sayAgain(now)
	}
	c.watches++
	c.loadedAt = now
	c.watching, c.position = c.watches, o.position
	c.pause, c.err = 0, nil
	if !c.synced {
		c.synced, c.since = true, now
		for _, m := range c.members {
			m.returned(c, now)
		}
	}
}

// put takes in what a Put returned.
func (c *coordinator) put(o *op, now time.Time) {
	switch {
	case o.member != nil && o.key == "":
		o.member.answered(c, &o.doc, o.asked, now)
	case o.key == askKey:
		o.member.hasAsked(o.doc.Rev, now)
	default:
		if err := c.meet(&o.doc); err != nil { // somebody was quicker
			c.lose(now, err)
		}
	}
}

// heard takes in a change that the watch with that number has shown.
func (c *coordinator) heard(watch int, d *Doc, now time.Time) {
	if watch != c.watching {
		return
	}
	if name, ok := nameOf(d.Key, breakerKey); ok {
		if m := c.byName[name]; m != nil {
			m.hear(c, d, now)
		}
		return
	}
	if name, ok := nameOf(d.Key, askKey); ok {
		if m := c.byName[name]; m != nil {
			m.askRev = d.Rev
			m.hearAsk(c, d, now)
		}
		return
	}
	if d.Key == aboutKey {
		if err := c.meet(d); err != nil {
			c.reload = now
		}
	}
}

// unwatched is told that the watch with that number has ended.
func (c *coordinator) unwatched(watch int, err error, now time.Time) {
	if watch != c.watching {
		return
	}
	c.watching = 0
	if errors.Is(err, ErrResync) {
		if c.reload = now; now.Sub(c.loadedAt) < time.Second { // a store that always says so is not asked all the time
			c.reload = c.loadedAt.Add(time.Second)
		}
		return
	}
	c.lose(now, err)
}

// lose goes on without the store for a while.
func (c *coordinator) lose(now time.Time, err error) {
	c.pause = min(max(2*c.pause, firstPause), longestPause)
	c.retryAt = now.Add(c.pause/2 + time.Duration(c.random.Int64N(int64(c.pause))))
	c.err, c.watching = err, 0
	if !c.synced {
		return
	}
	c.synced, c.since = false, now
	for _, m := range c.members {
		m.lost(c, now)
	}
}

// scatter returns a time by which nodes that have lost each other wait, so that
// together they make about one trial a second.
func (c *coordinator) scatter() time.Duration {
	most := min(time.Duration(c.beat.live())*time.Second, 5*time.Minute)
	return time.Duration(c.random.Int64N(int64(most) + 1))
}

// join adds a breaker, of which the store may know something.
func (c *coordinator) join(b *recloser.Breaker, now time.Time) {
	m := &member{name: b.Name(), b: b, last: b.Report()}
	c.members = append(c.members, m)
	c.byName[m.name] = m
	c.reload = now
}

// leave takes a breaker out, which goes on alone.
func (c *coordinator) leave(name string, now time.Time) {
	m := c.byName[name]
	if m == nil {
		return
	}
	m.giveBack(c, now)
	m.alone(now)
	delete(c.byName, name)
	c.members = slices.DeleteFunc(c.members, func(o *member) bool { return o == m })
	for i := range c.ended {
		if c.ended[i].member == m {
			c.ended[i].member = nil
		}
	}
}

// part has all breakers go on alone, and returns what is to be done in the store so that no
// other node need wait.
func (c *coordinator) part(now time.Time) (last []*op) {
	for len(c.members) > 0 {
		c.leave(c.members[0].name, now)
	}
	for _, e := range c.ended {
		last = append(last, &op{kind: opFinish, lease: e.lease, result: e.result})
	}
	for _, r := range c.roles {
		if now.Before(r.until) {
			last = append(last, &op{kind: opElect, key: r.role})
		}
	}
	c.ended, c.roles = nil, nil
	return last
}
