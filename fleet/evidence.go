package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// evidenceState is what a member has to say and to ask.
type evidenceState struct {
	sayAt    time.Time // when to say what was seen; zero: not
	saidAt   time.Time // when there was an occasion last
	said     evidence  // last, and when
	sentAt   time.Time
	out      bool      // that has bad calls in it
	pull     bool      // it is news: look what the others say once it is said
	judgeAt  time.Time // when to look; zero: not
	lookedAt time.Time // when last
	ask      bool      // the others are to be asked
	askedAt  time.Time // when they were
	probeAt  time.Time // when to offer a second opinion; zero: not
	probed   string
	probeOf  time.Time // when it was formed
}

const (
	sayEvery   = time.Second     // where bad calls are many
	sayRarely  = 5 * time.Second // where they are few
	lookApart  = time.Second / 5 // between looks of two nodes, where bad calls are many
	rowTTL     = longest
	rowsAtOnce = 100
	// answerTime is how long nodes have to say what they have seen when they are asked,
	// and opinionTime how long one has to probe.
	answerTime, opinionTime = time.Second, 8 * time.Second
)

// notice takes in what has changed since the last look.
func (m *member) notice(c *coordinator, before, r recloser.Report, now time.Time) {
	var n count
	if r.Bad > before.Bad {
		n.Bad = r.Bad - before.Bad
	}
	if before.Automatic == recloser.Closed && r.Good > before.Good {
		n.Good = r.Good - before.Good
		m.good += n.Good
	}
	if n != (count{}) {
		m.seen.add(n, c.cfg.Rule.Window, now)
	}
	switch {
	case n.Bad > 0:
		m.run += n.Bad
		c.news = true
	case n.Good > 0:
		m.run, m.probed = 0, ""
	}
	opened := isOpen(r) && !isOpen(before)
	if opened {
		m.seen.forgive(c.cfg.Rule.Window, now)
	}
	if isOpen(r) != isOpen(before) {
		c.beat.soon(now)
	}
	if m.held.State != recloser.Closed || !c.synced {
		return
	}
	switch {
	case n.Bad > 0 || opened:
		m.saySoon(c, now)
	case m.out && m.sayAt.IsZero() && now.Sub(m.saidAt) >= m.interval(c, now):
		m.sayAt = now
	}
}

// isOpen reports whether the breaker's own rules keep it from being closed.
func isOpen(r recloser.Report) bool {
	return !r.Led && (r.Automatic == recloser.Open || r.Automatic == recloser.HalfOpen)
}

// saySoon has the evidence said, if there is any.
func (m *member) saySoon(c *coordinator, now time.Time) {
	if m.seen.in(longest, now).Bad == 0 && !isOpen(m.last) {
		return
	}
	m.pull = true
	at := now
	if m.out && !m.mayDecide(c, now) {
		at = m.saidAt.Add(m.interval(c, now))
	}
	if !m.hasToSay() || at.Before(m.sayAt) {
		m.sayAt = at
	}
}

// mayDecide reports whether each bad call may be the one that trips the fleet. The first ones may, and
// for the rest it is rather a matter of form.
func (m *member) mayDecide(c *coordinator, now time.Time) bool {
	return isOpen(m.last) || m.seen.in(c.cfg.Rule.Window, now).Bad <= uint64(c.cfg.Rule.Failures)
}

// interval is how long what was said stays as it is, as a rule.
func (m *member) interval(c *coordinator, now time.Time) time.Duration {
	if n := m.seen.in(c.cfg.Rule.Window, now); float64(n.Bad) >= c.cfg.Rule.Rate/4*float64(n.calls()) {
		return sayEvery
	}
	return sayRarely
}

// forget begins anew: what was seen under a former record does not count for the next.
func (m *member) forget(c *coordinator, now time.Time) {
	if m.held.State == recloser.Closed {
		m.run = 0
	} else {
		m.seen.forgive(c.cfg.Rule.Window, now)
	}
	m.seen.clear()
	m.good = 0
	m.evidenceState = evidenceState{}
}

