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
//
// With [recloser.Config.CancelOnTrip] a trip releases a stream that is not
// answered: its context is cancelled, and it ends with the [recloser.OpenError],
// as a refused one does. A stream that is answered goes on.
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
		if desc.ClientStreams {
			permit.Sending()
		}
		streamCtx := s.watch()
		returned := false
		defer func() {
			if !returned { // a panic, or runtime.Goexit
				s.unwatch()
				permit.End(recloser.Failure)
			}
		}()
		// gRPC ends the streams of a connection that is closed, and those whose
		// context is cancelled, read or not.
		opts = append(slices.Clip(opts), grpc.OnFinish(func(err error) {
			if status.Code(err) == codes.Canceled && ctx.Err() == nil {
				s.end(err)
			}
		}))
		s.ClientStream, err = streamer(streamCtx, desc, cc, method, opts...)
		returned = true
		if err != nil {
			return nil, s.over(err)
		}
		return s, nil
	}
}

// clientStream tells a permit how a stream goes.
type clientStream struct {
	grpc.ClientStream
	ctx  context.Context // as the stream's caller gave it
	desc *grpc.StreamDesc

	mu       sync.Mutex // for all below
	permit   *recloser.Permit
	answered bool
	ended    bool
	released error                   // the refusal for a caller who was released
	stopDone func() bool             // ends the watch over ctx
	stopTrip func() bool             // ends the watch for a trip; nil: none releases the stream
	cancel   context.CancelCauseFunc // of the stream's context; nil like stopTrip
}

// watch has the call end with its caller's context, and a trip release it. It
// returns the context for the stream.
func (s *clientStream) watch() context.Context {
	s.mu.Lock() // what is watched may have happened already
	defer s.mu.Unlock()
	s.stopDone = context.AfterFunc(s.ctx, func() { s.end(status.FromContextError(s.ctx.Err()).Err()) })
	trip := s.permit.Released()
	if trip.Done() == nil {
		return s.ctx
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.cancel = cancel
	s.stopTrip = context.AfterFunc(trip, func() { s.release(context.Cause(trip)) })
	return ctx
}

// unwatch frees what watch has set up. The stream has ended.
func (s *clientStream) unwatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.stopDone()
	if s.stopTrip != nil {
		s.stopTrip()
		s.cancel(nil)
	}
}

// release cancels the stream, unless the trip came too late for that.
func (s *clientStream) release(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := (*recloser.OpenError)(nil)
	if s.answered || s.ended || s.ctx.Err() != nil || !errors.As(why, &open) {
		return
	}
	s.released = &refusal{open}
	s.cancel(open)
}

// Header implements [grpc.ClientStream].
func (s *clientStream) Header() (metadata.MD, error) {
	header, err := s.ClientStream.Header()
	switch {
	case err != nil:
		err = s.over(err)
	case header != nil:
		err = s.answer()
	default: // the stream has ended, and RecvMsg says how
		err = s.refused()
	}
	if err != nil {
		return nil, err
	}
	return header, nil
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
		s.end(&unrelated{err}) // the client's own error, such as a message that is no protobuf
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
		s.end(nil)
		return err
	case err != nil:
		return s.over(err)
	default:
		return s.answer()
	}
}

func (s *clientStream) sent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permit.Sent()
}

// answer notes that an answer has come. If the stream was released before, the
// rest of it is lost, and the call ends with the refusal returned.
func (s *clientStream) answer() error {
	if err := s.firstAnswer(); err != nil {
		return s.over(err)
	}
	return nil
}

func (s *clientStream) firstAnswer() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered || s.released != nil {
		return s.released
	}
	s.answered = true
	if s.stopTrip != nil {
		s.stopTrip()
	}
	s.permit.Answered()
	return nil
}

func (s *clientStream) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released
}

// over ends the call with an error of the stream, and returns the one for its
// caller: the refusal if it was released, unless the server has answered.
func (s *clientStream) over(err error) error {
	s.end(err)
	if refused := s.refused(); refused != nil && judged(err) != nil {
		return refused
	}
	return err
}

func (s *clientStream) end(err error) {
	s.unwatch() // before Done: a trip that this call causes releases others
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered && errors.Is(s.ctx.Err(), context.Canceled) {
		err = nil
	}
	s.permit.Done(judged(err))
}
