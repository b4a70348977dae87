// Package trace makes spans of calls through the gateway and sends them to a
// collector, by OTLP over HTTP. Without it nothing is spent on traces, and what
// callers say of theirs passes on as it came.
package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/otelbreaker"
)

const (
	batchEvery = 2 * time.Second // spans wait for no longer until they are sent
	batchSize  = 512
	queued     = 4096 // spans that wait; more are dropped: no call ever waits for a collector
)

// Options are what a Tracer is made from.
type Options struct {
	Config  *config.Traces // required
	Version string         // of the gateway
	Log     *slog.Logger   // nil: nothing is logged
}

// Tracer makes spans. A nil one makes none. It is safe for concurrent use.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider
	collect  *collector
	headers  propagation.TraceContext
}

// New returns a Tracer, which needs a Stop. It does not look whether the collector is
// there.
func New(o Options) (*Tracer, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	from, err := source(o.Version)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	c := newCollector(o.Config, o.Log)
	t := &Tracer{collect: c, provider: sdk.NewTracerProvider(
		sdk.WithResource(from),
		sdk.WithSampler(sampler{sdk.ParentBased(sdk.TraceIDRatioBased(o.Config.Sample))}),
		sdk.WithBatcher(otlptrace.NewUnstarted(c),
			sdk.WithBatchTimeout(batchEvery), sdk.WithMaxExportBatchSize(batchSize), sdk.WithMaxQueueSize(queued), sdk.WithExportTimeout(sendFor)),
	)}
	t.tracer = t.provider.Tracer("github.com/recloser-go/recloser/gateway", trace.WithInstrumentationVersion(o.Version))
	return t, nil
}

// source says whose spans they are. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go
// before, as people expect of every program.
func source(version string) (*resource.Resource, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	ours := resource.NewSchemaless(
		attribute.String("service.name", "recloser"),
		attribute.String("service.version", version),
		attribute.String("service.instance.id", host),
	)
	return resource.Merge(ours, resource.Environment())
}

// Stop sends what waits, until ctx is done, and then sends nothing more.
func (t *Tracer) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	defer t.collect.end()
	if err := t.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("traces: %w", err)
	} else if err != nil {
		return errors.New("traces: the collector did not take the last spans in time")
	}
	return nil
}

// Listen makes a span of a transition: one without length, of no call, as a change may
// come when none runs. It is never left out by the sample.
func (t *Tracer) Listen(tr recloser.Transition) {
	if t != nil {
		otelbreaker.TransitionSpans(t.tracer)(tr)
	}
}

// sampler takes every transition, and calls as their own sampler says.
type sampler struct{ calls sdk.Sampler }

func (s sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if p.Kind == trace.SpanKindServer || p.Kind == trace.SpanKindClient {
		return s.calls.ShouldSample(p)
	}
	return sdk.AlwaysSample().ShouldSample(p)
}

func (s sampler) Description() string { return "transitions, and calls by " + s.calls.Description() }

// methodOf is a request's method as an attribute: any other word would be one that a
// client makes up.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return r.Method
	case "":
		return http.MethodGet
	}
	return "_OTHER"
}
