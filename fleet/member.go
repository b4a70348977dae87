package fleet

import (
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// member is a breaker of this node, and what the fleet knows of its dependency.
type member struct {
	name string
	b    *recloser.Breaker
	last recloser.Report
	seen tally
	run  uint64 // bad calls with no good one since

	held    version   // what the store had last
	changed time.Time // when held was replaced
	known   bool      // what the store had was heard, at least once
	fault   error     // why the document that the store has now cannot be read
	mendAt  time.Time // nothing is written before: it cannot be read
	pushed  Rev       // what the watch has shown last, where that is older than held
	renewAt time.Time // when to give the breaker its order again
	askRev  Rev       // of the document by which a node has asked the others last
	setBy   Rev       // the record whose override is in force here
	good    uint64    // calls since held is in force

	act    *act  // of an operator on this node, not yet shared
	write  *next // what to write
	trial  *trial
	delay  time.Duration // so that not all nodes write what is due at once
	tryAt  time.Time     // no trial is asked for before
	wishAt time.Time     // when somebody was refused here last

	evidenceState
}

// next is a record that a node wants to write in place of the version that it holds.
type next struct {
	Record
	expect Rev
	above  Rev // also above it
	slots  int
}

// look takes in what the breaker has seen, and renews its orders.
func (m *member) look(c *coordinator, now time.Time) {
	r := m.b.Report()
	before := m.last
	m.last = r
	m.notice(c, before, r, now)
	if r.Refused != before.Refused {
		m.wishAt = now
	}
	if r.Seq != before.Seq {
		m.renewAt = now // somebody may have set it otherwise
		if !c.synced && before.Automatic != recloser.Open && r.Automatic == recloser.Open && !r.Led {
			m.b.HoldTrials(m.b.Brief().OpenFor + c.scatter())
		}
	}
	if m.trial != nil {
		m.tend(c, now)
	}
	if m.pushed != (Rev{}) && now.Sub(m.changed) > time.Second/2 {
		m.pushed, c.reload = Rev{}, now
	}
	if c.synced && !now.Before(m.renewAt) && (m.held.State != recloser.Closed || r.Led) {
		m.obey(now, grace)
	}
}

// hear takes in a version that the watch has shown. One that is not newer may be
// from before what this node has heard by other ways.
func (m *member) hear(c *coordinator, d *Doc, now time.Time) {
	if d.Rev.Epoch > m.held.Epoch {
		m.receive(c, d, now)
	} else if m.pushed = d.Rev; d.Rev == m.held.Rev {
		m.pushed = Rev{}
	}
}

// answered takes in the version that the store returned to who asked at asked. It may be older
// than what was heard meanwhile.
func (m *member) answered(c *coordinator, d *Doc, asked, now time.Time) {
	if !m.changed.After(asked) || d.Rev.Epoch > m.held.Epoch || d.Rev == m.held.Rev {
		m.receive(c, d, now)
		return
	}
	if got, err := versionOf(d, now); err == nil && m.act != nil {
		if m.settle(&got); m.act == nil {
			m.obey(now, grace)
		}
	}
	c.reload = now
}

// receive takes in the version that the store has.
func (m *member) receive(c *coordinator, d *Doc, now time.Time) {
	got, err := versionOf(d, now)
	if m.fault = err; err != nil {
		m.write, m.mendAt = nil, now.Add(refresh) // and what is held stays
		return
	}
	m.pushed = Rev{}
	if !m.known {
		m.meet(&got, now)
	}
	m.settle(&got)
	known := m.known
	m.known = true
	switch reconcile(&m.held, &got, now) {
	case keep:
	case adopt:
		reset := known && got.Reason == recloser.ReasonReset && got.Epoch > m.held.Epoch && got.Node != c.cfg.Node
		if m.adopt(c, got, now); reset && m.act == nil {
			m.b.Reset(got.By, got.Note)
		}
	case reopen:
		m.write = &next{Record: reopened(&m.held, m.last.TrialTime, now), expect: got.Rev, above: m.held.Rev, slots: m.held.slots}
		m.write.Note = m.held.Note
	}
}

// adopt holds a version and puts it in force.
func (m *member) adopt(c *coordinator, v version, now time.Time) {
	m.held, m.changed, m.write, m.trial = v, now, nil, nil
	c.ended = slices.DeleteFunc(c.ended, func(e ended) bool { return e.member == m }) // they ended with the version before
	m.forget(c, now)
	m.delay = time.Duration(c.random.Int64N(int64(300 * time.Millisecond)))
	m.tryAt = now.Add(m.delay)
	c.beat.soon(now)
	m.obey(now, grace)
}

// obey puts what is held in force in the breaker.
func (m *member) obey(now time.Time, grace time.Duration) {
	m.renewAt = now.Add(refresh)
	if m.act != nil {
		return // it will be put above what is held
	}
	v := &m.held
	switch v.State {
	case recloser.Isolated, recloser.HeldClosed:
		m.override(v, now)
	case recloser.Closed, recloser.Open, recloser.HalfOpen:
		if m.setBy != (Rev{}) {
			m.setBy = Rev{}
			m.b.Release(v.By, v.Note)
		}
	}
	o := recloser.Order{State: recloser.Open, For: v.left(now), Grace: grace, Step: v.Step, Cause: v.Cause, Note: v.Note}
	switch v.State {
	case recloser.Closed:
		o = recloser.Order{Note: v.Note}
	case recloser.HeldClosed:
		m.last.Seq = m.b.Report().Seq
		return
	case recloser.Isolated:
		o.For = 0 // its end is the breaker's own, and what follows the fleet's
	case recloser.HalfOpen:
		o = recloser.Order{State: recloser.HalfOpen, Trials: m.trial.allowed(), Grace: grace, Note: v.Note}
	case recloser.Open:
	}
	m.follow(o)
}

// follow gives the breaker an order, and takes no notice of what that changes.
func (m *member) follow(o recloser.Order) {
	_ = m.b.Follow(o) // its ranges are kept
	r := m.b.Report()
	m.last.Seq, m.last.TrialTime = r.Seq, r.TrialTime
}

// override has the breaker isolated or held closed as v says.
func (m *member) override(v *version, now time.Time) {
	if m.setBy == v.Rev || v.over(now) {
		return
	}
	m.setBy = v.Rev
	var until time.Time
	if v.Lasts > 0 {
		until = now.Add(v.left(now))
	}
	if m.overridden(v, until) {
		return
	}
	set := m.b.Isolate
	if v.State == recloser.HeldClosed {
		set = m.b.HoldClosed
	}
	_ = set(v.By, v.Note, until) // the end has not passed
}

// overridden reports whether the breaker already is what v says, as after a store that
// went back in time has been told anew: nothing has happened then.
func (m *member) overridden(v *version, until time.Time) bool {
	is := m.b.Brief().Override
	return is != nil && is.State == v.State && clip(is.By) == v.By && clip(is.Why) == v.Note &&
		is.Until.IsZero() == until.IsZero() && is.Until.Sub(until).Abs() < time.Second
}

// alone has the breaker decide for itself.
func (m *member) alone(now time.Time) {
	o := recloser.Order{State: recloser.Open}
	if m.held.State == recloser.Open {
		o.For = m.held.left(now)
	}
	if m.b.Report().Led {
		m.follow(o)
	}
}

// lost is told that the store is away.
func (m *member) lost(c *coordinator, now time.Time) {
	m.write = nil
	if m.held.State != recloser.Closed {
		m.obey(now, grace+c.scatter())
	}
}

// returned is told that the store is back.
func (m *member) returned(c *coordinator, now time.Time) {
	m.obey(now, grace)
	m.saySoon(c, now)
}

// wanted returns the operation that the member needs most.
func (m *member) wanted(c *coordinator, now time.Time) *op {
	switch {
	case now.Before(m.mendAt):
		return nil
	case m.act != nil:
		o := m.put(c, m.act.next(m, now))
		m.act.id = o.doc.Rev.ID
		return o
	case m.write != nil:
		return m.put(c, m.write)
	case m.held.over(now.Add(-m.delay)):
		return m.wantsTransition(c, now)
	case m.held.State == recloser.HalfOpen:
		return m.wantsTrial(c, now)
	}
	return nil
}

// put writes n.
func (m *member) put(c *coordinator, n *next) *op {
	if n.expect != m.held.Rev && n.above == (Rev{}) {
		m.write = nil // it was decided on what is not so any more
		return nil
	}
	n.Node, n.Settings = c.cfg.Node, c.cfg.Settings
	if n.By == "" {
		n.Acted = 0
	}
	n.Cause, n.Note, n.By = clip(n.Cause), clip(n.Note), clip(n.By)
	return &op{kind: opPut, expect: n.expect, doc: Doc{
		Key: breakerKey + m.name, Rev: above(n.expect, n.above, c.random), Slots: n.slots, Data: encode(n.Record),
	}}
}

// wantsTransition writes what follows an open time or an override that is over.
func (m *member) wantsTransition(c *coordinator, now time.Time) *op {
	v := &m.held
	n := &next{Record: v.Record, expect: v.Rev}
	n.Lasts = 0
	cfg := m.b.Config()
	switch v.State {
	case recloser.Open:
		if !m.mayTry(c, now) {
			return nil
		}
		n.toTrials(&cfg, recloser.ReasonTime)
	case recloser.Isolated:
		n.toTrials(&cfg, recloser.ReasonExpired)
	case recloser.HeldClosed:
		n.State, n.Reason, n.By = recloser.Closed, recloser.ReasonExpired, ""
	case recloser.Closed, recloser.HalfOpen:
		return nil
	}
	return m.put(c, n)
}

// toTrials makes the record one of a half-open fleet.
func (n *next) toTrials(cfg *recloser.Config, reason recloser.Reason) {
	n.State, n.Reason, n.Lasts, n.By = recloser.HalfOpen, reason, 0, ""
	n.Need, n.slots = cfg.Trials, cfg.Trials
}
