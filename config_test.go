package recloser

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestConfigDefaults(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		set  func(want *Config)
	}{
		{"none set", Config{}, func(*Config) {}},
		{"Consecutive by hand switches Spread off", Config{Consecutive: 3}, func(w *Config) { w.Consecutive, w.Spread = 3, Off }},
		{"also switched off by hand", Config{Consecutive: -7}, func(w *Config) { w.Consecutive, w.Spread = Off, Off }},
		{"both by hand", Config{Consecutive: 3, Spread: time.Second}, func(w *Config) { w.Consecutive, w.Spread = 3, time.Second }},
		{"a long OpenFor", Config{OpenFor: time.Minute}, func(w *Config) { w.OpenFor, w.MaxOpenFor = time.Minute, time.Minute }},
		{"off is off", Config{FailureRate: -2, Spread: -2, SlowCall: -2, Jitter: -2, Ramp: -2, RetryAfterMax: -2}, func(w *Config) {
			w.FailureRate, w.Spread, w.SlowCall, w.Jitter, w.Ramp, w.RetryAfterMax = Off, Off, Off, Off, Off, Off
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := Config{
				Window: 10 * time.Second, MinCalls: 20, FailureRate: 0.5, Consecutive: 5, Spread: 300 * time.Millisecond, SlowCall: Off,
				OpenFor: 5 * time.Second, MaxOpenFor: 30 * time.Second, Jitter: 0.2, ResetAfter: time.Minute, Trials: 2,
				Ramp: time.Minute, RetryAfterMax: time.Minute,
			}
			c.set(&want)
			if got := c.cfg.WithDefaults(); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%+v, want\n%+v", got, want)
			}
			b, err := New(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.Config(); !reflect.DeepEqual(got, want) {
				t.Errorf("in force\n%+v, want\n%+v", got, want)
			}
		})
	}
}

// faults returns the FieldErrors that err joins.
func faults(t *testing.T, err error) (all []*FieldError) {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%v joins nothing", err)
	}
	for _, err := range joined.Unwrap() {
		var fault *FieldError
		if !errors.As(err, &fault) {
			t.Fatalf("%v is no *FieldError", err)
		}
		all = append(all, fault)
	}
	return all
}

