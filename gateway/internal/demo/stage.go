package demo

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
)

// stage is all that takes part in a run.
type stage struct {
	script  Script
	again   bool
	with    lane // through the gateway
	without lane // straight to the hotels
	gateway *protected
	page    *page

	mu     sync.Mutex
	number int // of the outage that is played, from 1; 0 before the first
	clock  clock
	outage outage
	ending bool // no more guests come
	past   []outcome
	stands *view // what the page goes on to show; nil: how it is
}

// setUp starts the hotels, the gateway and the page. What it started is ended if it
// fails.
func setUp(ctx context.Context, o Options) (s *stage, err error) {
	s = &stage{script: o.Script, again: o.Again}
	defer func() {
		if err != nil {
			s.tearDown()
		}
	}()
	if s.page, err = openPage(); err != nil {
		return s, err
	}
	if s.with.hotels, err = startHotels(ctx, hotelsPerLane); err != nil {
		return s, err
	}
	if s.without.hotels, err = startHotels(ctx, hotelsPerLane); err != nil {
		return s, err
	}
	if s.gateway, err = startProtected(ctx, s.with.hotels, s.page.tellURL()); err != nil {
		return s, err
	}
	s.with.turnstile = s.gateway.turnstile()
	s.without.turnstile = direct{newClient(), s.without.hotels}
	return s, nil
}

// tearDown ends everything and returns when it is gone.
func (s *stage) tearDown() {
	if s.gateway != nil {
		s.gateway.stop()
	}
	if s.page != nil { // after the gateway, whose last messages it takes
		s.page.close()
	}
	endHotels(s.with.hotels)
	endHotels(s.without.hotels)
}

// begin sets the script's time to zero, for one outage more.
func (s *stage) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	s.clock, s.outage = clock{time.Now()}, outage{}
	s.with.visits, s.without.visits = &visits{}, &visits{}
	s.stands = nil
}

// strike makes the hotels of both lanes fall ill, and recover when it is time.
func (s *stage) strike(ctx context.Context) error {
	if !s.clock.wait(ctx, s.script.FaultsFrom) {
		return nil
	}
	s.note(func() { s.outage.begun, s.outage.from = true, s.clock.now() })
	if err := s.each(func(p *process, f Fault) error { return p.fall(f, NoFault) }); err != nil {
		return err
	}
	if !s.clock.wait(ctx, s.script.FaultsUntil) {
		return nil
	}
	s.note(func() { s.outage.ended, s.outage.until = true, s.clock.now() })
	return s.heal()
}

// heal ends the faults.
func (s *stage) heal() error {
	return s.each(func(p *process, f Fault) error { return p.fall(NoFault, f) })
}

// each does something with every hotel that a fault befalls.
func (s *stage) each(do func(p *process, f Fault) error) error {
	var faults []error
	for _, n := range illHotels() {
		for _, l := range []*lane{&s.with, &s.without} {
			faults = append(faults, do(l.hotels[n-1], faultOf(n)))
		}
	}
	return errors.Join(faults...)
}

// note changes what views show.
func (s *stage) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// view returns what there is to see now.
func (s *stage) view() view {
	s.mu.Lock()
	v := view{
		number: s.number, again: s.again, script: s.script, clock: s.clock, now: s.clock.now(), outage: s.outage, ending: s.ending, past: slices.Clone(s.past),
		panelURL: s.gateway.panel(), pageURL: s.page.url(), events: s.gateway.transitions(s.clock.start), told: s.page.told.list(),
	}
	with, without := s.with.visits, s.without.visits
	s.mu.Unlock()
	v.with, v.without = viewOf(with.list(), v.now), viewOf(without.list(), v.now)
	v.with.hotels = rowsOf(func(n int) row {
		b := s.gateway.breakers[n-1].Stats()
		return guardedRow(b, lastTrip(v.events, b.Name), time.Now())
	})
	v.without.hotels = rowsOf(func(n int) row { return directRow(v.without.crowd, n, v.outage, v.now) })
	return v
}

// stand has the page stay as it is now: guests who are sent away, because it is over,
// would look as if all had become well.
func (s *stage) stand() {
	v := s.view()
	s.note(func() {
		if s.stands == nil {
			s.stands = &v
		}
	})
}

// onPage returns what the page shows.
func (s *stage) onPage() view {
	s.mu.Lock()
	stands := s.stands
	s.mu.Unlock()
	if stands != nil {
		return *stands
	}
	return s.view()
}

// rowsOf returns a row for each ill hotel and one for all the others.
func rowsOf(of func(number int) row) []row {
	var ill, well []row
	for n := 1; n <= hotelsPerLane; n++ {
		if faultOf(n) == NoFault {
			well = append(well, of(n))
		} else {
			ill = append(ill, of(n))
		}
	}
	return append(ill, othersRow(well))
}

// lastTrip returns the latest transition that took the dependency from passing
// to cut off, the zero value if there was none.
func lastTrip(events []recloser.Transition, name string) recloser.Transition {
	for _, t := range slices.Backward(events) {
		if t.Name == name && t.From == recloser.Closed && t.To == recloser.Open {
			return t
		}
	}
	return recloser.Transition{}
}
