package otelbreaker

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/recloser-go/recloser"
)

// RecordRefusal adds an event recloser.refused to the span of ctx if err is a
// refusal, and returns err: wrap a guarded call in it. retry_after is in
// seconds, and absent if the time is not known.
func RecordRefusal(ctx context.Context, err error) error {
	open := (*recloser.OpenError)(nil)
	if span := trace.SpanFromContext(ctx); span.IsRecording() && errors.As(err, &open) {
		attributes := []attribute.KeyValue{
			dependency(open.Name),
			attribute.String("state", open.State.String()),
			attribute.String("reason", string(open.Reason)),
		}
		if after := open.RetryAfter(); after > 0 {
			attributes = append(attributes, attribute.Float64("retry_after", after.Seconds()))
		}
		span.AddEvent("recloser.refused", trace.WithAttributes(attributes...))
	}
	return err
}

// TransitionSpans returns a listener, for [recloser.Breaker.Subscribe] or
// [recloser.Set.Subscribe], that makes a span of its own, without length, of each
// transition: no call's span would do, as a change may come when none runs.
func TransitionSpans(tracer trace.Tracer) func(recloser.Transition) {
	return func(t recloser.Transition) {
		attributes := []attribute.KeyValue{
			dependency(t.Name),
			attribute.String("from", t.From.String()),
			attribute.String("to", t.To.String()),
			attribute.String("reason", string(t.Reason)),
			attribute.String("why", strings.ToValidUTF8(t.Why(), "\uFFFD")),
		}
		_, span := tracer.Start(context.Background(), "recloser.transition",
			trace.WithTimestamp(t.At), trace.WithAttributes(attributes...))
		span.End(trace.WithTimestamp(t.At))
	}
}
