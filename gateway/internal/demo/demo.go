package demo

import (
	"context"
	"io"
	"runtime"
	"slices"
	"time"
)

// Options says how a run is shown. Where Paper has no Size it is shown as plain
// lines, else live.
type Options struct {
	Paper
	Script Script // default DefaultScript
	// Again plays the script again and again until ctx ends. The run is then the
	// last one that was played to its end.
	Again bool
	// Opened is called once there is something to see, with the address of the
	// gateway's panel and that of the page with both ways. nil: nobody needs to know.
	Opened func(panel, page string)
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
// it does, no process that it started is left. If ctx ends before the script
// was played to its end once, the error is its cause.
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
	if err := o.say("%s. Starting two times %d hotels, each a process of its own, and a gateway in front of one dozen.",
		o.length(), hotelsPerLane); err != nil {
		return Result{}, err
	}
	s, err := setUp(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // the rest is its consequence
		}
		return Result{}, err
	}
	defer s.tearDown()
	defer cancel(nil) // first, so that nobody wonders why the hotels end
	s.begin()
	s.page.serve(s.onPage)
	if err := o.welcome(s); err != nil {
		return Result{}, err
	}
	watchHotels(ctx, slices.Concat(s.with.hotels, s.without.hotels), cancel)
	last, err := s.playAll(ctx, cancel, o)
	if err != nil {
		return Result{}, err
	}
	if err := o.write(last.lines()); err != nil {
		return Result{}, err
	}
	return Result{last.report, last.promises.kept()}, nil
}

// length says how long it takes.
func (o Options) length() string {
	if o.Again {
		return "An outage every " + inSeconds(o.Script.Length) + " until Ctrl-C"
	}
	return "This takes " + inSeconds(o.Script.Length)
}

// welcome says where people look.
func (o Options) welcome(s *stage) error {
	err := o.write([]line{
		{{"Its panel:  ", plain}, {s.gateway.panel(), bold}},
		{{"Both ways:  ", plain}, {s.page.url(), bold}},
		nil,
	})
	if err == nil && o.Opened != nil {
		o.Opened(s.gateway.panel(), s.page.url())
	}
	return err
}

// shown is where a run is shown.
type shown struct {
	show  func(view) error
	close func() error
}

// open returns where views are shown: on the terminal, or as plain lines.
func (o Options) open() shown {
	style := o.style()
	if o.Size == nil {
		return shown{(&journal{out: o.Out, style: style}).show, func() error { return nil }}
	}
	t := &terminal{out: o.Out, style: style, size: o.Size}
	return shown{t.show, t.close}
}
