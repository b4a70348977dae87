package recloser

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/recloser-go/recloser/internal/defaults"
)

// Off switches a setting off where its comment says that it can be off. Every
// negative value does.
const Off = defaults.Off

// Config holds the settings of a breaker. The zero value of a field means its
// default, a negative value means off where off is listed.
type Config struct {
	// Name appears in errors, events and statistics. A Set fills in its key.
	Name string

	// Window is how far back the window reaches at least. Default 10 s, 100 ms to 1 h.
	Window time.Duration
	// MinCalls is how many judged calls the window holds at least, as far as
	// they are no older than 30 min; with fewer there is no verdict on rates.
	// Default 20, 1 to 1 000 000.
	MinCalls int
	// FailureRate is the share of bad calls in the window that trips. Default
	// 0.5, above 0 up to 1, or off. Steps of a millionth count.
	FailureRate float64
	// Consecutive is how many bad calls in a row trip. Default 5, 1 to 1 000, or off.
	Consecutive int
	// Spread is the time over which the bad calls that trip must have been
	// admitted: one burst of siblings is one event, not five. Default 0.3 s, but
	// off if Consecutive is set (also to off) and Spread is not. 1 ms to 1 min,
	// or off.
	Spread time.Duration
	// SlowCall is the time within which a call must be answered; a call that
	// is not is bad from that moment on, even if it ends well later (its caller
	// still gets the answer). If this process itself stands still, running calls
	// age as well, unless Clock is a coarse one: then a standstill ages nothing.
	// Default off, 1 ms to 1 h.
	SlowCall time.Duration
	// OpenFor is the first open time; it doubles with every failed recovery up
	// to MaxOpenFor. Defaults 5 s and 30 s (or OpenFor, if that is longer),
	// 1 ms to 1 h.
	OpenFor, MaxOpenFor time.Duration
	// Jitter spreads open times by that share up and down, never past
	// MaxOpenFor. Default 0.2, up to 0.5, or off.
	Jitter float64
	// ResetAfter is the calm time, closed and with good calls in it, after
	// which the doubling starts over. Default 60 s, 1 ms to 24 h.
	ResetAfter time.Duration
	// Trials is how many good trials reclose, and how many may run at once
	// after the first good one. Default 2, 1 to 100.
	Trials int
	// TrialTimeout is the lease of a trial that the slow rule does not judge:
	// when it is over, an unanswered trial is bad, an answered one is good, and
	// its slot is free. Default: twice the longest good call of the last closed
	// period, at least 10 s, doubled each time a trial ran out until one is
	// good. 1 ms to 24 h.
	TrialTimeout time.Duration
	// Ramp is the longest slow start after reclosing. Default 60 s, 1 ms to
	// 1 h, or off.
	Ramp time.Duration
	// RetryAfterMax caps the time that a dependency names itself, see
	// WaitError. Default 60 s, 1 ms to 24 h, or off: the hint is ignored.
	RetryAfterMax time.Duration
	// CancelOnTrip lets a trip cancel the calls that are admitted and not yet
	// answered. Do then makes a context for each call, and takes a lock.
	CancelOnTrip bool

	// Shadow lets every call pass, whatever the rules say: the breaker trips and
	// recloses and tells its listeners, but refuses and releases nobody. Use it to
	// try settings on real traffic. An operator's Isolate still refuses.
	Shadow bool

	// HoldSuspicion is asked when the breaker is about to trip by suspicion, see
	// Breaker.SetSuspect; if it says true, the trip waits, and it is asked again with
	// the calls that end and every 50 ms. Such as where so many dependencies
	// seem to hang that it may be our own network. Trips that need no suspicion
	// do not ask. It is called with the breaker's lock held, so it must be quick and
	// must not use the breaker. A panic in it counts as false. Default: no
	// trip waits.
	HoldSuspicion func() bool

	// Clock is what the breaker reads the time from: a coarse one that many
	// breakers share, or one of a test. Default: the machine's own clock.
	Clock *Clock

	// Classify says what an error means. It is asked for every error that is
	// not nil, not a cancellation or deadline of the caller and not a
	// WaitError; Default leaves it to the breaker. A panic in it counts as
	// Default. It must be safe for concurrent use.
	Classify func(error) Outcome
}

// The limits of times that have no range of their own.
const (
	maxWindowAge = 30 * time.Minute
	maxOpenLimit = time.Hour
)

