package recloser_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// rig is a breaker on virtual time.
type rig struct {
	*testing.T
	b     *recloser.Breaker
	clock *recloser.Clock
}

var errDown = errors.New("down")

func newRig(t *testing.T, cfg recloser.Config) *rig {
	t.Helper()
	cfg.Clock = recloser.NewManualClock(time.Unix(0, 0))
	b, err := recloser.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{T: t, b: b, clock: cfg.Clock}
}

// call makes a call that ends at once, and reports whether it was let through.
func (r *rig) call(bad bool) bool {
	err := r.b.Do(context.Background(), func(context.Context) error {
		if bad {
			return errDown
		}
		return nil
	})
	return !errors.Is(err, recloser.ErrOpen)
}

// steady makes calls with an even share of bad ones, until it trips, and returns
// how long that took.
func (r *rig) steady(share float64, gap time.Duration, calls int) time.Duration {
	began, due := r.clock.Now(), 0.5
	for i := 0; i < calls && r.b.State() == recloser.Closed; i++ {
		r.clock.Advance(gap)
		due += share
		bad := due > 1-1e-9
		if bad {
			due--
		}
		r.call(bad)
	}
	return r.clock.Now().Sub(began)
}

func within(t *testing.T, what string, got, formula, low, high float64) {
	t.Helper()
	if got < low*formula || got > high*formula {
		t.Errorf("%s: got %.4g, the formula says %.4g", what, got, formula)
	}
}

func percent(p float64) string { return fmt.Sprintf("%.4g %%", 100*p) }

// number writes a large number in words.
func number(n float64) string {
	units := []struct {
		size float64
		name string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}, {1e3, "thousand"}}
	if n >= 1e15 {
		return "never"
	}
	for _, u := range units {
		if n >= 10*u.size || n >= u.size && u.size > 1e3 {
			return twoDigits(n/u.size) + " " + u.name
		}
	}
	return twoDigits(n)
}

// long writes a time in the unit that suits it.
func long(seconds float64) string {
	units := []struct {
		size float64
		name string
	}{{365.25 * 86400, "years"}, {86400, "days"}, {3600, "h"}, {60, "min"}}
	for _, u := range units {
		switch n := seconds / u.size; {
		case n >= 1e6:
			return "never"
		case n >= 2:
			return twoDigits(n) + " " + u.name
		}
	}
	return twoDigits(seconds) + " s"
}

func twoDigits(n float64) string {
	if n >= 100 {
		size := math.Pow(10, math.Floor(math.Log10(n))-1)
		s := []byte(fmt.Sprintf("%.0f", math.Round(n/size)*size))
		for i := len(s) - 3; i > 0; i -= 3 {
			s = slices.Insert(s, i, ' ')
		}
		return string(s)
	}
	return fmt.Sprintf("%.2g", n)
}
