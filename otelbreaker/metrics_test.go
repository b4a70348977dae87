package otelbreaker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/otelbreaker"
)

var errDown = errors.New("down")

func newBreaker(t *testing.T, cfg recloser.Config) *recloser.Breaker {
	t.Helper()
	b, err := recloser.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ends(t *testing.T, b *recloser.Breaker, with error) {
	t.Helper()
	if err := b.Do(t.Context(), func(context.Context) error { return with }); !errors.Is(err, with) {
		t.Fatalf("the call ended with %v, want %v", err, with)
	}
}

func newMeter() (metric.Meter, *sdk.ManualReader) {
	reader := sdk.NewManualReader()
	return sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"), reader
}

// collect returns all series, such as recloser.state{dependency=hotel-1,state=open}.
func collect(t *testing.T, reader sdk.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(set attribute.Set, value float64) {
				if name, ok := set.Value("dependency"); !ok || !utf8.ValidString(name.AsString()) {
					t.Errorf("%s of dependency %q", m.Name, name.AsString())
				}
				series[m.Name+"{"+set.Encoded(attribute.DefaultEncoder())+"}"] = value
			}
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, point := range data.DataPoints {
					add(point.Attributes, float64(point.Value))
				}
			case metricdata.Gauge[float64]:
				for _, point := range data.DataPoints {
					add(point.Attributes, point.Value)
				}
			case metricdata.Sum[int64]:
				if !data.IsMonotonic {
					t.Errorf("%s is no counter", m.Name)
				}
				for _, point := range data.DataPoints {
					add(point.Attributes, float64(point.Value))
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	return series
}

func compare(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if seen, ok := got[name]; !ok || seen != value {
			t.Errorf("%s = %v (there: %v), want %v", name, seen, ok, value)
		}
	}
}

func TestMetrics(t *testing.T) {
	meter, reader := newMeter()
	b := newBreaker(t, recloser.Config{Name: "hotel-1", MinCalls: 4, Consecutive: recloser.Off, FailureRate: 0.75})
	registration, err := otelbreaker.Register(meter, slices.Values([]*recloser.Breaker{b}))
	if err != nil {
		t.Fatal(err)
	}
	before := collect(t, reader)
	want := len(recloser.States()) + 4 + len(recloser.RefusalReasons()) + len(recloser.TransitionKeys()) + 2
	if len(before) != want {
		t.Errorf("%d series before the first call, want %d", len(before), want)
	}
	for name, value := range before {
		if value != 0 && name != "recloser.state{dependency=hotel-1,state=closed}" {
			t.Errorf("%s = %v before the first call", name, value)
		}
	}

	ends(t, b, nil)
	ends(t, b, nil)
	ends(t, b, nil)
	ends(t, b, errDown)
	ends(t, b, context.Canceled)
	running, err := b.Allow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compare(t, collect(t, reader), map[string]float64{
		"recloser.state{dependency=hotel-1,state=closed}":    1,
		"recloser.calls{dependency=hotel-1,outcome=success}": 3,
		"recloser.calls{dependency=hotel-1,outcome=failed}":  1,
		"recloser.calls{dependency=hotel-1,outcome=slow}":    0,
		"recloser.calls{dependency=hotel-1,outcome=ignored}": 1,
		"recloser.inflight{dependency=hotel-1}":              1,
		"recloser.bad_ratio{dependency=hotel-1}":             0.25,
	})
	running.Cancel()

	if err := b.TripFor(time.Minute, "test", "look"); err != nil {
		t.Fatal(err)
	}
	ends(t, b, recloser.ErrOpen)
	compare(t, collect(t, reader), map[string]float64{
		"recloser.state{dependency=hotel-1,state=closed}":                 0,
		"recloser.state{dependency=hotel-1,state=open}":                   1,
		"recloser.refused{dependency=hotel-1,reason=open}":                1,
		"recloser.transitions{dependency=hotel-1,reason=tripped,to=open}": 1,
		"recloser.inflight{dependency=hotel-1}":                           0,
	})

	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if left := collect(t, reader); len(left) != 0 {
		t.Errorf("after the end still %v", left)
	}
}

func TestSetSeesBreakersThatComeLater(t *testing.T) {
	set, err := recloser.NewSet(recloser.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	meter, reader := newMeter()
	if _, err := otelbreaker.RegisterSet(meter, set); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"hotel-1", "not UTF-8: \xff"} {
		set.Get(key)
		compare(t, collect(t, reader), map[string]float64{
			"recloser.inflight{dependency=" + string([]rune(key)) + "}": 0,
		})
	}
}

// refuser is a meter that makes no instruments.
type refuser struct{ metric.Meter }

func (refuser) Int64ObservableCounter(name string, _ ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	return nil, errors.New("no " + name)
}

func TestErrorsOfTheMeter(t *testing.T) {
	meter, _ := newMeter()
	if _, err := otelbreaker.Register(refuser{meter}, slices.Values([]*recloser.Breaker{})); err == nil || !strings.Contains(err.Error(), "no recloser.calls") {
		t.Errorf("got %v from a meter without counters", err)
	}
}
