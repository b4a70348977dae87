package grpcbreaker

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/recloser-go/recloser"
)

// UnaryServerInterceptor returns an interceptor for handlers that call
// dependencies through breakers. If a handler fails with a refusal, the caller
// gets Unavailable, with a RetryInfo if the time is known, in place of Unknown.
// A handler that returns a status of its own is left alone.
func UnaryServerInterceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		reply, err := handler(ctx, req)
		return reply, answer(err)
	}
}

// StreamServerInterceptor is [UnaryServerInterceptor] for streams.
func StreamServerInterceptor() grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return answer(handler(srv, stream))
	}
}

// answer returns the error with which a server answers.
func answer(err error) error {
	var own interface{ GRPCStatus() *status.Status }
	if errors.As(err, &own) {
		if r, ok := own.(*refusal); ok {
			return r // without what it is wrapped in, as its text shows the last failure
		}
		return err
	}
	if open := (*recloser.OpenError)(nil); errors.As(err, &open) {
		return &refusal{open}
	}
	return err
}