// evidence returns what this node has seen.
func (m *member) evidence(c *coordinator, now time.Time) evidence {
	e := evidence{Epoch: m.held.Epoch, Window: c.cfg.Rule.Window, Run: m.run, Was: m.seen.was, Open: isOpen(m.last), Doubtful: c.doubtful}
	for _, d := range c.cfg.Rule.spans() {
		e.Spans = append(e.Spans, m.seen.in(d, now))
	}
	if now.Sub(m.probeOf) < grace {
		e.Probed = m.probed
	}
	return e
}

// say returns what is to be said of all breakers. If there is anything, what would be due
// later goes with it.
func (c *coordinator) say(now time.Time) *op {
	if !slices.ContainsFunc(c.members, func(m *member) bool { return m.hasToSay() && !now.Before(m.sayAt) }) {
		return nil
	}
	var rows []Row
	for _, m := range c.members {
		if !m.hasToSay() && (!m.out || now.Sub(m.saidAt) < sayEvery) || len(rows) == rowsAtOnce {
			continue
		}
		e := m.evidence(c, now)
		m.sayAt, m.saidAt = time.Time{}, now
		m.out = e.Open || e.Spans[len(e.Spans)-1].Bad > 0
		if m.pull || !e.like(&m.said) || now.Sub(m.sentAt) > c.cfg.Rule.Window/2 {
			m.said, m.sentAt = e, now
			rows = append(rows, c.row(breakerKey+m.name, encode(e)))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return &op{kind: opSay, rows: rows, ttl: rowTTL}
}

func (m *member) hasToSay() bool { return !m.sayAt.IsZero() }

// like reports whether it comes to the same as o, which was said before: good calls hardly
// matter until they are many more.
func (e *evidence) like(o *evidence) bool {
	return e.Epoch == o.Epoch && e.Window == o.Window && e.Run == o.Run && e.Open == o.Open && e.Doubtful == o.Doubtful && e.Probed == o.Probed &&
		slices.EqualFunc(e.Spans, o.Spans, func(a, b count) bool { return a.Bad == b.Bad && 4*a.Good <= 5*b.Good })
}

func (c *coordinator) row(key string, data []byte) Row {
	c.seq++
	return Row{Key: key, Node: c.cfg.Node, Start: c.start, Seq: c.seq, Data: data}
}

// sayAgain has all said that was, as the store may have lost it.
func (m *member) sayAgain(now time.Time) {
	if m.said = (evidence{}); m.out {
		m.sayAt = now
	}
}

// said has those look what the others say who had news.
func (c *coordinator) said(o *op, now time.Time) {
	for i := range o.rows {
		if name, ok := nameOf(o.rows[i].Key, breakerKey); ok {
			if m := c.byName[name]; m != nil && m.pull {
				m.pull = false
				m.lookSoon(c, now)
			}
		}
	}
}

// lookSoon has the node look what the others say: at once, if its news may decide, and
// else so rarely that all nodes together do not look more often than they are worth.
func (m *member) lookSoon(c *coordinator, now time.Time) {
	switch {
	case m.mayDecide(c, now):
		m.judgeAt = now
	case m.judgeAt.IsZero():
		apart := time.Duration(c.beat.live()) * lookApart
		m.judgeAt = m.lookedAt.Add(apart/2 + time.Duration(c.random.Int64N(int64(apart))))
	}
}

// wantOthers returns what it takes to know what the others have seen, of the breaker for
// which that has been due for the longest time.
func (c *coordinator) wantOthers(now time.Time) *op {
	if c.doubtful || c.beat.outdated(c) {
		return nil
	}
	var m *member
	for _, o := range c.members {
		due := o.ask || !o.judgeAt.IsZero() && !now.Before(o.judgeAt)
		if due && o.held.State == recloser.Closed && o.write == nil && (m == nil || o.judgeAt.Before(m.judgeAt)) {
			m = o
		}
	}
	switch {
	case m == nil:
		return nil
	case m.ask:
		m.ask = false
		return &op{kind: opPut, member: m, key: askKey, expect: m.askRev, doc: Doc{
			Key: askKey + m.name, Rev: above(m.askRev, Rev{}, c.random), Slots: max(1, c.cfg.Rule.Reporters-1), TTL: opinionTime, Data: encode(ask{c.cfg.Node}),
		}}
	}
	m.judgeAt, m.lookedAt = time.Time{}, now
	return &op{kind: opSaid, member: m, key: breakerKey + m.name}
}

// judge decides on what the others have said.
func (m *member) judge(c *coordinator, rows []Row, now time.Time) {
	if m.held.State != recloser.Closed || m.write != nil || c.doubtful {
		return
	}
	reports := []report{{evidence: m.evidence(c, now), node: c.cfg.Node}}
	for i := range rows {
		r := report{node: rows[i].Node, age: rows[i].Age}
		if r.node == c.cfg.Node || json.Unmarshal(rows[i].Data, &r.evidence) != nil {
			continue
		}
		if r.Epoch == m.held.Epoch && r.Window == c.cfg.Rule.Window && !r.Doubtful && c.beat.lives(r.node, r.age) {
			reports = append(reports, r)
		}
	}
	sinceAsked := now.Sub(m.askedAt)
	v := c.cfg.Rule.judge(reports, c.beat.undoubted(), sinceAsked >= answerTime && sinceAsked < opinionTime)
	switch {
	case v.trip:
		m.write = m.trip(c, &v, now)
	case v.ask && sinceAsked < opinionTime:
		m.judgeAt = now.Add(answerTime)
	case v.ask && sinceAsked >= time.Minute:
		m.ask = true
	}
}

// trip returns the record that opens the breaker of all nodes.
func (m *member) trip(c *coordinator, v *verdict, now time.Time) *next {
	n := m.open(c, recloser.ReasonFleet, "", now)
	n.Seen, n.Nodes = v.seen, max(c.beat.live(), v.seen)
	n.Note = fmt.Sprintf("%d of %d calls bad", v.bad, v.calls)
	switch {
	case v.latest:
		n.Note = fmt.Sprintf("%d of the last %d calls bad", v.bad, v.calls)
	case v.openRule:
		n.Note = fmt.Sprintf("%d of %d nodes have tripped by themselves", v.open, n.Nodes)
	}
	return n
}

// open returns a record that takes the place of one that is closed.
func (m *member) open(c *coordinator, reason recloser.Reason, note string, now time.Time) *next {
	cfg := m.b.Config()
	n := &next{expect: m.held.Rev}
	n.Step = nextStep(&cfg, &m.held, m.good, now)
	n.State, n.Lasts, n.Reason, n.Trip, n.Note = recloser.Open, openTime(&cfg, n.Step), reason, reason, note
	n.Nodes = c.beat.live()
	if cause := m.b.Brief().Cause; cause != nil {
		n.Cause = fmt.Sprint(cause)
	}
	return n
}

// doubt asks whether it is rather this node's own network that fails: calls fail to half
// of its dependencies, and to at least two.
func (c *coordinator) doubt(now time.Time) {
	c.doubtAt, c.news = now, false
	groups := map[string]count{} // of members: Bad: that fail, Good: that do not
	for _, m := range c.members {
		var is count
		switch {
		case isOpen(m.last) || m.run >= 2:
			is.Bad = 1
		case m.seen.in(c.cfg.Rule.Window, now).calls() > 0:
			is.Good = 1
		default:
			continue
		}
		group := m.name
		if c.cfg.Group != nil {
			group = cmp.Or(c.cfg.Group(m.name), m.name)
		}
		groups[group] = groups[group].plus(is)
	}
	failing := 0
	for _, g := range groups {
		if g.Bad >= g.Good {
			failing++
		}
	}
	doubtful := len(groups) >= 3 && 2*failing >= len(groups)
	if doubtful == c.doubtful {
		return
	}
	c.doubtful = doubtful
	c.beat.soon(now)
	for _, m := range c.members {
		if m.out {
			m.sayAt = now
		}
	}
}
