package otelbreaker_test

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/otelbreaker"
)

func Example() {
	breakers, err := recloser.NewSet(recloser.Config{SlowCall: 2 * time.Second}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Your program has a meter and a tracer already, with an exporter each.
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("hotels")
	tracer := sdktrace.NewTracerProvider().Tracer("hotels")

	if _, err := otelbreaker.RegisterSet(meter, breakers); err != nil {
		fmt.Println(err)
		return
	}
	breakers.Subscribe(otelbreaker.TransitionSpans(tracer))

	ctx, span := tracer.Start(context.Background(), "ask the hotel")
	defer span.End()
	err = otelbreaker.RecordRefusal(ctx, breakers.Get("hotel-1").Do(ctx, func(context.Context) error {
		return nil // call the hotel
	}))
	fmt.Println("asked:", err)

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if inflight, ok := m.Data.(metricdata.Gauge[int64]); ok && m.Name == "recloser.inflight" {
			for _, point := range inflight.DataPoints {
				fmt.Println(m.Name, point.Attributes.Encoded(attribute.DefaultEncoder()), point.Value)
			}
		}
	}
	// Output:
	// asked: <nil>
	// recloser.inflight dependency=hotel-1 0
}
