package scenario

import (
	"errors"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// settings are what a scenario runs with.
type settings struct {
	guard guard.Config
	exact bool // the clock
	seed  int

	suspect time.Duration // limit; 0: none
}

// setting ties a key to a field.
type setting struct {
	key, field string // field: as a recloser.FieldError names it
	to         any    // *time.Duration, *int, *float64, *bool, *string or clock
	canBeOff   bool
}

// clock is the value of the key clock.
type clock struct{ exact *bool }

func settingsOf(s *settings) []setting {
	own := []setting{
		{"clock", "", clock{&s.exact}, false},
		{"seed", "", &s.seed, false},
		{"suspect", "", &s.suspect, true},
	}
	return slices.Concat(own, breakerSettings(&s.guard.Breaker), guardSettings(&s.guard))
}

func breakerSettings(b *recloser.Config) []setting {
	return []setting{
		{"name", "Name", &b.Name, false},
		{"window", "Window", &b.Window, false},
		{"min_calls", "MinCalls", &b.MinCalls, false},
		{"failure_rate", "FailureRate", &b.FailureRate, true},
		{"consecutive", "Consecutive", &b.Consecutive, true},
		{"spread", "Spread", &b.Spread, true},
		{"slow_call", "SlowCall", &b.SlowCall, true},
		{"open_for", "OpenFor", &b.OpenFor, false},
		{"max_open_for", "MaxOpenFor", &b.MaxOpenFor, false},
		{"jitter", "Jitter", &b.Jitter, true},
		{"reset_after", "ResetAfter", &b.ResetAfter, false},
		{"retry_after_max", "RetryAfterMax", &b.RetryAfterMax, true},
		{"trials", "Trials", &b.Trials, false},
		{"trial_timeout", "TrialTimeout", &b.TrialTimeout, false},
		{"ramp", "Ramp", &b.Ramp, true},
		{"cancel_on_trip", "CancelOnTrip", &b.CancelOnTrip, false},
		{"shadow", "Shadow", &b.Shadow, false},
	}
}

func guardSettings(g *guard.Config) []setting {
	return []setting{
		{"timeout", "Timeout", &g.Timeout, true},
		{"attempt_timeout", "AttemptTimeout", &g.AttemptTimeout, true},
		{"rate", "RateLimit.Rate", &g.RateLimit.Rate, true},
		{"burst", "RateLimit.Burst", &g.RateLimit.Burst, false},
		{"bulkhead", "Bulkhead.Max", &g.Bulkhead.Max, true},
		{"bulkhead_min", "Bulkhead.Min", &g.Bulkhead.Min, false},
		{"bulkhead_wait", "Bulkhead.Wait", &g.Bulkhead.Wait, true},
		{"bulkhead_queue", "Bulkhead.Queue", &g.Bulkhead.Queue, false},
		{"retry", "Retry.Attempts", &g.Retry.Attempts, true},
		{"backoff", "Retry.Backoff", &g.Retry.Backoff, false},
		{"max_backoff", "Retry.MaxBackoff", &g.Retry.MaxBackoff, false},
		{"budget", "Retry.Budget", &g.Retry.Budget, true},
		{"floor", "Retry.Floor", &g.Retry.Floor, true},
	}
}

func keys(s []setting) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, o := range s {
			if !yield(o.key) {
				return
			}
		}
	}
}

// set reads a value; a fault is what was expected instead, "" if there is none.
// Zero and below mean "default" and "off" to the engine and must not reach it.
func (s setting) set(value string) (fault string) {
	off := value == "off"
	if off && !s.canBeOff {
		return "cannot be off"
	}
	switch to := s.to.(type) {
	case clock:
		if *to.exact = value == "exact"; value != "exact" && value != "coarse" {
			return "is coarse or exact"
		}
	case *string:
		*to = value
	case *bool:
		if *to = value == "true"; value != "true" && value != "false" {
			return "is true or false"
		}
	case *time.Duration:
		if d, ok := duration(value); off {
			*to = recloser.Off
		} else if !ok || d == 0 {
			return "is a duration such as 5s or 300ms"
		} else {
			*to = d
		}
	case *int:
		if n, err := strconv.Atoi(value); off {
			*to = recloser.Off
		} else if err != nil || n < 1 {
			return "is a whole number of at least 1"
		} else {
			*to = n
		}
	case *float64:
		if n, ok := share(value); off {
			*to = recloser.Off
		} else if !ok {
			return "is a number above 0, or a share such as 50% or 0.5"
		} else {
			*to = n
		}
	}
	return ""
}

// share reads "50%" and "0.5".
func share(s string) (float64, bool) {
	digits, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if percent {
		v /= 100
	}
	return v, err == nil && v > 0 && !math.IsInf(v, 0)
}

// inKeys writes a rule of the engine with the keys instead of the fields.
func inKeys(all []setting, rule string) string {
	words := strings.Fields(rule)
	for i, w := range words {
		for _, s := range all {
			if w == s.field[strings.LastIndexByte(s.field, '.')+1:] {
				words[i] = s.key
			}
		}
	}
	return strings.Join(words, " ")
}

// fieldErrors takes the joined faults of Validate apart.
func fieldErrors(err error) (all []*recloser.FieldError) {
	var f *recloser.FieldError
	switch joined := err.(type) { //nolint:errorlint // it is taken apart by hand
	case nil:
	case interface{ Unwrap() []error }:
		for _, e := range joined.Unwrap() {
			all = append(all, fieldErrors(e)...)
		}
	default:
		if errors.As(err, &f) {
			return []*recloser.FieldError{f}
		}
		return []*recloser.FieldError{{Field: "", Rule: err.Error()}}
	}
	return all
}
