package recloser

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/vtime"
)

// openFor is the open time of the cases that do not name one.
const openFor = 100 * time.Millisecond

// errDown is what a dependency says that is down.
var errDown = errors.New("down")

// strict are the settings of the cases that do not say otherwise.
func strict() Config {
	return Config{Name: "hotel-7", Consecutive: 1, OpenFor: openFor, Jitter: Off, Trials: 1, Ramp: Off}
}

// byRate are the settings of the cases that speak of rates.
func byRate(minCalls int) Config {
	cfg := strict()
	cfg.Consecutive, cfg.MinCalls = Off, minCalls
	return cfg
}

// sim is a breaker on virtual time: a single goroutine runs thousands of calls that
// overlap.
type sim struct {
	testing.TB
	b       *Breaker
	ticks   ticks
	virtual *vtime.Virtual // moves ticks
	heard   chan Transition
	kept    []Transition
}

func newSim(t testing.TB, cfg Config) *sim {
	t.Helper()
	s := &sim{TB: t, ticks: newTicks(), virtual: vtime.NewVirtual(epoch), heard: make(chan Transition, maxQueue)}
	s.virtual.OnMove(s.ticks.Advance)
	b, err := New(s.ticks.on(cfg))
	if err != nil {
		t.Fatal(err)
	}
	b.Subscribe(func(e Transition) { s.heard <- e })
	s.b = b
	return s
}

// newTripped returns a breaker that has just tripped.
func newTripped(t testing.TB, cfg Config) *sim {
	t.Helper()
	s := newSim(t, cfg)
	s.fail()
	s.mustBe(Open)
	return s
}

// newHalfOpen returns a breaker that awaits its first trial.
func newHalfOpen(t testing.TB, cfg Config) *sim {
	t.Helper()
	s := newTripped(t, cfg)
	s.advance(s.b.Stats().OpenFor)
	s.mustBe(HalfOpen)
	return s
}

// epoch is when the clocks of the tests begin.
var epoch = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// ticks is a clock in the hands of a test, read and set in nanoseconds.
type ticks struct{ *Clock }

func newTicks() ticks                { return ticks{NewManualClock(epoch)} }
func (t ticks) on(cfg Config) Config { cfg.Clock = t.Clock; return cfg }
func (t ticks) Load() int64          { return t.now() }
func (t ticks) Add(d int64)          { t.Advance(time.Duration(d)) }
func (t ticks) Store(at int64)       { t.Advance(time.Duration(at - t.now())) }

func (s *sim) now() time.Duration { return time.Duration(s.ticks.Load()) }

// advance moves the clock only.
func (s *sim) advance(d time.Duration) { s.virtual.Stall(d) }

// after has do happen in d.
func (s *sim) after(d time.Duration, do func()) { s.virtual.After(d, do) }

// every does something now and at each interval, for as long as the sim runs.
func (s *sim) every(interval time.Duration, do func()) {
	s.after(0, func() {
		do()
		s.after(interval, func() { s.every(interval, do) })
	})
}

// checked has a ticker call Check, as the gateway does.
func (s *sim) checked() *sim {
	s.every(50*time.Millisecond, s.b.Check)
	return s
}

// run lets virtual time pass for d, and everything happen that is due in it.
func (s *sim) run(d time.Duration) { s.virtual.Run(d) }

// load counts what became of offered calls.
type load struct {
	offered, reached, refused, good, bad, running int
	firstRefused, lastRefused                     time.Duration // when; -1: nobody was
}

// offer has a call come each interval for d. serve says of each that is let
// through how long it takes and how it ends.
func (s *sim) offer(interval, d time.Duration, serve func() (took time.Duration, err error)) *load {
	l := &load{firstRefused: -1, lastRefused: -1}
	end := s.now() + d
	var next func()
	next = func() {
		l.offered++
		s.send(l, serve)
		if s.now()+interval < end {
			s.after(interval, next)
		}
	}
	s.after(0, next)
	return l
}

func (s *sim) send(l *load, serve func() (took time.Duration, err error)) {
	p, err := s.b.Allow(s.Context())
	if err != nil {
		if l.refused++; l.refused == 1 {
			l.firstRefused = s.now()
		}
		l.lastRefused = s.now()
		return
	}
	l.reached++
	l.running++
	took, err := serve()
	s.after(took, func() {
		l.running--
		if err == nil {
			l.good++
		} else {
			l.bad++
		}
		p.Done(err)
	})
}

