package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser"
)

// breaker is a breaker section on top of the defaults it was given.
type breaker struct {
	settings recloser.Config
	section  ast.Node            // nil: not written
	written  map[string]ast.Node // the values in it that could be read, by field of recloser.Config
}

// setting ties a key to a field of recloser.Config.
type setting struct {
	key, field string
	to         any // *time.Duration, *int, *float64 or *bool
	canBeOff   bool
}

func settingsOf(c *recloser.Config) []setting {
	return []setting{
		{"window", "Window", &c.Window, false},
		{"min_calls", "MinCalls", &c.MinCalls, false},
		{"failure_rate", "FailureRate", &c.FailureRate, true},
		{"consecutive", "Consecutive", &c.Consecutive, true},
		{"spread", "Spread", &c.Spread, true},
		{"slow_call", "SlowCall", &c.SlowCall, true},
		{"max_open_for", "MaxOpenFor", &c.MaxOpenFor, false}, // before open_for: inYAML takes the first that fits
		{"open_for", "OpenFor", &c.OpenFor, false},
		{"jitter", "Jitter", &c.Jitter, true},
		{"reset_after", "ResetAfter", &c.ResetAfter, false},
		{"retry_after_max", "RetryAfterMax", &c.RetryAfterMax, true},
		{"trials", "Trials", &c.Trials, false},
		{"trial_timeout", "TrialTimeout", &c.TrialTimeout, false},
		{"ramp", "Ramp", &c.Ramp, true},
		{"cancel_on_trip", "CancelOnTrip", &c.CancelOnTrip, false},
	}
}

// readBreaker reads a breaker section; n is nil if there is none. Every fault of
// the settings that result is noted, unless it is one of the defaults alone.
func (r *reader) readBreaker(n ast.Node, defaults recloser.Config) breaker {
	b := breaker{settings: defaults, section: n, written: make(map[string]ast.Node)}
	if n == nil {
		return b
	}
	before := len(r.faults)
	known := fields{"suspect": r.suspect}
	for _, s := range settingsOf(&b.settings) {
		known[s.key] = func(n ast.Node) {
			if r.setSetting(s, n) {
				b.written[s.field] = n
			}
		}
	}
	r.mapping(n, known)
	r.validate(b, len(r.faults) == before)
	if len(r.faults) > before {
		b.settings = defaults // one fault, one message: not one for each dependency too
	}
	return b
}

// suspect reads the key of a limit that is to be learned later. It may be off
// already, so that a file can say what it wants to stay.
func (r *reader) suspect(n ast.Node) {
	if s, ok := r.text(n); ok && s != "off" {
		r.fault(n, "write off or remove the key", "this version does not learn a suspect limit yet")
	}
}

// setSetting reads one value; false if a fault was noted. Zero and below mean
// "default" and "off" to the engine and must not reach it: whoever writes 0 means
// neither, or should say so.
func (r *reader) setSetting(s setting, n ast.Node) bool {
	text, ok := r.text(n)
	if !ok {
		return false
	}
	off := text == "off"
	if off && !s.canBeOff {
		r.fault(n, "write a value or remove the key", "%s cannot be off", s.key)
		return false
	}
	hint := ""
	if s.canBeOff {
		hint = "write off to switch it off"
	}
	before := len(r.faults)
	switch to := s.to.(type) {
	case *bool:
		r.setBool(to)(n)
	case *time.Duration:
		if d, err := time.ParseDuration(text); off {
			*to = recloser.Off
		} else if err == nil && d <= 0 {
			r.fault(n, hint, "%s must be above 0, not %s", s.key, text)
		} else {
			r.setDuration(to)(n)
		}
	case *int:
		if v, err := strconv.Atoi(text); off {
			*to = recloser.Off
		} else if err != nil || v < 1 {
			r.fault(n, hint, "%s must be a whole number of at least 1, not %q", s.key, text)
		} else {
			*to = v
		}
	case *float64:
		if v, err := share(text); off {
			*to = recloser.Off
		} else if err != nil {
			r.fault(n, "write it like 50% or 0.5", "%s must be a share, not %q", s.key, text)
		} else if v <= 0 {
			r.fault(n, hint, "%s must be above 0, not %s", s.key, text)
		} else {
			*to = v
		}
	}
	return len(r.faults) == before
}

// share reads "50%" and "0.5".
func share(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, errors.New("not a number")
	}
	if percent {
		v /= 100
	}
	return v, nil
}

// validate notes what the engine does not accept, at the value it is about.
// Unless all values could be read, it keeps to those that are wrong by themselves.
func (r *reader) validate(b breaker, all bool) {
	names := make([]string, 0, 32)
	keys := make(map[string]string)
	for _, s := range settingsOf(&b.settings) {
		names = append(names, s.field, s.key)
		keys[s.field] = s.key
	}
	inYAML := strings.NewReplacer(names...)
	for _, f := range fieldErrors(b.settings.Validate()) {
		rule := inYAML.Replace(f.Rule)
		if n, ok := b.written[f.Field]; ok {
			text, _ := r.text(n)
			r.fault(n, shareHint(f), "%s %s %s", keys[f.Field], text, rule)
		} else if all { // two values do not fit, and the other one is written elsewhere or nowhere
			r.fault(b.section, fmt.Sprintf("write %s here too", keys[f.Field]), "%s %v %s", keys[f.Field], f.Value, rule)
		}
	}
}

func shareHint(f *recloser.FieldError) string {
	if v, ok := f.Value.(float64); ok && v > 1 && v <= 100 {
		return fmt.Sprintf("for %v percent write %v%%", v, v)
	}
	return ""
}

// fieldErrors takes the joined faults of recloser.Config.Validate apart.
func fieldErrors(err error) []*recloser.FieldError {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var all []*recloser.FieldError
	for _, e := range joined.Unwrap() {
		if f, ok := errors.AsType[*recloser.FieldError](e); ok {
			all = append(all, f)
		}
	}
	return all
}
