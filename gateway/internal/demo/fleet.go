package demo

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/tempstore"
)

// FleetOptions says what a run with several gateways consists of, and how it is shown: as
// lines, whatever they are written on.
type FleetOptions struct {
	Paper
	Gateways int         // LeastGateways to MostGateways
	Store    string      // of tempstore.Kinds
	Script   FleetScript // default DefaultFleetScript
}

// How many gateways there may be. A quiet one and those two that it is to be told by are
// the least.
const (
	LeastGateways = 3
	MostGateways  = 4
)

// FleetScript says when the acts of a run with several gateways begin, counted from the
// first guest. Each lasts until the next one. Those that come after Length are not played.
type FleetScript struct {
	Hang      time.Duration // a hotel hangs
	Back      time.Duration // and is back
	Cut       time.Duration // one gateway is cut off from the store
	Isolate   time.Duration // an operator isolates a hotel there
	Heal      time.Duration // that gateway reaches the store again
	Kill      time.Duration // the store is killed
	HangAgain time.Duration // another hotel hangs
	Restart   time.Duration // the store is started again
	BackAgain time.Duration // that hotel is back
	Release   time.Duration // the operator's act is taken back, on another gateway
	Length    time.Duration // when the last guest has come
}

// DefaultFleetScript is the one that `recloser demo --fleet` plays.
func DefaultFleetScript() FleetScript {
	const s = time.Second
	return FleetScript{
		Hang: 6 * s, Back: 13 * s, Cut: 22 * s, Isolate: 24 * s, Heal: 27 * s, Kill: 36 * s,
		HangAgain: 38 * s, Restart: 47 * s, BackAgain: 60 * s, Release: 69 * s, Length: 74 * s,
	}
}

// FleetResult is what a run with several gateways found.
type FleetResult struct {
	Report FleetReport
	Kept   bool // as that of Result
}

// RunFleet plays the script and returns what it measured. When it returns, however it does,
// no process that it started is left, and no file. If ctx ends first, the error is its cause.
func RunFleet(ctx context.Context, o FleetOptions) (_ FleetResult, err error) {
	// As in Run.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if o.Script == (FleetScript{}) {
		o.Script = DefaultFleetScript()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	store, err := tempstore.New(ctx, o.Store)
	if err != nil {
		return FleetResult{}, causeOf(ctx, fmt.Errorf("demo: %w", err))
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := o.say("This takes %s. Starting %s, %d gateways and %d hotels, each a process of its own.",
		inSeconds(o.Script.Length), store.Kind(), o.Gateways, fleetHotels); err != nil {
		return FleetResult{}, err
	}
	s := &fleetStage{options: o, store: store}
	defer func() { err = errors.Join(err, s.tearDown()) }()
	defer cancel(nil) // first, so that nobody wonders why they end
	if err := s.setUp(ctx); err != nil {
		return FleetResult{}, causeOf(ctx, err)
	}
	s.watch(ctx, cancel)
	if err := s.introduce(); err != nil {
		return FleetResult{}, err
	}
	if err := s.play(ctx); err != nil {
		return FleetResult{}, causeOf(ctx, err)
	}
	report := s.report()
	promises := fleetChecks(report, o.Script)
	if err := o.write(fleetSummary{report, promises, o.width()}.lines()); err != nil {
		return FleetResult{}, err
	}
	return FleetResult{report, promises.kept()}, nil
}

// causeOf returns why ctx has ended if it has, as err is its consequence then.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// introduce says who takes part.
func (s *fleetStage) introduce() error {
	if err := s.options.say("They have met: what some of them see fail, all of them know, by the store. Each lets %d guests a second in, to one hotel after the other; every call asks the hotel. "+
		"%s is a quiet entrance: a guest of %s comes there every %s only.",
		fleetScansPerSecond, s.quiet().name, hotelID(hungTogether), inSeconds(quietEvery)); err != nil {
		return err
	}
	for _, n := range s.nodes {
		if err := s.options.say("The panel of %s, while the demo runs: %s", n.name, n.panel()); err != nil {
			return err
		}
	}
	return s.options.write([]line{nil})
}