// ok makes a call that ends well at once.
func (s *sim) ok() {
	s.Helper()
	if err := s.b.Do(s.Context(), func(context.Context) error { return nil }); err != nil {
		s.Fatalf("at %s: %v", s.now(), err)
	}
}

// fail makes a call that fails at once.
func (s *sim) fail() {
	s.Helper()
	if err := s.b.Do(s.Context(), func(context.Context) error { return errDown }); !errors.Is(err, errDown) {
		s.Fatalf("at %s: the call gave %v, not the function's error", s.now(), err)
	}
}

// allow admits a call.
func (s *sim) allow() *Permit {
	s.Helper()
	p, err := s.b.Allow(s.Context())
	if err != nil {
		s.Fatalf("at %s: not admitted: %v", s.now(), err)
	}
	return &p
}

// trial admits a call that must be a trial.
func (s *sim) trial() *Permit {
	s.Helper()
	p := s.allow()
	if !p.Trial() {
		s.Fatalf("at %s: admitted, but not as a trial: %s", s.now(), s.b.Explain())
	}
	return p
}

// allowed admits n calls at once.
func (s *sim) allowed(n int) []*Permit {
	s.Helper()
	calls := make([]*Permit, n)
	for i := range calls {
		calls[i] = s.allow()
	}
	return calls
}

func (s *sim) mustRefuse(reason Reason) {
	s.Helper()
	_ = s.refusal(reason)
}

// refusal makes a call that must be refused, and returns its error.
func (s *sim) refusal(reason Reason) *OpenError {
	s.Helper()
	err := s.b.Do(s.Context(), func(context.Context) error {
		s.Errorf("at %s: a call ran that should be refused (%s)", s.now(), reason)
		return nil
	})
	var open *OpenError
	if !errors.As(err, &open) || !errors.Is(err, ErrOpen) {
		s.Fatalf("at %s: got %v, want an *OpenError", s.now(), err)
	}
	if open.Reason != reason {
		s.Fatalf("at %s: refused for %q, want %q", s.now(), open.Reason, reason)
	}
	if left := open.RetryAfter(); left < 0 {
		s.Fatalf("at %s: %s left", s.now(), left)
	}
	return open
}

func (s *sim) mustBe(want State) {
	s.Helper()
	if got := s.b.State(); got != want {
		s.Fatalf("at %s: %s, want %s: %s", s.now(), got, want, s.b.Explain())
	}
}

// mustHave compares the window.
func (s *sim) mustHave(want Counts) {
	s.Helper()
	if got := s.b.Stats().Window; got != want {
		s.Fatalf("at %s: window %+v, want %+v", s.now(), got, want)
	}
}

// transitions returns all that the listener was told, once it was told all.
func (s *sim) transitions() []Transition {
	s.Helper()
	late := time.After(10 * time.Second)
	for seq := s.b.Stats().Seq; len(s.kept) == 0 || s.kept[len(s.kept)-1].Seq < seq; {
		if seq == 0 {
			return nil
		}
		select {
		case e := <-s.heard:
			s.kept = append(s.kept, e)
		case <-late:
			s.Fatalf("the listener was told %d of %d transitions", len(s.kept), seq)
		}
	}
	return s.kept
}

// trips returns the transitions to open.
func (s *sim) trips() (trips []Transition) {
	s.Helper()
	for _, e := range s.transitions() {
		if e.To == Open {
			trips = append(trips, e)
		}
	}
	return trips
}

// mustTrip wants exactly one transition, to open, and returns it.
func (s *sim) mustTrip(reason Reason) Transition {
	s.Helper()
	all := s.transitions()
	if len(all) != 1 || all[0].To != Open || all[0].Reason != reason {
		s.Fatalf("at %s: transitions %+v, want one to open for %q; %s", s.now(), all, reason, s.b.Explain())
	}
	return all[0]
}

// at returns when a transition was, on the sim's clock.
func (s *sim) at(e Transition) time.Duration { return e.At.Sub(epoch) }

func mustEqual[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
