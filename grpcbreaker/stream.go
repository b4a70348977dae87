package grpcbreaker

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/recloser-go/recloser"
)

// StreamClientInterceptor returns an interceptor that opens streams through
// breakers. A stream is one call: answered with its first header or message,
// and ended with the stream or with its context. What the server answers after
// that may take as long as it likes. The slow clock stands still until the client
// has sent what the server needs for an answer: all, or if the server answers
// with a stream too, the first message.
//
// Cancelling its context is how a client ends a stream it has seen enough of: a
// success, once answered. A deadline is no such end; it is judged as in any call.
// Streams are not released on a trip, whatever [recloser.Config.CancelOnTrip].
func StreamClientInterceptor(breakers Breakers) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		breaker := breakers(method, cc)
		if breaker == nil {
			return streamer(ctx, desc, cc, method, opts...)
		}
		permit, err := breaker.Allow(ctx)
		if open := (*recloser.OpenError)(nil); errors.As(err, &open) {
			return nil, &refusal{open}
		}
		if err != nil { // the context was done before
			return nil, status.FromContextError(err).Err()
		}
		s := &clientStream{ctx: ctx, desc: desc, permit: &permit}
		returned := false
		defer func() {
			if !returned { // a panic
				permit.End(recloser.Failure)
			}
		}()
		// gRPC ends the streams of a connection that is closed, read or not.
		opts = append(slices.Clip(opts), grpc.OnFinish(func(err error) {
			if status.Code(err) == codes.Canceled && ctx.Err() == nil {
				s.end(err)
			}
		}))
		if desc.ClientStreams {
			permit.Sending()
		}
		s.ClientStream, err = streamer(ctx, desc, cc, method, opts...)
		returned = true
		if err != nil {
			s.end(err)
			return nil, err
		}
		s.unwatch = context.AfterFunc(ctx, func() { s.end(status.FromContextError(ctx.Err()).Err()) })
		return s, nil
	}
}

// clientStream tells a permit how a stream goes.
type clientStream struct {
	grpc.ClientStream
	ctx     context.Context // of the stream, as its caller gave it
	desc    *grpc.StreamDesc
	unwatch func() bool // stops the watch over ctx

	mu       sync.Mutex // for the permit
	permit   *recloser.Permit
	answered bool
}

// Header implements [grpc.ClientStream].
func (s *clientStream) Header() (header metadata.MD, err error) {
	header, err = s.ClientStream.Header()
	switch {
	case err != nil:
		s.over(err)
	case header != nil: // else the stream has ended, and RecvMsg says how
		s.answer()
	}
	return header, err
}

// SendMsg implements [grpc.ClientStream].
func (s *clientStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	switch {
	case err == nil:
		if s.desc.ServerStreams {
			s.sent()
		}
	case !errors.Is(err, io.EOF): // else RecvMsg says how the stream ended
		s.over(&unrelated{err}) // the client's own error, such as a message that is no protobuf
	}
	return err
}

// CloseSend implements [grpc.ClientStream].
func (s *clientStream) CloseSend() error {
	err := s.ClientStream.CloseSend()
	s.sent()
	return err
}

// RecvMsg implements [grpc.ClientStream].
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	switch {
	case errors.Is(err, io.EOF), err == nil && !s.desc.ServerStreams:
		s.over(nil)
	case err != nil:
		s.over(err)
	default:
		s.answer()
	}
	return err
}

func (s *clientStream) sent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permit.Sent()
}

func (s *clientStream) answer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = true
	s.permit.Answered()
}

// over ends the call as its caller saw it end.
func (s *clientStream) over(err error) {
	s.unwatch()
	s.end(err)
}

func (s *clientStream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered && errors.Is(s.ctx.Err(), context.Canceled) {
		err = nil
	}
	s.permit.Done(judged(err))
}
