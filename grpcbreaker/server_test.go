package grpcbreaker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/grpcbreaker"
)

// refusedBy returns the two forms of a refusal that a handler may see: a
// breaker's own, and that of the client interceptor.
func refusedBy(t *testing.T) (raw, fromClient error) {
	t.Helper()
	b := newBreaker(t, recloser.Config{Consecutive: 1, OpenFor: time.Minute})
	secret := func(context.Context) error { return errors.New("dial 10.0.0.7") }
	_ = b.Do(t.Context(), secret)
	raw = b.Do(t.Context(), secret)
	if !errors.Is(raw, recloser.ErrOpen) || !strings.Contains(raw.Error(), "10.0.0.7") {
		t.Fatalf("no refusal that shows its cause: %v", raw)
	}
	return raw, ask(t.Context(), dial(t, service{}, always(b)))
}

func TestServersAnswerRefusals(t *testing.T) {
	raw, fromClient := refusedBy(t)
	for name, err := range map[string]error{
		"raw":     raw,
		"wrapped": fmt.Errorf("asking the hotel: %w", raw),
		"not UTF-8": &recloser.OpenError{
			Name: "\xff hotel-1", State: recloser.Open, Reason: recloser.ReasonOpen, Until: time.Now().Add(time.Minute),
		},
		"of a client":         fromClient,
		"of a client wrapped": fmt.Errorf("asking the hotel: %w", fromClient),
	} {
		t.Run(name, func(t *testing.T) {
			cc := dial(t, service{
				ask:    func(context.Context) error { return err },
				stream: func(grpc.ServerStream) error { return err },
			}, nil, grpc.UnaryInterceptor(grpcbreaker.UnaryServerInterceptor()), grpc.StreamInterceptor(grpcbreaker.StreamServerInterceptor()))
			for _, err := range []error{ask(t.Context(), cc), readAll(open(t, t.Context(), cc, download))} {
				wantRefusal(t, err, false)
				if text := err.Error(); strings.Contains(text, "10.0.0.7") || !strings.Contains(text, "hotel-1 is open: open") {
					t.Errorf("a remote caller sees: %s", text)
				}
			}
		})
	}
}

func TestServersLeaveOtherAnswersAlone(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code codes.Code
	}{
		{nil, codes.OK},
		{errors.New("broken"), codes.Unknown},
		{context.Canceled, codes.Canceled},
		{status.Error(codes.FailedPrecondition, "no hotel"), codes.FailedPrecondition},
	} {
		cc := dial(t, service{ask: func(context.Context) error { return tt.err }}, nil,
			grpc.UnaryInterceptor(grpcbreaker.UnaryServerInterceptor()))
		if err := ask(t.Context(), cc); status.Code(err) != tt.code {
			t.Errorf("%v became %v, want %v", tt.err, err, tt.code)
		}
	}
}
