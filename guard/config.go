package guard

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/defaults"
)

// Config holds the settings of a guard. The zero value of a field means its
// default, a negative value means off. The zero Config is a breaker with its
// defaults and nothing around it.
type Config struct {
	// Breaker is the breaker in the middle. Its Name is the guard's name.
	Breaker recloser.Config
	// Timeout is for the whole call: the wait for the bulkhead, all attempts, and
	// the waits between them. Default off, 1 ms to 24 h.
	Timeout time.Duration
	// AttemptTimeout is for each attempt. Default off, 1 ms to Timeout.
	AttemptTimeout time.Duration
	// RateLimit bounds how many calls start in a second.
	RateLimit RateLimit
	// Bulkhead bounds how many calls run at once.
	Bulkhead Bulkhead
	// Retry says what happens to a call that failed.
	Retry Retry
}

// RateLimit is a token bucket that refuses the calls for which it has no token.
// A token is spent by each call that reached the dependency, and by no other.
type RateLimit struct {
	// Rate is how many calls start in a second. Default off, above 0 up to a million.
	Rate float64
	// Burst is how many start at once after a pause. Default Rate, rounded up; 1
	// to a million.
	Burst int
}

// Bulkhead keeps a dependency that hangs from taking all of your process with
// it: no more than Max calls run at once, with all their attempts. With Min below
// Max it also finds out how many calls the dependency can take.
type Bulkhead struct {
	// Max is how many calls run at once. Default off, 1 to a million.
	Max int
	// Min lets the limit adapt: it starts at Min and moves between that and Max,
	// up while calls take no longer than usual, down when they queue or fail. Give
	// it a value that is safely below what the dependency takes: what calls take
	// there is what is usual. Default Max, which is a limit that stays; from 1.
	Min int
	// Wait is how long a call waits for one of the others to end. Default off:
	// it is refused at once. 1 ms to 1 h.
	Wait time.Duration
	// Queue is how many wait at most. Default Max, 1 to a million.
	Queue int
}

// Retry says when a failed call is tried again. Refusals are not, nor a call
// whose caller gave up, a trial of the breaker, or anything once the breaker is
// open.
type Retry struct {
	// Attempts is how often a call is tried in all. Default 1, which is off; up
	// to 20.
	Attempts int
	// Unmarked retries all calls, and not only those marked Idempotent.
	Unmarked bool
	// Backoff is the longest wait before the second attempt; it doubles with
	// every further one up to MaxBackoff. The wait is evenly spread from zero to
	// that, and comes on top of the time that a recloser.WaitError names. A call
	// for which that time is over MaxBackoff is not retried, nor one whose next
	// wait does not end before its deadline. Defaults 100 ms and 10 s (or
	// Backoff, if that is longer), 1 ms to 1 h.
	Backoff, MaxBackoff time.Duration
	// Budget is how many retries each call earns for all, so that an outage
	// cannot multiply the load. Up to 100 are saved. Default 0.1, up to 10, or
	// off: there is no budget.
	Budget float64
	// Floor is how many retries a second the budget earns without any call; it
	// starts with ten seconds of it. Default 1, up to 10, or off.
	Floor float64
	// If says which errors are worth another attempt; nil means all. A panic in
	// it is one of the call. It must be safe for concurrent use.
	If func(error) bool
}

// savedRetries is how many retries the budget saves at most.
const savedRetries = 100

