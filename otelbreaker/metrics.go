// Package otelbreaker shows breakers to OpenTelemetry: instruments that read
// [recloser.Breaker.Stats] while metrics are collected, so that nothing is
// counted twice and no call gets slower by it; and what happens, in traces.
//
// Every series is there from the first collection on, with 0 where nothing has
// happened yet; only recloser.bad_ratio is absent while the window does not hold
// enough calls for a verdict.
package otelbreaker

import (
	"context"
	"errors"
	"iter"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/recloser-go/recloser"
)

// Register makes the instruments of the breakers that the sequence yields. It
// is iterated anew in every collection, so breakers may come and go; it must be
// safe for concurrent use. [slices.Values] makes one from a slice. Unregister
// the registration to end it.
//
// The attribute dependency is a breaker's Name. Names must differ: of two
// breakers of one name the numbers are mixed up.
func Register(meter metric.Meter, breakers iter.Seq[*recloser.Breaker]) (metric.Registration, error) {
	in, err := newInstruments(meter)
	if err != nil {
		return nil, err
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for breaker := range breakers {
			in.observe(o, breaker.Stats())
		}
		return nil
	}, in.state, in.shadow, in.calls, in.refused, in.transitions, in.inflight, in.badRatio)
}

// RegisterSet is [Register] for all breakers of a Set, present and future.
func RegisterSet(meter metric.Meter, set *recloser.Set) (metric.Registration, error) {
	return Register(meter, func(yield func(*recloser.Breaker) bool) {
		for _, breaker := range set.All() {
			if !yield(breaker) {
				return
			}
		}
	})
}

// instruments are a meter's. Names and attributes are a promise: they stay as
// they are.
type instruments struct {
	state, shadow, inflight     metric.Int64ObservableGauge
	calls, refused, transitions metric.Int64ObservableCounter
	badRatio                    metric.Float64ObservableGauge
}

func newInstruments(meter metric.Meter) (in instruments, err error) {
	var errs [7]error
	in.state, errs[0] = meter.Int64ObservableGauge("recloser.state", metric.WithDescription(
		"1 for the state the breaker is in, 0 for the others."))
	in.calls, errs[1] = meter.Int64ObservableCounter("recloser.calls", metric.WithUnit("{call}"), metric.WithDescription(
		"Calls that reached the dependency and ended, by outcome: success, failed, slow or ignored."))
	in.refused, errs[2] = meter.Int64ObservableCounter("recloser.refused", metric.WithUnit("{call}"), metric.WithDescription(
		"Calls that the breaker did not let through, or released on a trip, by the reason."))
	in.transitions, errs[3] = meter.Int64ObservableCounter("recloser.transitions", metric.WithUnit("{transition}"), metric.WithDescription(
		"Changes of the breaker's state, by the new state and the reason."))
	in.inflight, errs[4] = meter.Int64ObservableGauge("recloser.inflight", metric.WithUnit("{call}"), metric.WithDescription(
		"Calls that are running now."))
	in.badRatio, errs[5] = meter.Float64ObservableGauge("recloser.bad_ratio", metric.WithUnit("1"), metric.WithDescription(
		"Share of bad calls (failed or slow) in the window, 0 to 1."))
	in.shadow, errs[6] = meter.Int64ObservableGauge("recloser.shadow", metric.WithDescription(
		"1 while all calls pass, whatever recloser.state says (shadow mode)."))
	return in, errors.Join(errs[:]...)
}

func (in instruments) observe(o metric.Observer, stats recloser.Stats) {
	of := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(append(more, dependency(stats.Name))...))
	}
	for _, state := range recloser.States() {
		var value int64
		if state == stats.State {
			value = 1
		}
		o.ObserveInt64(in.state, value, of(attribute.String("state", state.String())))
	}
	var shadow int64
	if stats.Shadow {
		shadow = 1
	}
	o.ObserveInt64(in.shadow, shadow, of())
	for outcome, n := range map[string]uint64{
		"success": stats.Success, "failed": stats.Failed, "slow": stats.Slow, "ignored": stats.Ignored,
	} {
		o.ObserveInt64(in.calls, int64(n), of(attribute.String("outcome", outcome)))
	}
	for _, reason := range recloser.RefusalReasons() {
		o.ObserveInt64(in.refused, int64(stats.Refused[reason]), of(attribute.String("reason", string(reason))))
	}
	for _, key := range recloser.TransitionKeys() {
		o.ObserveInt64(in.transitions, int64(stats.Transitions[key]),
			of(attribute.String("to", key.To.String()), attribute.String("reason", string(key.Reason))))
	}
	o.ObserveInt64(in.inflight, int64(stats.InFlight), of())
	if ratio, enough := stats.BadRatio(); enough {
		o.ObserveFloat64(in.badRatio, ratio, of())
	}
}

// dependency is the attribute that names a breaker. It must be UTF-8; the name
// of a breaker need not be.
func dependency(name string) attribute.KeyValue {
	return attribute.String("dependency", strings.ToValidUTF8(name, "\uFFFD"))
}
