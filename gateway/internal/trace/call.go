package trace

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/otelbreaker"
)

// call is a request that is being traced. It is in the request's context.
type call struct {
	span     trace.Span
	begun    time.Time
	dep      *dependency.Dependency // nil: none yet, or it asks many
	breaker  *recloser.Breaker      // of dep, for this request
	before   uint64                 // Seq of breaker when the call came
	outcome  string
	attempts atomic.Int64
}

// key is that of the call in a context.
type key struct{}

func of(ctx context.Context) *call {
	c, _ := ctx.Value(key{}).(*call)
	return c
}

// Handler makes a span of each request that next answers. Where the caller says of
// which trace it is a part, it is.
func (t *Tracer) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := t.headers.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		method := methodOf(r)
		ctx, span := t.tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.request.method", method)))
		if !span.IsRecording() {
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		c := &call{span: span, begun: time.Now()}
		status, whole := &status{ResponseWriter: w}, false
		defer func() { c.end(status.code, whole) }()
		next.ServeHTTP(status, r.WithContext(context.WithValue(ctx, key{}, c)))
		whole = true // it has not panicked, by which an answer is broken off
	})
}

// status notes which one was written.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	if s.code == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		s.code = code
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Write(p []byte) (int, error) {
	if s.code == 0 {
		s.code = http.StatusOK
	}
	return s.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Route notes of a request's span which route it took.
func (t *Tracer) Route(r *http.Request, route string) {
	if t == nil {
		return
	}
	if c := of(r.Context()); c != nil {
		c.span.SetName(methodOf(r) + " " + route)
		c.span.SetAttributes(attribute.String("http.route", route))
	}
}

// To notes of a request's span to which dependency it goes.
func (t *Tracer) To(r *http.Request, dep *dependency.Dependency) {
	if t == nil {
		return
	}
	if c := of(r.Context()); c != nil {
		b := dep.BreakerOf(r)
		s := b.Brief()
		c.dep, c.breaker, c.before, c.outcome = dep, b, s.Seq, passed
		c.span.SetAttributes(name(dep), attribute.String("recloser.breaker.state", s.State.String()))
	}
}

// What became of a call, for who made it.
const (
	passed  = "passed"  // the dependency has answered
	refused = "refused" // by its breaker
	failed  = "failed"  // no answer, or a limit was reached
	gone    = "gone"    // the caller has not waited
)

// Fail notes of a request's span that it gets no answer of its dependency's.
func (t *Tracer) Fail(ctx context.Context, err error, callerGone bool) {
	if t == nil {
		return
	}
	c := of(ctx)
	if c == nil || c.dep == nil {
		return
	}
	c.outcome = failed
	if callerGone {
		c.outcome = gone
	}
	if open, ok := errors.AsType[*recloser.OpenError](err); ok {
		c.outcome = refused
		c.span.SetAttributes(attribute.String("recloser.refused", string(open.Reason)))
	}
	t.Refused(ctx, c.dep, err)
}

// Refused notes of the span in ctx that a dependency's breaker has refused, if err is
// that. The name of a key's breaker is not told: it may be of a person.
func (t *Tracer) Refused(ctx context.Context, dep *dependency.Dependency, err error) {
	if t == nil {
		return
	}
	if open, ok := errors.AsType[*recloser.OpenError](err); ok {
		named := *open
		named.Name = dep.ID
		_ = otelbreaker.RecordRefusal(ctx, &named)
	}
}

func (c *call) end(status int, whole bool) {
	if !whole && c.outcome == passed {
		c.outcome = failed
	}
	if c.outcome != "" {
		c.span.SetAttributes(attribute.String("recloser.outcome", c.outcome))
	}
	if status == 0 && whole {
		status = http.StatusOK // as the server says of who says nothing
	}
	if status > 0 {
		c.span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	if !whole || status >= 500 {
		c.span.SetStatus(codes.Error, "")
	}
	c.trip()
	c.span.End()
}

// trip notes that the dependency was cut off while the call ran.
func (c *call) trip() {
	if c.dep == nil {
		return
	}
	s := c.breaker.Brief()
	if s.State != recloser.Open || s.Seq == c.before {
		return
	}
	at := s.Since
	if at.Before(c.begun) { // by the breaker's clock, which is a coarse one
		at = c.begun
	}
	c.span.AddEvent("recloser.trip", trace.WithTimestamp(at), trace.WithAttributes(
		attribute.String("dependency", c.dep.ID), attribute.String("reason", string(s.Reason)),
	))
}

func name(dep *dependency.Dependency) attribute.KeyValue {
	return attribute.String("recloser.dependency", dep.ID)
}
