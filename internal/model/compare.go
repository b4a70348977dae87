package model

import (
	"fmt"
	"time"

	"github.com/recloser-go/recloser"
)

// view is what both must agree on.
type view struct {
	State, Automatic                     recloser.State
	Since, Until                         moment
	Override                             recloser.State
	OpenFor                              time.Duration
	Step                                 int
	Window                               recloser.Counts
	RampLimit, Trials                    int
	InFlight, Overdue, Suspects          int
	Suspect                              time.Duration
	LastGood                             moment
	Success, Failed, Slow, Ignored, Late uint64
	Refused                              refusals
	Seq                                  uint64
}

// moment is a time of day in ns of the epoch, to compare; 0: never.
type moment int64

func dayTime(t time.Time) moment {
	if t.IsZero() {
		return 0
	}
	return moment(t.UnixNano())
}

func (m moment) String() string {
	if m == 0 {
		return "never"
	}
	return time.Unix(0, int64(m)).UTC().Format("15:04:05.999999999")
}

// refusals are counts in the order of RefusalReasons.
type refusals [6]uint64

func refusalsOf(n map[recloser.Reason]uint64) (all refusals) {
	for i, reason := range recloser.RefusalReasons() {
		all[i] = n[reason]
	}
	return all
}

// compare looks at both, and at what must hold of the engine alone.
func (p *Pair) compare() error {
	if got, want := p.b.State(), p.view().State; got != want {
		return fmt.Errorf("state %s, model %s; %s", got, want, p.b.Explain())
	}
	want, s := p.view(), p.b.Stats()
	got := view{
		State: s.State, Automatic: s.Automatic, Since: dayTime(s.Since), Until: dayTime(s.Until),
		OpenFor: s.OpenFor, Step: s.Step, Window: s.Window, RampLimit: s.RampLimit, Trials: s.Trials, InFlight: s.InFlight, Overdue: s.Overdue, Suspects: s.Suspects, Suspect: s.Suspect, LastGood: dayTime(s.LastGood),
		Success: s.Success, Failed: s.Failed, Slow: s.Slow, Ignored: s.Ignored, Late: s.Late, Refused: refusalsOf(s.Refused), Seq: s.Seq,
	}
	if s.Override != nil {
		got.Override = s.Override.State
	}
	if got != want {
		return fmt.Errorf("at %s:\nengine %+v\nmodel  %+v", dayTime(p.clock.Now()), got, want)
	}
	if ended := s.Success + s.Failed + s.Slow + s.Ignored; p.m.admitted != ended+p.m.takenBack+uint64(s.InFlight) {
		return fmt.Errorf("%d admitted, but %d ended, %d taken back, %d in flight", p.m.admitted, ended, p.m.takenBack, s.InFlight)
	}
	if n := s.Success + s.Failed + s.Slow; s.Latency.Count() != n {
		return fmt.Errorf("%d latencies of %d calls", s.Latency.Count(), n)
	}
	for _, c := range p.calls {
		if released := c.permit.Released().Err() != nil; released != c.model.released {
			return fmt.Errorf("a caller was released: %t, model: %t", released, c.model.released)
		}
	}
	if p.fault != nil {
		return p.fault
	}
	if err := p.compareReport(); err != nil {
		return err
	}
	return p.compareEvents(s)
}

// view is what the model says.
func (p *Pair) view() view {
	m := p.m
	m.settle(p.now)
	day := func(at int64) moment { return dayTime(timeOf(at, p.now, p.clock.Now())) }
	v := view{
		State: m.state, Automatic: m.state, Since: day(m.since), Until: day(m.until), OpenFor: time.Duration(m.openFor), Step: m.step,
		Window: m.counts(p.now), Trials: m.count(m.leased), InFlight: len(m.calls), Overdue: m.count(m.overdue), Suspects: m.suspectCalls(p.now), Suspect: time.Duration(m.suspectAfter()),
		Success: m.success, Failed: m.failed, Slow: m.slow, Ignored: m.ignored, Late: m.late, Refused: refusalsOf(m.refused), Seq: m.seq,
	}
	if m.calm(p.now) {
		v.Step = 0
	}
	if m.lastGoodCall >= 0 {
		v.LastGood = day(m.lastGoodCall)
	}
	if m.ramp != nil {
		v.RampLimit = m.ramp.limit
	}
	switch {
	case m.held != nil:
		v.State, v.Override, v.Since, v.Until = recloser.HeldClosed, recloser.HeldClosed, day(m.held.since), dayTime(m.held.end)
	case m.state == recloser.Isolated:
		v.Automatic, v.Override, v.Until = recloser.HalfOpen, recloser.Isolated, dayTime(m.given)
	}
	return v
}

// compareEvents looks at the transitions since the last time.
func (p *Pair) compareEvents(s recloser.Stats) error {
	p.listen(s.Seq)
	var counted uint64
	for _, n := range s.Transitions {
		counted += n
	}
	if len(p.heard) != len(p.m.events) || counted != uint64(len(p.heard)) {
		return fmt.Errorf("%d transitions, %d counted, model %d", len(p.heard), counted, len(p.m.events))
	}
	for i, got := range p.heard[p.agreed:] {
		i += p.agreed
		want := p.m.events[i]
		if got.By != "" && got.By != "ann" || got.Name != p.cfg.Name {
			return fmt.Errorf("event of %q by %q", got.Name, got.By)
		}
		got.At, got.Cause, got.Name, got.By, got.Note = time.Time{}, nil, "", "", ""
		if got != want {
			return fmt.Errorf("event:\nengine %+v at %s\nmodel  %+v at %s", got.Transition, time.Duration(got.at), want.Transition, time.Duration(want.at))
		}
		if i > 0 && (got.From != p.m.events[i-1].To || got.at < p.m.events[i-1].at) {
			return fmt.Errorf("event does not follow the one before:\n%+v\n%+v", p.m.events[i-1], want)
		}
	}
	p.agreed = len(p.heard)
	return nil
}
