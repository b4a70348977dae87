package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser"
)

func breakerKeys(c *recloser.Config, suspect *time.Duration) []key {
	word := off[time.Duration]()
	return []key{
		{
			name: "slow_call", value: duration(&c.SlowCall, 0, 0, word), field: "SlowCall", span: "`1ms` to `1h`, `off`",
			means: "a call not answered within this is bad from that moment on, even if it ends well later",
		},
		{
			name: "suspect", value: duration(suspect, time.Millisecond, time.Hour, wordOf("auto"), word), span: "`auto`, `1ms` to `1h`, `off`",
			means: "a call that runs longer is bad for the time being: taken back if it ends well within `slow_call`. auto: learned from good calls. Never above `slow_call`",
		},
		{name: "consecutive", value: whole(&c.Consecutive, 0, 0, off[int]()), field: "Consecutive", span: "`1` to `1000`, `off`", means: "this many bad calls in a row trip (the rule *run*)"},
		{name: "failure_rate", value: share(&c.FailureRate, off[float64]()), field: "FailureRate", span: "above 0, up to `100%`, `off`", means: "this share of bad calls in the window trips (the rule *rate*)"},
		{name: "min_calls", value: whole(&c.MinCalls, 0, 0), field: "MinCalls", span: "`1` to `1000000`", means: "with fewer judged calls in the window the rule *rate* says nothing"},
		{
			name: "window", value: duration(&c.Window, 0, 0), field: "Window", span: "`100ms` to `1h`",
			means: "how far back the window reaches at least; with few calls further, until it holds `min_calls`, but never past 30 min",
		},
		{
			name: "spread", value: duration(&c.Spread, 0, 0, word), field: "Spread", span: "`1ms` to `1m`, `off`", normal: "`300ms`; off if `consecutive` is set and `spread` is not",
			means: "the time over which the bad calls that trip must have begun: a burst of calls that fail together is one event, not five",
		},
		{name: "open_for", value: duration(&c.OpenFor, 0, 0), field: "OpenFor", span: "`1ms` to `1h`", means: "the first open time; doubled with every recovery that fails"},
		{name: "max_open_for", value: duration(&c.MaxOpenFor, 0, 0), field: "MaxOpenFor", span: "at least `open_for`, up to `1h`", normal: "`30s`, or `open_for` if that is longer", means: "the longest open time"},
		{name: "jitter", value: share(&c.Jitter, off[float64]()), field: "Jitter", span: "above 0, up to `50%`, `off`", means: "open times differ by this share up and down, so that many gateways do not come back at once"},
		{name: "reset_after", value: duration(&c.ResetAfter, 0, 0), field: "ResetAfter", span: "`1ms` to `24h`", means: "calm time, with good calls in it, after which the doubling starts over"},
		{name: "trials", value: whole(&c.Trials, 0, 0), field: "Trials", span: "`1` to `100`", means: "how many good trials reclose, and how many may run at once after the first good one"},
		{
			name: "trial_timeout", value: duration(&c.TrialTimeout, 0, 0), field: "TrialTimeout", span: "`1ms` to `24h`", normal: "twice the longest good call, at least 10 s",
			means: "how long a trial may run that `slow_call` does not judge",
		},
		{name: "ramp", value: duration(&c.Ramp, 0, 0, word), field: "Ramp", span: "`1ms` to `1h`, `off`", means: "the longest slow start after reclosing"},
		{
			name: "retry_after_max", value: duration(&c.RetryAfterMax, 0, 0, word), field: "RetryAfterMax", span: "`1ms` to `24h`, `off`",
			means: "cap on the time that a dependency itself names by `Retry-After`; off: it is ignored",
		},
		{
			name: "cancel_on_trip", value: boolean(&c.CancelOnTrip),
			means: "whether a trip releases the calls that still wait for their answer; see also `release_on_trip`",
		},
		{
			name: "shadow", value: boolean(&c.Shadow),
			means: "whether it only says what it would do, and lets every call pass: to try settings on real traffic. Acts of people still count",
		},
	}
}

// wordOf is a word for a setting of 0.
func wordOf(name string) word[time.Duration] { return word[time.Duration]{name, 0} }

// judge notes what the engine does not accept, at the value it is about. Unless
// all values of the section could be read, it keeps to those that are wrong by
// themselves.
func (r *reader) judge(section ast.Node, keys []key, err error, all bool) {
	var names []string
	for _, k := range keys {
		if k.field != "" {
			names = append(names, k.field[strings.LastIndexByte(k.field, '.')+1:], k.name)
		}
	}
	inYAML := strings.NewReplacer(names...)
	for _, f := range fieldErrors(err) {
		i := slices.IndexFunc(keys, func(k key) bool { return k.field == f.Field })
		if i < 0 {
			continue // of what another section has
		}
		k, rule := keys[i], inYAML.Replace(f.Rule)
		if !strings.Contains(k.span, "`off`") { // the engine could, the file has no word for it
			rule = strings.TrimSuffix(rule, ", or off")
		}
		if n, ok := r.written(k.name); ok {
			text, _ := r.text(n)
			r.fault(n, shareHint(k, f), "%s %s %s", k.name, text, rule)
		} else if all { // two values do not fit, and the other one is written elsewhere or nowhere
			r.fault(section, fmt.Sprintf("write %s here too", k.name), "%s %v %s", k.name, f.Value, rule)
		}
	}
}

func shareHint(k key, f *recloser.FieldError) string {
	if v, ok := f.Value.(float64); ok && k.value.kind == "share" && v > 1 && v <= 100 {
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
