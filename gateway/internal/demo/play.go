package demo

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// playAll plays the script once, or again and again until ctx ends, and returns
// what there is to tell of the last time that it was played to its end.
func (s *stage) playAll(ctx context.Context, cancel context.CancelCauseFunc, o Options) (last summary, err error) {
	on := o.open()
	defer func() { err = errors.Join(err, on.close()) }()
	for {
		next, err := s.playOnce(ctx, cancel, o, on.show)
		switch {
		case err != nil && s.number > 1 && errors.Is(context.Cause(ctx), context.Canceled):
			return last, nil // told to stop, and there is something to tell
		case err != nil || !o.Again:
			return next, err
		}
		last = next
		last.number = s.number
		s.note(func() { s.past = append(s.past, outcomeOf(s.number, next.report)) })
		s.begin()
		o.Picture = nil // one is enough
	}
}

func (s *stage) playOnce(ctx context.Context, cancel context.CancelCauseFunc, o Options, show func(view) error) (summary, error) {
	books, err := s.play(ctx, cancel, o, show)
	if err != nil {
		return summary{}, err
	}
	report, err := s.report(ctx, books)
	return summary{
		report: report, script: s.script, outage: books.outage, messages: s.gateway.messages(s.clock.start), width: o.width(),
		promises: checks(report, s.script, letInWrongly(books.with)),
	}, err
}

// books is what is known about the guests when the script is over.
type books struct {
	with, without []visit
	outage        outage
	closed        time.Duration
}

// play sends the guests, lets the faults happen and shows it all.
func (s *stage) play(ctx context.Context, cancel context.CancelCauseFunc, o Options, show func(view) error) (books, error) {
	playing, end := context.WithCancel(ctx)
	struck := make(chan struct{})
	go func() {
		defer close(struck)
		if err := s.strike(playing); err != nil {
			cancel(err)
		}
	}()
	visiting, endVisits := context.WithCancel(context.WithoutCancel(ctx))
	left := make(chan struct{})
	go func() {
		defer close(left)
		sendGuests(playing, visiting, s.clock, s.script.Length, []*lane{&s.with, &s.without})
	}()
	err := s.show(ctx, o, show, left)
	end()
	<-struck
	s.stand()
	b := books{s.with.visits.list(), s.without.visits.list(), s.outage, s.clock.now()}
	endVisits()
	<-left
	return b, err
}

// show shows the run until all guests have left or the last of them had time to. If
// ctx ends, no more guests come, and that is its error.
func (s *stage) show(ctx context.Context, o Options, show func(view) error, left <-chan struct{}) error {
	frames := time.NewTicker(frame)
	defer frames.Stop()
	end := time.NewTimer(s.script.Length + leave)
	defer end.Stop()
	picture, stops := o.Picture, ctx.Done()
	for over := false; !over; {
		select {
		case <-frames.C:
		case <-left:
			over = true
		case <-end.C:
			over = true
		case <-stops:
			stops = nil
			s.note(func() { s.ending = true })
			s.stand()
			end.Reset(leave)
		}
		v := s.view()
		if err := show(v); err != nil {
			return err
		}
		if picture != nil && v.now >= s.script.FaultsUntil-pictureBefore {
			if err := drawPicture(picture, v); err != nil {
				return err
			}
			picture = nil
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("demo: stopped after %s: %w", tenths(s.clock.now()), context.Cause(ctx))
	}
	if picture != nil {
		return fmt.Errorf("demo: too short for a picture: it is drawn after %s", inSeconds(s.script.FaultsUntil-pictureBefore))
	}
	return nil
}

// report works out the figures.
func (s *stage) report(ctx context.Context, b books) (Report, error) {
	o := b.outage
	if o.lasts() { // a stopped hotel could not say what reached it
		if err := s.heal(); err != nil {
			return Report{}, err
		}
		s.clock.wait(ctx, s.clock.now()+leave) // for it to read what came meanwhile
		o.until = b.closed
	}
	var r Report
	for _, t := range s.gateway.transitions(s.clock.start) {
		r.Transitions = append(r.Transitions, newTransition(t, s.clock))
	}
	for _, l := range []struct {
		figures *Lane
		hotels  []*process
		book    []visit
	}{
		{&r.Lanes.Protected, s.with.hotels, b.with},
		{&r.Lanes.Unprotected, s.without.hotels, b.without},
	} {
		*l.figures = laneReport(l.book, b.outage, b.closed)
		if !o.begun {
			continue
		}
		for _, n := range illHotels() {
			reached, err := l.hotels[n-1].reached(ctx, s.clock.at(o.from), s.clock.at(o.until))
			if err != nil {
				return Report{}, err
			}
			h := l.figures.Hotels[hotelID(n)]
			h.CallsReached = reached
			l.figures.Hotels[hotelID(n)] = h
		}
	}
	return r, nil
}
