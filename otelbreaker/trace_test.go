package otelbreaker_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/otelbreaker"
)

func newTracer() (trace.Tracer, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	return sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("test"), recorder
}

func encoded(attributes []attribute.KeyValue) string {
	set := attribute.NewSet(attributes...)
	return set.Encoded(attribute.DefaultEncoder())
}

func TestRecordRefusal(t *testing.T) {
	refusal := &recloser.OpenError{Name: "hotel-1", State: recloser.Open, Reason: recloser.ReasonToldToWait}
	later := *refusal
	synctest.Test(t, func(t *testing.T) {
		later.Until = time.Now().Add(90 * time.Second)
		for _, tt := range []struct {
			err  error
			want string // the event's attributes; "": no event
		}{
			{nil, ""},
			{errDown, ""},
			{refusal, "dependency=hotel-1,reason=told to wait,state=open"},
			{fmt.Errorf("asking: %w", &later), "dependency=hotel-1,reason=told to wait,retry_after=90,state=open"},
		} {
			tracer, recorder := newTracer()
			ctx, span := tracer.Start(t.Context(), "call")
			if err := otelbreaker.RecordRefusal(ctx, tt.err); !errors.Is(err, tt.err) {
				t.Errorf("%v became %v", tt.err, err)
			}
			span.End()
			events := recorder.Ended()[0].Events()
			switch {
			case tt.want == "" && len(events) > 0:
				t.Errorf("%v: events %v", tt.err, events)
			case tt.want == "":
			case len(events) != 1 || events[0].Name != "recloser.refused" || encoded(events[0].Attributes) != tt.want:
				t.Errorf("%v: events %v, want one with %s", tt.err, events, tt.want)
			}
			if err := otelbreaker.RecordRefusal(t.Context(), tt.err); !errors.Is(err, tt.err) {
				t.Errorf("without a span %v became %v", tt.err, err)
			}
		}
	})
}

func TestTransitionSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer, recorder := newTracer()
		b := newBreaker(t, recloser.Config{Name: "hotel-1", Consecutive: 2, OpenFor: time.Second, Jitter: recloser.Off})
		b.Subscribe(otelbreaker.TransitionSpans(tracer))
		ends(t, b, errDown)
		ends(t, b, errDown)
		began := time.Now()
		<-time.After(3 * time.Second)
		b.Check() // the open time was over two seconds ago
		synctest.Wait()

		want := []struct {
			after      time.Duration
			attributes string
		}{
			{0, "dependency=hotel-1,from=closed,reason=run,to=open,why=2 bad calls in a row"},
			{time.Second, "dependency=hotel-1,from=open,reason=open time over,to=half-open,why=open time over"},
		}
		spans := recorder.Ended()
		if len(spans) != len(want) {
			t.Fatalf("%d spans, want %d", len(spans), len(want))
		}
		for i, span := range spans {
			at := began.Add(want[i].after)
			if span.Name() != "recloser.transition" || !span.StartTime().Equal(at) || !span.EndTime().Equal(at) {
				t.Errorf("span %q from %v to %v, want recloser.transition at %v", span.Name(), span.StartTime(), span.EndTime(), at)
			}
			if got := encoded(span.Attributes()); got != want[i].attributes {
				t.Errorf("attributes %s, want %s", got, want[i].attributes)
			}
		}
	})
}
