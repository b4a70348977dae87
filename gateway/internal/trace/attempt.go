package trace

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// Transport makes a span of each request that base sends to a dependency as part of a
// call, from its sending to the headers of its answer: what the breaker judges. The
// request says of which trace it is a part, even if that is not sampled.
func (t *Tracer) Transport(dep *dependency.Dependency, base http.RoundTripper) http.RoundTripper {
	if t == nil {
		return base
	}
	return &attempt{t, dep, base}
}

type attempt struct {
	*Tracer
	dep  *dependency.Dependency
	base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a *attempt) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return a.base.RoundTrip(req)
	}
	ctx, span := a.tracer.Start(ctx, methodOf(req), trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	out := req.WithContext(ctx)
	out.Header = maps.Clone(req.Header)
	if out.Header == nil {
		out.Header = make(http.Header)
	}
	a.headers.Inject(ctx, propagation.HeaderCarrier(out.Header))
	if !span.IsRecording() {
		resp, err := a.base.RoundTrip(out)
		return restored(resp, req), err
	}
	breaker := a.dep.BreakerOf(req)
	span.SetAttributes(a.about(req, breaker)...)
	begun := time.Now()
	resp, err := a.base.RoundTrip(out)
	errorType := typeOf(ctx, resp, err)
	span.SetAttributes(attribute.String("recloser.outcome", a.outcome(breaker, resp, errorType, time.Since(begun))))
	if resp != nil {
		span.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode))
	}
	if errorType != "" {
		span.SetAttributes(attribute.String("error.type", errorType))
		span.SetStatus(codes.Error, "")
	}
	return restored(resp, req), err
}

// restored is an answer to the request as it was.
func restored(resp *http.Response, req *http.Request) *http.Response {
	if resp != nil {
		resp.Request = req
	}
	return resp
}

func (a *attempt) about(req *http.Request, breaker *recloser.Breaker) []attribute.KeyValue {
	all := []attribute.KeyValue{
		name(a.dep),
		attribute.String("http.request.method", methodOf(req)),
		attribute.String("server.address", req.URL.Hostname()),
		attribute.String("recloser.breaker.state", breaker.State().String()),
	}
	if port, err := strconv.Atoi(req.URL.Port()); err == nil {
		all = append(all, attribute.Int("server.port", port))
	}
	if c := of(req.Context()); c != nil && c.dep != nil {
		if before := c.attempts.Add(1) - 1; before > 0 {
			all = append(all, attribute.Int64("http.request.resend_count", before))
		}
	}
	return all
}

// outcome is what an attempt was to its breaker, as far as the headers of its answer
// tell: a body that breaks off comes later.
func (a *attempt) outcome(breaker *recloser.Breaker, resp *http.Response, errorType string, took time.Duration) string {
	slow := breaker.Brief().SlowCall
	switch {
	case errorType == canceled || errorType == released:
		return "ignored"
	case resp == nil:
		return "failed"
	case resp.StatusCode == http.StatusTooManyRequests:
		return "ignored"
	case resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented && resp.StatusCode != http.StatusHTTPVersionNotSupported:
		return "failed"
	case slow > 0 && took > slow:
		return "slow"
	}
	return "good"
}

// Types of errors, besides statuses.
const (
	canceled = "canceled" // the caller has gone, or needs the answer no more
	released = "released" // by a trip
	timeout  = "timeout"
	connect  = "connect" // no connection could be made
	broken   = "broken"  // the connection ended
)

// typeOf says in a word what went wrong; "" if nothing did.
func typeOf(ctx context.Context, resp *http.Response, err error) string {
	cause := context.Cause(ctx)
	var timedOut interface{ Timeout() bool }
	var op *net.OpError
	switch {
	case resp != nil && resp.StatusCode >= 400:
		return strconv.Itoa(resp.StatusCode)
	case resp != nil:
		return ""
	case errors.Is(cause, recloser.ErrOpen):
		return released
	case errors.As(cause, &timedOut) && timedOut.Timeout(), cause == nil && errors.As(err, &timedOut) && timedOut.Timeout():
		return timeout
	case cause != nil:
		return canceled
	case errors.As(err, &op) && op.Op == "dial":
		return connect
	}
	return broken
}