// WithDefaults returns c as a guard made from it uses it: every zero field
// replaced by its default, every field that is off set to recloser.Off.
func (c Config) WithDefaults() Config {
	c.Breaker = c.Breaker.WithDefaults()
	defaults.Fill(&c.Timeout, recloser.Off)
	defaults.Fill(&c.AttemptTimeout, recloser.Off)
	defaults.Fill(&c.RateLimit.Rate, recloser.Off)
	defaults.Fill(&c.RateLimit.Burst, max(1, int(math.Ceil(min(c.RateLimit.Rate, 1e6)))))
	defaults.Fill(&c.Bulkhead.Max, recloser.Off)
	if c.Bulkhead.Min <= 0 {
		c.Bulkhead.Min = c.Bulkhead.Max
	}
	defaults.Fill(&c.Bulkhead.Wait, recloser.Off)
	defaults.Fill(&c.Bulkhead.Queue, c.Bulkhead.Max)
	defaults.Fill(&c.Retry.Attempts, 1)
	if c.Retry.Attempts < 0 {
		c.Retry.Attempts = 1
	}
	defaults.Fill(&c.Retry.Backoff, 100*time.Millisecond)
	defaults.Fill(&c.Retry.MaxBackoff, max(10*time.Second, c.Retry.Backoff))
	defaults.Fill(&c.Retry.Budget, 0.1)
	defaults.Fill(&c.Retry.Floor, 1)
	return c
}

// Validate reports everything that is wrong with c, joined; nil if nothing is.
// Each fault is a *recloser.FieldError; those of the breaker have the names
// that they have there.
func (c Config) Validate() error {
	d := c.WithDefaults()
	faults := []error{c.Breaker.Validate()}
	check := func(ok bool, field string, value any, rule string) {
		if !ok {
			faults = append(faults, &recloser.FieldError{Field: field, Value: value, Rule: rule})
		}
	}
	between := func(field string, v, low, high time.Duration, canBeOff bool) {
		ok, rule := defaults.Between(v, low, high, canBeOff)
		check(ok, field, v, rule)
	}
	// share is true of no NaN.
	share := func(v, high float64) bool { return v == recloser.Off || v > 0 && v <= high }

	between("Timeout", c.Timeout, time.Millisecond, 24*time.Hour, true)
	between("AttemptTimeout", c.AttemptTimeout, time.Millisecond, 24*time.Hour, true)
	check(d.Timeout < 0 || d.AttemptTimeout <= d.Timeout, "AttemptTimeout", c.AttemptTimeout, fmt.Sprintf("must be at most Timeout (%s)", defaults.Short(d.Timeout)))
	check(share(d.RateLimit.Rate, 1e6), "RateLimit.Rate", c.RateLimit.Rate, "must be above 0 and at most 1000000 a second, or off")
	check(d.RateLimit.Burst >= 1 && d.RateLimit.Burst <= 1e6, "RateLimit.Burst", c.RateLimit.Burst, "must be from 1 to 1000000")
	check(d.Bulkhead.Max <= 1e6, "Bulkhead.Max", c.Bulkhead.Max, "must be from 1 to 1000000, or off")
	check(d.Bulkhead.Min <= d.Bulkhead.Max, "Bulkhead.Min", c.Bulkhead.Min, "must be from 1 to Bulkhead.Max")
	between("Bulkhead.Wait", c.Bulkhead.Wait, time.Millisecond, time.Hour, true)
	check(d.Bulkhead.Max < 0 || d.Bulkhead.Queue >= 1 && d.Bulkhead.Queue <= 1e6, "Bulkhead.Queue", c.Bulkhead.Queue, "must be from 1 to 1000000")
	check(d.Retry.Attempts <= 20, "Retry.Attempts", c.Retry.Attempts, "must be from 1 to 20, or off")
	between("Retry.Backoff", c.Retry.Backoff, time.Millisecond, time.Hour, false)
	between("Retry.MaxBackoff", c.Retry.MaxBackoff, time.Millisecond, time.Hour, false)
	check(d.Retry.MaxBackoff < 0 || d.Retry.MaxBackoff >= d.Retry.Backoff, "Retry.MaxBackoff", c.Retry.MaxBackoff,
		fmt.Sprintf("must be at least Backoff (%s)", defaults.Short(d.Retry.Backoff)))
	check(share(d.Retry.Budget, 10), "Retry.Budget", c.Retry.Budget, "must be above 0 and at most 10, or off")
	check(share(d.Retry.Floor, 10), "Retry.Floor", c.Retry.Floor, "must be above 0 and at most 10 a second, or off")
	return errors.Join(faults...)
}
