package fleet

import (
	"time"

	"github.com/recloser-go/recloser"
)

// act is what an operator has done on this node and the fleet does not know yet. It
// is in force here from the first moment.
type act struct {
	Record
	id    uint64 // of the version that this becomes
	at    time.Time
	slots int
}

// next is the record to write, as it is now.
func (a *act) next(m *member, now time.Time) *next {
	n := &next{Record: a.Record, expect: m.held.Rev, slots: a.slots}
	if m.write != nil { // the store went back in time: above what was held then
		n.expect, n.above = m.write.expect, m.held.Rev
	}
	if a.Lasts > 0 {
		n.Lasts = max(a.Lasts-now.Sub(a.at), time.Millisecond)
	}
	n.Acted = now.Sub(a.at)
	return n
}

// settle is done with the act if the store has it, or a later one of an operator.
func (m *member) settle(got *version) {
	a := m.act
	if a == nil {
		return
	}
	shared := got.ID != 0 && got.ID == a.id || got.is(&a.Record, a.at)
	if shared && m.setBy != (Rev{}) {
		m.setBy = got.Rev // it is in force
	}
	if shared || got.By != "" && !got.made.Add(-got.Acted).Before(a.at) {
		m.act = nil
	}
}

// is reports whether v is the override that was set at that time: what is planned is done by all
// nodes at once, each for itself.
func (v *version) is(r *Record, at time.Time) bool {
	const skew = 5 * time.Second // of what ends alike
	return (v.State == recloser.Isolated || v.State == recloser.HeldClosed) &&
		v.State == r.State && v.Reason == r.Reason && v.By == r.By && v.Note == clip(r.Note) && (v.Lasts > 0) == (r.Lasts > 0) &&
		(v.Lasts == 0 || v.made.Add(v.Lasts).Sub(at.Add(r.Lasts)).Abs() < skew)
}

// set applies an override here, and has it shared.
func (m *member) set(r Record, until, now time.Time) error {
	put := m.b.Isolate
	if r.State == recloser.HeldClosed {
		put = m.b.HoldClosed
	}
	if err := put(r.By, r.Note, until); err != nil {
		return err
	}
	if !until.IsZero() {
		r.Lasts = until.Sub(now)
	}
	r.Step, r.Trip = m.held.Step, m.held.Trip
	m.setBy = Rev{ID: 1} // until it is shared
	m.share(r, 0, now)
	return nil
}

// meet compares the override that the breaker had before the store was heard for the first time, as
// after a restart, with what that has. It is the fleet's, and ends with it; but one that is
// newer than what the fleet knows is an act that was not shared yet.
func (m *member) meet(got *version, now time.Time) {
	o := m.b.Stats().Override
	if o == nil || m.act != nil {
		return
	}
	r := Record{State: o.State, Reason: recloser.ReasonIsolated, By: o.By, Note: o.Why}
	if o.State == recloser.HeldClosed {
		r.Reason = recloser.ReasonHeldClosed
	}
	if !o.Until.IsZero() {
		r.Lasts = max(o.Until.Sub(now), time.Millisecond)
	}
	m.setBy = Rev{ID: 1}
	switch {
	case got.is(&r, now):
		m.setBy = got.Rev
	case got.Rev == (Rev{}), got.made.Before(o.Since) && !o.Since.After(now):
		m.share(r, 0, now)
	}
}

// release takes an override back here, and has it shared.
func (m *member) release(by, why string, now time.Time) bool {
	state := m.held.State
	if m.act != nil {
		state = m.act.State
	}
	released := m.b.Release(by, why)
	m.setBy = Rev{}
	if state != recloser.Isolated && state != recloser.HeldClosed {
		m.renewAt = now
		return released
	}
	r := Record{State: recloser.Closed, Step: m.held.Step, Trip: m.held.Trip, Reason: recloser.ReasonReleased, By: by, Note: why}
	if state == recloser.Isolated {
		r.State, r.Need = recloser.HalfOpen, m.b.Config().Trials
	}
	m.share(r, r.Need, now)
	return true
}

// reset closes here and everywhere. An override stays.
func (m *member) reset(by, why string, now time.Time) {
	m.b.Reset(by, why)
	r := m.held.Record
	r.Lasts = m.held.rest(now)
	if m.act != nil {
		r = m.act.next(m, now).Record
	}
	if r.State != recloser.Isolated && r.State != recloser.HeldClosed {
		r = Record{State: recloser.Closed, By: by, Note: why}
	}
	r.Reason, r.Step, r.Trip = recloser.ReasonReset, 0, ""
	m.share(r, 0, now)
}

// try begins trials before the open time is over.
func (m *member) try(c *coordinator, by, why string) bool {
	if !c.synced || m.held.State != recloser.Open {
		return m.b.TryNow(by, why)
	}
	cfg := m.b.Config()
	n := &next{Record: m.held.Record, expect: m.held.Rev}
	n.toTrials(&cfg, recloser.ReasonEarly)
	n.Note = why
	m.write = n
	return true
}

// tripNow opens here, and everywhere if the fleet is closed and this node trusts its network.
func (m *member) tripNow(c *coordinator, by, why string, now time.Time) bool {
	tripped := m.b.TripNow(by, why)
	if c.synced && m.act == nil && m.held.State == recloser.Closed && !c.doubtful {
		m.write = m.open(c, recloser.ReasonProbe, why, now)
	}
	return tripped
}

// holdTrials has the open time end no sooner than in d, here and everywhere.
func (m *member) holdTrials(c *coordinator, d time.Duration, now time.Time) bool {
	d = min(d, longestOpen)
	open := m.b.HoldTrials(d)
	if c.synced && m.act == nil && m.write == nil && m.held.State == recloser.Open && m.held.left(now) < d {
		m.write = &next{Record: m.held.Record, expect: m.held.Rev}
		m.write.Lasts = d
	}
	return open
}

func (m *member) share(r Record, slots int, now time.Time) {
	m.act = &act{Record: r, at: now, slots: slots}
	m.last.Seq = m.b.Report().Seq
}
