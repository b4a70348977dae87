package model

import (
	"fmt"
	"time"

	"github.com/recloser-go/recloser"
)

// following is what the model knows of a fleet.
type following struct {
	led            bool // this stay
	leadEnd, own   int64
	allowed, taken uint64
	reported       recloser.Report // the sums that the fleet is told
}

// follow puts in force what a fleet says.
func (m *model) follow(now int64, o recloser.Order) {
	m.settle(now)
	until := now + int64(o.For)
	m.leadEnd = until + int64(o.Grace)
	switch {
	case o.State == recloser.Closed && m.led && m.ownUntil() > now:
		m.led, m.until = false, m.own
	case o.State == recloser.Closed:
		if m.led {
			m.reclose(now, recloser.Transition{Reason: recloser.ReasonFleet})
		}
	case m.state == recloser.Isolated:
		return
	}
	if o.State == recloser.Open {
		m.step, m.tripped = o.Step, true
		m.step = m.inReach(m.step)
	}
	switch {
	case o.State == recloser.Closed:
	case o.State == recloser.Open && m.state == recloser.Open:
		if !m.led {
			m.led, m.own = true, m.until
		}
		m.until = max(until, m.own)
		m.openFor = m.until - m.since
	case o.State == recloser.Open:
		m.openLed(now, until, recloser.ReasonFleet)
	case m.ownUntil() <= now:
		if m.state != recloser.HalfOpen || !m.led {
			m.startTrials(now, recloser.Transition{Reason: recloser.ReasonFleet})
			m.led = true
		}
		m.allowed = o.Trials
	}
	m.settle(now)
}

func (m *model) openLed(at, until int64, reason recloser.Reason) {
	m.enter(recloser.Open, at, until, recloser.Transition{Reason: reason})
	m.led, m.own = true, 0
}

// afterTrial keeps the open time that follows a bad trial of the fleet the fleet's.
func (m *model) afterTrial(led bool, own int64) {
	if led {
		m.reported.TrialsBad++
		m.led, m.own = true, own
	}
}

func (m *model) ownUntil() int64 {
	switch {
	case m.state != recloser.Open:
		return 0
	case m.led:
		return m.own
	}
	return m.until
}

// report is what the fleet is told.
func (m *model) report(now int64) recloser.Report {
	r := m.reported
	r.Seq, r.Automatic, r.Led, r.Own, r.Taken = m.seq, m.state, m.led, m.ownUntil() > now, m.taken
	r.Refused = m.refused[recloser.ReasonOpen] + m.refused[recloser.ReasonToldToWait] + m.refused[recloser.ReasonTrialSlots]
	r.Running = m.count(m.leased)
	return r
}

// compareReport compares what a fleet would be told. How long a trial may take is seen
// by its end, and how many calls were good in Stats.
func (p *Pair) compareReport() error {
	got, want := p.b.Report(), p.m.report(p.now)
	got.TrialTime, got.Good = 0, 0
	if got != want {
		return fmt.Errorf("report:\nengine %+v\nmodel  %+v", got, want)
	}
	return nil
}

// follow gives both an order.
func (p *Pair) follow(o Op) error {
	order := recloser.Order{Grace: 2 * o.D, Step: o.N % 4}
	switch o.N % 5 {
	case 0, 1:
		order.State, order.For = recloser.Open, min(o.D, time.Hour)
	case 2, 3:
		order.State = recloser.HalfOpen
		order.Trials = p.b.Report().Taken + uint64(o.N%2)
	}
	if o.Flag {
		order.Grace = 0
	}
	order.Grace = min(order.Grace, time.Hour)
	err := p.b.Follow(order)
	p.m.follow(p.now, order)
	return err
}
