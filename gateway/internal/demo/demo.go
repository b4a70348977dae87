package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// Options says how a run is shown. Only Out is needed.
type Options struct {
	Script Script    // default DefaultScript
	Out    io.Writer // for the view, or the lines, and the summary
	// Size returns the size of the terminal behind Out, to show the run live.
	// nil: plain lines.
	Size   func() (width, height int)
	Colour bool
	ASCII  bool
	// Picture gets what a screen shows when most guests wait, as SVG. nil: none
	// is drawn.
	Picture io.Writer
}

// Result is what a run found.
type Result struct {
	Report Report
	Kept   bool // everything that must hold did, as far as the run was long enough to tell
}

const (
	frame = time.Second / 5
	// leave is how long the last guests may take to leave before the book is
	// closed; those who still wait then are counted as waiting.
	leave = time.Second
)

// Run plays the script and returns what it measured. When it returns, however
// it does, no process that it started is left. If ctx ends first, the error is
// its cause.
func Run(ctx context.Context, o Options) (Result, error) {
	// A hotel is killed when the thread that started it ends (see
	// startHotels), so this one must not be anybody else's.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if o.Script == (Script{}) {
		o.Script = DefaultScript()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := o.say("This takes %s. Starting two times %d hotels, each a process of its own, and a gateway in front of one dozen.",
		inSeconds(o.Script.Length), hotelsPerLane); err != nil {
		return Result{}, err
	}
	s, err := setUp(ctx, o.Script)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // the rest is its consequence
		}
		return Result{}, err
	}
	defer s.tearDown()
	defer cancel(nil) // first, so that nobody wonders why the hotels end
	if err := errors.Join(o.say("Its panel, while the demo runs: %s", s.gateway.panel()), o.write([]line{nil})); err != nil {
		return Result{}, err
	}
	books, err := s.play(ctx, cancel, o)
	if err != nil {
		return Result{}, err
	}
	report, err := s.report(ctx, books)
	if err != nil {
		return Result{}, err
	}
	promises := checks(report, o.Script, letInWrongly(books.with))
	sum := summary{report, o.Script, books.outage, promises, s.gateway.messages(), o.width()}
	if err := o.write(sum.lines()); err != nil {
		return Result{}, err
	}
	kept := !slices.ContainsFunc(promises, func(c check) bool { return c.verdict == broken })
	return Result{report, kept}, nil
}

// say writes a sentence that is not part of the view.
func (o Options) say(format string, values ...any) error {
	return o.write(paragraph(nil, fmt.Sprintf(format, values...), plain, o.width()))
}

func (o Options) write(lines []line) error {
	style := style{o.Colour, o.ASCII}
	for _, l := range lines {
		if _, err := fmt.Fprintln(o.Out, style.encode(l)); err != nil {
			return err
		}
	}
	return nil
}

// width is how wide text may be.
func (o Options) width() int {
	if o.Size == nil {
		return summaryWidth
	}
	width, _ := o.Size()
	return min(width-1, summaryWidth)
}

// books is what is known about the guests when the script is over.
type books struct {
	with, without []visit
	outage        outage
	closed        time.Duration
}

// play sends the guests, lets the faults happen and shows it all.
func (s *stage) play(ctx context.Context, cancel context.CancelCauseFunc, o Options) (books, error) {
	s.clock = clock{time.Now()}
	s.watch(ctx, cancel)
	go func() {
		if err := s.strike(ctx); err != nil {
			cancel(err)
		}
	}()
	visiting, endVisits := context.WithCancel(ctx)
	left := make(chan struct{})
	go func() {
		defer close(left)
		sendGuests(visiting, s.clock, s.script.Length, []*lane{&s.with, &s.without})
	}()
	err := s.show(ctx, o, left)
	b := books{s.with.visits.list(), s.without.visits.list(), s.outageNow(), s.clock.now()}
	endVisits()
	<-left
	return b, err
}

// show shows the run until all guests have left or the last of them had time to.
func (s *stage) show(ctx context.Context, o Options, left <-chan struct{}) (err error) {
	style := style{o.Colour, o.ASCII}
	show := (&journal{out: o.Out, style: style}).show
	if o.Size != nil {
		t := &terminal{out: o.Out, style: style, size: o.Size}
		defer func() { err = errors.Join(err, t.close()) }()
		show = t.show
	}
	frames := time.NewTicker(frame)
	defer frames.Stop()
	end := time.NewTimer(s.script.Length + leave)
	defer end.Stop()
	picture := o.Picture
	for over := false; !over; {
		select {
		case <-frames.C:
		case <-left:
			over = true
		case <-end.C:
			over = true
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // whatever else came first: guests leave at once then
			return fmt.Errorf("demo: stopped after %s: %w", tenths(s.clock.now()), context.Cause(ctx))
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
	for _, t := range s.gateway.transitions() {
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