// Each setting takes its range to the ends and nothing outside, and is off only
// where it can be.
func TestConfigRanges(t *testing.T) {
	duration := func(field func(*Config) *time.Duration) func(*Config, float64) {
		return func(c *Config, v float64) { *field(c) = time.Duration(v) }
	}
	number := func(field func(*Config) *int) func(*Config, float64) {
		return func(c *Config, v float64) { *field(c) = int(v) }
	}
	share := func(field func(*Config) *float64) func(*Config, float64) {
		return func(c *Config, v float64) { *field(c) = v }
	}
	const ms, s, m, h = float64(time.Millisecond), float64(time.Second), float64(time.Minute), float64(time.Hour)
	for _, c := range []struct {
		field     string
		set       func(*Config, float64)
		good, bad []float64
	}{
		{"Window", duration(func(c *Config) *time.Duration { return &c.Window }), []float64{100 * ms, h}, []float64{Off, -s, 100*ms - 1, h + 1}},
		{"MinCalls", number(func(c *Config) *int { return &c.MinCalls }), []float64{1, 1e6}, []float64{Off, -5, 1e6 + 1}},
		{"FailureRate", share(func(c *Config) *float64 { return &c.FailureRate }), []float64{Off, -5, 1e-6, 0.5, 1}, []float64{1e-7, 1.01, 50, math.NaN(), math.Inf(1)}},
		{"Consecutive", number(func(c *Config) *int { return &c.Consecutive }), []float64{Off, -5, 1, 1000}, []float64{1001}},
		{"Spread", duration(func(c *Config) *time.Duration { return &c.Spread }), []float64{Off, -s, ms, m}, []float64{ms - 1, m + 1}},
		{"SlowCall", duration(func(c *Config) *time.Duration { return &c.SlowCall }), []float64{Off, -s, ms, h}, []float64{ms - 1, h + 1}},
		{"OpenFor", duration(func(c *Config) *time.Duration { return &c.OpenFor }), []float64{ms, h}, []float64{Off, ms - 1}},
		{"MaxOpenFor", duration(func(c *Config) *time.Duration { return &c.MaxOpenFor }), []float64{5 * s, h}, []float64{Off, 5*s - 1, h + 1}},
		{"Jitter", share(func(c *Config) *float64 { return &c.Jitter }), []float64{Off, -5, 1e-9, 0.5}, []float64{0.51, math.NaN(), math.Inf(1)}},
		{"ResetAfter", duration(func(c *Config) *time.Duration { return &c.ResetAfter }), []float64{ms, 24 * h}, []float64{Off, ms - 1, 24*h + 1}},
		{"Trials", number(func(c *Config) *int { return &c.Trials }), []float64{1, 100}, []float64{Off, 101}},
		{"TrialTimeout", duration(func(c *Config) *time.Duration { return &c.TrialTimeout }), []float64{ms, 24 * h}, []float64{Off, ms - 1, 24*h + 1}},
		{"Ramp", duration(func(c *Config) *time.Duration { return &c.Ramp }), []float64{Off, -s, ms, h}, []float64{ms - 1, h + 1}},
		{"RetryAfterMax", duration(func(c *Config) *time.Duration { return &c.RetryAfterMax }), []float64{Off, -s, ms, 24 * h}, []float64{ms - 1, 24*h + 1}},
	} {
		t.Run(c.field, func(t *testing.T) {
			for _, v := range append(c.good, 0) {
				var cfg Config
				c.set(&cfg, v)
				if err := cfg.Validate(); err != nil {
					t.Errorf("%g: %v", v, err)
				}
			}
			for _, v := range c.bad {
				var cfg Config
				c.set(&cfg, v)
				err := cfg.Validate()
				found := faults(t, err)
				if len(found) != 1 || found[0].Field != c.field {
					t.Errorf("%g: got %v, want one fault of %s", v, err, c.field)
					continue
				}
				value := reflect.ValueOf(cfg).FieldByName(c.field).Interface()
				if v == v && found[0].Value != value { // not NaN, which equals nothing
					t.Errorf("%g: the fault says the value is %v, it is %v", v, found[0].Value, value)
				}
				if b, err := New(cfg); b != nil || err == nil {
					t.Errorf("%g: New gives %v, %v", v, b, err)
				}
			}
		})
	}
}

func TestConfigFaultsAreJoined(t *testing.T) {
	cfg := Config{Window: time.Microsecond, MinCalls: -3, OpenFor: time.Minute, MaxOpenFor: time.Second, Jitter: 0.9, Trials: 1000}
	var fields []string
	for _, fault := range faults(t, cfg.Validate()) {
		fields = append(fields, fault.Field)
	}
	if want := []string{"Window", "MinCalls", "MaxOpenFor", "Jitter", "Trials"}; !slices.Equal(fields, want) {
		t.Errorf("faults of %q, want %q", fields, want)
	}
	const want = `recloser: Window 1µs: must be from 100ms to 1h
recloser: MinCalls -3: must be from 1 to 1000000
recloser: MaxOpenFor 1s: must be at least OpenFor (1m)
recloser: Jitter 0.9: must be above 0 and at most 0.5, or off
recloser: Trials 1000: must be from 1 to 100`
	if _, err := New(cfg); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestConfigFaultNamesWhatWasWritten(t *testing.T) {
	err := Config{Window: -5 * time.Second, OpenFor: 2 * time.Hour}.Validate()
	if found := faults(t, err); len(found) != 2 || !strings.Contains(err.Error(), "Window -5s") || !strings.Contains(err.Error(), "OpenFor 2h0m0s") {
		t.Errorf("got\n%v\nwant one fault of Window -5s and one of OpenFor 2h", err)
	}
}