// WithDefaults returns c as a breaker made from it uses it: every zero field
// replaced by its default, every field that is off set to Off. Name, CancelOnTrip,
// Shadow, HoldSuspicion, Clock and Classify stay as they are, and TrialTimeout stays 0 as it is
// worked out anew each time.
func (c Config) WithDefaults() Config {
	if c.Spread == 0 && c.Consecutive != 0 {
		c.Spread = Off
	}
	defaults.Fill(&c.Window, 10*time.Second)
	defaults.Fill(&c.MinCalls, 20)
	defaults.Fill(&c.FailureRate, 0.5)
	defaults.Fill(&c.Consecutive, 5)
	defaults.Fill(&c.Spread, 300*time.Millisecond)
	defaults.Fill(&c.SlowCall, Off)
	defaults.Fill(&c.OpenFor, 5*time.Second)
	defaults.Fill(&c.MaxOpenFor, max(30*time.Second, c.OpenFor))
	defaults.Fill(&c.Jitter, 0.2)
	defaults.Fill(&c.ResetAfter, time.Minute)
	defaults.Fill(&c.Trials, 2)
	defaults.Fill(&c.Ramp, time.Minute)
	defaults.Fill(&c.RetryAfterMax, time.Minute)
	return c
}

// Validate reports everything that is wrong with c, joined; nil if nothing is.
// Each fault is a *FieldError.
func (c Config) Validate() error {
	d := c.WithDefaults()
	var faults []error
	check := func(ok bool, field string, value any, rule string) {
		if !ok {
			faults = append(faults, &FieldError{Field: field, Value: value, Rule: rule})
		}
	}
	between := func(field string, v, low, high time.Duration, canBeOff bool) {
		ok, rule := defaults.Between(v, low, high, canBeOff)
		check(ok, field, v, rule)
	}

	between("Window", c.Window, 100*time.Millisecond, time.Hour, false)
	check(d.MinCalls >= 1 && d.MinCalls <= 1e6, "MinCalls", c.MinCalls, "must be from 1 to 1000000")
	check(d.FailureRate >= 1e-6 && d.FailureRate <= 1 || d.FailureRate == Off, "FailureRate", c.FailureRate,
		"must be above 0 (at least a millionth) and at most 1, or off")
	check(d.Consecutive <= 1000, "Consecutive", c.Consecutive, "must be from 1 to 1000, or off")
	between("Spread", c.Spread, time.Millisecond, time.Minute, true)
	between("SlowCall", c.SlowCall, time.Millisecond, time.Hour, true)
	if c.Clock != nil && !c.Clock.manual {
		check(c.Clock.tick > 0, "Clock", "zero", "must come from StartClock or NewManualClock")
		check(d.SlowCall < 0 || d.SlowCall >= 4*c.Clock.tick, "SlowCall", c.SlowCall, "must be at least four ticks of the Clock")
	}
	between("OpenFor", c.OpenFor, time.Millisecond, maxOpenLimit, false)
	between("MaxOpenFor", c.MaxOpenFor, time.Millisecond, maxOpenLimit, false)
	check(d.MaxOpenFor < 0 || d.MaxOpenFor >= d.OpenFor, "MaxOpenFor", c.MaxOpenFor, fmt.Sprintf("must be at least OpenFor (%s)", defaults.Short(d.OpenFor)))
	check(d.Jitter <= 0.5 && !math.IsNaN(d.Jitter), "Jitter", c.Jitter, "must be above 0 and at most 0.5, or off")
	between("ResetAfter", c.ResetAfter, time.Millisecond, 24*time.Hour, false)
	check(d.Trials >= 1 && d.Trials <= 100, "Trials", c.Trials, "must be from 1 to 100")
	between("TrialTimeout", c.TrialTimeout, time.Millisecond, 24*time.Hour, false)
	between("Ramp", c.Ramp, time.Millisecond, time.Hour, true)
	between("RetryAfterMax", c.RetryAfterMax, time.Millisecond, 24*time.Hour, true)
	return errors.Join(faults...)
}

// FieldError says which field of a Config is wrong and what it must be.
type FieldError struct {
	Field string // as in Config, such as "OpenFor"
	Value any    // what it was
	Rule  string // what it must be
}

// Error returns one line: the field, its value, the rule.
func (e *FieldError) Error() string {
	return fmt.Sprintf("recloser: %s %v: %s", e.Field, e.Value, e.Rule)
}
