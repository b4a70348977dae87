// Package grpcbreaker puts breakers into gRPC: interceptors for clients, which
// call through them, and for servers, which tell callers of a refusal.
//
// Of the status codes only Unknown, DeadlineExceeded, ResourceExhausted,
// Internal, Unavailable and DataLoss are failures. Canceled says nothing about
// the dependency, unless the caller gave up, which the breaker's rules judge.
// With any other code, such as NotFound, the dependency has answered: a success.
// [recloser.Config.Classify] is asked about failures alone.
//
// A RetryInfo in the details of Unavailable or ResourceExhausted is a time to
// wait, see [recloser.WaitError]; with ResourceExhausted it limits our rate.
//
// A refused call gets an error whose status is Unavailable, with a RetryInfo if
// the time is known, and in which errors.As finds the [recloser.OpenError]. Put
// these interceptors outside of one that retries: what they see is one call.
//
// With [recloser.Config.CancelOnTrip] a trip releases those who wait for an answer,
// unary calls and streams, with such an error. A client releases; the interceptors
// for servers have no breaker, cancel no handler, and only translate what it returns.
package grpcbreaker

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/recloser-go/recloser"
)

// Breakers returns the breaker that a call of a method goes through, or nil if
// it goes through none. method is like "/package.Service/Method". It must be
// safe for concurrent use.
type Breakers func(method string, cc *grpc.ClientConn) *recloser.Breaker

// PerTarget returns the breaker of a Set whose key is the connection's target.
func PerTarget(set *recloser.Set) Breakers {
	return func(_ string, cc *grpc.ClientConn) *recloser.Breaker { return set.Get(cc.Target()) }
}

// UnaryClientInterceptor returns an interceptor that makes unary calls through
// breakers, as [recloser.Breaker.Do] makes them.
func UnaryClientInterceptor(breakers Breakers) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		breaker := breakers(method, cc)
		if breaker == nil {
			return invoker(ctx, method, req, reply, cc, opts...)
		}
		var made bool
		var result error
		err := breaker.Do(ctx, func(ctx context.Context) error {
			made = true
			result = invoker(ctx, method, req, reply, cc, opts...)
			return judged(result)
		})
		if open := (*recloser.OpenError)(nil); errors.As(err, &open) {
			return &refusal{open}
		}
		if !made { // the context was done before
			return status.FromContextError(err).Err()
		}
		return result
	}
}
