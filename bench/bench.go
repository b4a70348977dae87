// Package bench compares Recloser with other circuit breakers for Go.
//
//	go run ./cmd/ratios [-quick] [-only REGEXP]   one interleaved run, tables of ratios
//	go test -bench . -count 10                    ordinary benchmarks, for benchstat
//	make bench-fleet                              several nodes, see folder fleet
//
// It is a module of its own so that nobody who uses Recloser sees the rivals.
package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What every peer is set to, as far as it has the setting: 50 % bad calls of at
// least 20 in the last 10 s, or 5 bad calls in a row where that is the only rule;
// and an open time that outlasts the run.
const (
	window   = 10 * time.Second
	minCalls = 20
	rate     = 0.5
	inARow   = 5
	openFor  = time.Hour
)

// Breaker is one breaker around a trivial function.
type Breaker interface {
	Succeed() error // one call that ends well; an error only if it was refused
	Fail() error    // one call that fails with ErrWork, or is refused
}

// ErrWork is the failure of the function that the breakers protect.
var ErrWork = errors.New("work failed")

// Peer is a library, driven in one way.
type Peer struct {
	Name       string
	Rule       string // its settings in words
	RateWindow bool   // a rival that judges a rate over a time window, as Recloser does
	Sheds      bool   // it refuses by chance: nearly all calls, and never all for certain
	Refusal    error  // what errors.Is finds in a refusal; nil: there is no breaker in it
	Keys       int    // how many breakers New makes, one for each key; 0: just one
	New        func() Breaker
}

// Group is a set of peers that do the same work.
type Group struct {
	Name  string
	Peers []Peer
}

// Open returns a breaker that refuses.
func (p Peer) Open() (Breaker, error) {
	b := p.New()
	for start := time.Now(); time.Since(start) < 5*time.Second; {
		if !errors.Is(b.Fail(), p.Refusal) {
			continue
		}
		if p.Sheds { // the longer the history, the fewer get through
			for range 20_000 {
				_ = b.Fail()
			}
		}
		return b, nil
	}
	return nil, fmt.Errorf("%s does not open", p.Name)
}

// behaves says whether so many refusals among calls are what a breaker in
// that state gives.
func (p Peer) behaves(open bool, calls, refused int) bool {
	switch {
	case !open:
		return refused == 0
	case p.Sheds:
		return refused >= calls*9/10
	default:
		return refused == calls
	}
}

func succeed() error                          { return nil }
func fail() error                             { return ErrWork }
func succeedContext(context.Context) error    { return nil }
func failContext(context.Context) error       { return ErrWork }
func succeedWithValue() (v struct{}, _ error) { return v, nil }
func failWithValue() (v struct{}, _ error)    { return v, ErrWork }

// must is for settings of this package's own.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
