package fleet

import (
	"encoding/json"
	"time"

	"github.com/recloser-go/recloser"
)

const askKey = "ask/"

// What a probe said of a dependency.
const (
	probedGood = "good"
	probedBad  = "bad"
)

// ask is the document by which a node asks the others what they have seen of a
// dependency that seems to fail. Who takes a lease of it probes: as many nodes as can
// make up for those whose callers have not come yet.
type ask struct {
	Node string `json:"node"`
}

// hasAsked is told which document asks the others, be it this node's or that of another
// which was quicker. None: the one before had vanished, and nobody was asked.
func (m *member) hasAsked(by Rev, now time.Time) {
	if m.askRev = by; by == (Rev{}) {
		m.ask = true
		return
	}
	m.askedAt, m.judgeAt = now, now.Add(answerTime)
}

// hearAsk answers with what this node has seen, good calls as well, and offers a probe.
func (m *member) hearAsk(c *coordinator, d *Doc, now time.Time) {
	var a ask
	if m.held.State != recloser.Closed || json.Unmarshal(d.Data, &a) != nil || a.Node == c.cfg.Node {
		return
	}
	if m.seen.in(longest, now).calls() > 0 || isOpen(m.last) {
		m.sayAt = now
	}
	if c.cfg.Probe != nil && !c.doubtful && d.Age < answerTime {
		m.probeAt = now.Add(time.Duration(c.random.Int64N(int64(answerTime / 4))))
	}
}

// answerAsk takes the lease for a probe.
func (c *coordinator) answerAsk(now time.Time) *op {
	for _, m := range c.members {
		if !m.probeAt.IsZero() && !now.Before(m.probeAt) {
			m.probeAt = time.Time{}
			return &op{kind: opAcquire, key: askKey + m.name, expect: m.askRev, ttl: opinionTime}
		}
	}
	return nil
}

func (c *coordinator) askAcquired(o *op) {
	if name, ok := nameOf(o.key, askKey); ok && o.err == nil {
		c.probes = append(c.probes, name)
	}
}

// probed takes in what a probe said.
func (c *coordinator) probed(name string, err error, now time.Time) {
	m := c.byName[name]
	if m == nil || m.held.State != recloser.Closed {
		return
	}
	m.probed, m.probeOf, m.sayAt = probedGood, now, now
	if err != nil {
		m.probed = probedBad
	}
}
