package prooftest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/model"
)

// The engine does what the naive model does, whatever settings it has and gets
// while in use, and whoever forces its state. The root's own test draws the same
// steps from moods; here every value is drawn from its whole range, and rapid makes
// a fault that it finds as small as it can.
func TestBreakerIsTheModel(t *testing.T) {
	for range 20 { // a hundred sequences each
		rapid.Check(t, machine)
	}
}

func machine(t *rapid.T) {
	first := settings().Draw(t, "settings")
	p, err := model.NewPair(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	inForce := first.WithDefaults()
	apply := func(o model.Op) {
		if err := p.Apply(o); err != nil {
			t.Fatalf("%s: %v", o, err)
		}
	}
	one := func(kinds ...model.Kind) func(*rapid.T) {
		return func(t *rapid.T) {
			apply(model.Op{
				Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
				N:    rapid.IntRange(0, 20).Draw(t, "which"),
				D:    span(inForce).Draw(t, "time"),
				Flag: rapid.Bool().Draw(t, "flag"),
			})
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"call":              one(model.Allow),
		"call once more":    one(model.Allow),
		"call by Do":        one(model.Do),
		"end well":          one(model.Good),
		"fail":              one(model.Fail),
		"end":               one(model.Good, model.Fail, model.Ignore, model.Cancelled, model.Deadline, model.Wait, model.Unmade),
		"answer":            one(model.Answered, model.Sending, model.Sent),
		"misuse":            one(model.Twice),
		"let time pass":     one(model.Advance),
		"wait for what due": one(model.Due),
		"look":              one(model.Check),
		"force":             one(model.Isolate, model.Hold, model.TripFor),
		"unforce":           one(model.Release, model.Reset, model.TryNow),
		"restart":           one(model.Save, model.Restore, model.Restart, model.SetWall),
		"update": func(t *rapid.T) {
			next := settings().Draw(t, "settings")
			apply(model.Op{Kind: model.Update, Config: next})
			inForce = next.WithDefaults()
		},
	})
}

// settings are any that are valid.
func settings() *rapid.Generator[recloser.Config] {
	between := func(low, high time.Duration) *rapid.Generator[time.Duration] {
		return rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Map(rapid.Int64Range(int64(low), int64(high)), func(n int64) time.Duration { return time.Duration(n) }))
	}
	orOff := func(g *rapid.Generator[time.Duration]) *rapid.Generator[time.Duration] {
		return rapid.OneOf(rapid.Just(time.Duration(recloser.Off)), g)
	}
	const ms = time.Millisecond
	return rapid.Custom(func(t *rapid.T) recloser.Config {
		cfg := recloser.Config{
			Name:          "hotel-7",
			Window:        between(100*ms, time.Minute).Draw(t, "Window"),
			MinCalls:      rapid.IntRange(0, 20).Draw(t, "MinCalls"),
			FailureRate:   float64(rapid.IntRange(-1, 1e6).Draw(t, "FailureRate")) / 1e6,
			Consecutive:   rapid.IntRange(-1, 8).Draw(t, "Consecutive"),
			Spread:        orOff(between(ms, 2*time.Second)).Draw(t, "Spread"),
			SlowCall:      orOff(between(ms, 10*time.Second)).Draw(t, "SlowCall"),
			OpenFor:       between(ms, 10*time.Second).Draw(t, "OpenFor"),
			Jitter:        rapid.Float64Range(-1, 0.5).Draw(t, "Jitter"),
			ResetAfter:    between(ms, time.Minute).Draw(t, "ResetAfter"),
			Trials:        rapid.IntRange(0, 5).Draw(t, "Trials"),
			TrialTimeout:  between(ms, 20*time.Second).Draw(t, "TrialTimeout"),
			Ramp:          orOff(between(ms, time.Minute)).Draw(t, "Ramp"),
			RetryAfterMax: orOff(between(ms, time.Minute)).Draw(t, "RetryAfterMax"),
			CancelOnTrip:  rapid.Bool().Draw(t, "CancelOnTrip"),
			Shadow:        rapid.IntRange(0, 5).Draw(t, "Shadow") == 5,
		}
		cfg.MaxOpenFor = cfg.WithDefaults().OpenFor << rapid.IntRange(0, 4).Draw(t, "steps")
		return cfg
	})
}

// span is a time that means something to the settings, or any.
func span(cfg recloser.Config) *rapid.Generator[time.Duration] {
	limits := []time.Duration{
		0, cfg.Window / 10, cfg.OpenFor, cfg.MaxOpenFor, cfg.ResetAfter, cfg.TrialTimeout, time.Second, 10 * time.Second, 30 * time.Minute,
	}
	for _, d := range []time.Duration{cfg.Spread, cfg.SlowCall, cfg.SlowCall / 2, cfg.Ramp, cfg.RetryAfterMax} {
		limits = append(limits, max(d, 0))
	}
	free := rapid.Map(rapid.Int64Range(0, int64(20*time.Second)), func(n int64) time.Duration { return time.Duration(n) })
	return rapid.OneOf(rapid.SampledFrom(limits), free, free)
}
