package grpcbreaker_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/grpcbreaker"
	"github.com/recloser-go/recloser/internal/eventually"
)

// trip trips the breaker and waits until all is quiet again.
func trip(t *testing.T, b *recloser.Breaker) {
	t.Helper()
	if err := b.TripFor(time.Minute, "test", "look"); err != nil {
		t.Error(err)
	}
	synctest.Wait()
}

func isReleased(err error) bool {
	open := (*recloser.OpenError)(nil)
	return errors.As(err, &open) && open.Reason == recloser.ReasonReleased && status.Code(err) == codes.Unavailable
}

// A trip releases who waits in RecvMsg or Header, and a stream that nobody reads,
// on the server too.
func TestUnansweredStreamsAreReleasedOnATrip(t *testing.T) {
	recv := func(s grpc.ClientStream) error { return s.RecvMsg(new(emptypb.Empty)) }
	header := func(s grpc.ClientStream) error {
		_, err := s.Header()
		return err
	}
	for _, tt := range []struct {
		name, method string
		read         func(grpc.ClientStream) error
	}{
		{"download, in RecvMsg", download, recv},
		{"download, in Header", download, header},
		{"upload, in RecvMsg", upload, recv},
		{"bidi, in RecvMsg", bidi, recv},
		{"bidi, in Header", bidi, header},
		{"unread", bidi, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{CancelOnTrip: true})
				serving := 0
				cc := dial(t, service{stream: func(s grpc.ServerStream) error {
					serving++
					defer func() { serving-- }()
					return hangs(s)
				}}, always(b))
				s := open(t, t.Context(), cc, tt.method)
				got := make(chan error, 1)
				if tt.read != nil {
					go func() { got <- tt.read(s) }()
				}
				synctest.Wait()
				if serving != 1 {
					t.Fatalf("%d streams on the server, want 1", serving)
				}
				trip(t, b)
				wantEnded(t, b, 0, 0, 1)
				if serving != 0 {
					t.Error("the server still works on it")
				}
				if tt.read != nil {
					if err := <-got; !isReleased(err) {
						t.Errorf("who waited got %v, want a release", err)
					}
				}
				for range 2 {
					if err := recv(s); !isReleased(err) {
						t.Errorf("RecvMsg: %v, want a release", err)
					}
				}
				if err := header(s); !isReleased(err) {
					t.Errorf("Header: %v, want a release", err)
				}
				if n := b.Stats().Refused[recloser.ReasonReleased]; n != 1 {
					t.Errorf("%d released, want 1", n)
				}
			})
		})
	}
}

// A trip leaves alone what is answered, and without CancelOnTrip all.
func TestStreamsThatATripLeavesAlone(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cancel bool
		answer func(grpc.ServerStream) error // before the trip
		read   func(*testing.T, grpc.ClientStream)
	}{
		{
			"after the first message", true, func(s grpc.ServerStream) error { return s.SendMsg(new(emptypb.Empty)) },
			receive,
		},
		{
			"after the header", true, func(s grpc.ServerStream) error { return s.SendHeader(metadata.Pairs("a", "b")) },
			func(t *testing.T, s grpc.ClientStream) {
				if header, err := s.Header(); err != nil || header.Get("a") == nil {
					t.Error(header, err)
				}
			},
		},
		{
			"without CancelOnTrip", false, func(grpc.ServerStream) error { return nil },
			func(*testing.T, grpc.ClientStream) {},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{CancelOnTrip: tt.cancel})
				tripped := make(chan struct{})
				s := open(t, t.Context(), dial(t, service{stream: func(s grpc.ServerStream) error {
					if err := tt.answer(s); err != nil {
						return err
					}
					<-tripped
					return sends(s.Context().Err())(s)
				}}, always(b)), download)
				tt.read(t, s)
				trip(t, b)
				close(tripped)
				if err := readAll(s); err != nil {
					t.Error(err)
				}
				wantEnded(t, b, 1, 0, 0)
			})
		})
	}
}

// A failure that trips the breaker is told as it is: it releases others.
func TestStreamThatTripsIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{CancelOnTrip: true, Consecutive: 1})
		cc := dial(t, service{stream: func(s grpc.ServerStream) error {
			if err := s.RecvMsg(new(emptypb.Empty)); err == nil {
				return status.Error(codes.Internal, "lost")
			}
			return hangs(s)
		}}, always(b))
		other := open(t, t.Context(), cc, bidi)
		if err := readAll(open(t, t.Context(), cc, download)); status.Code(err) != codes.Internal {
			t.Errorf("got %v, want the server's error", err)
		}
		if b.State() != recloser.Open {
			t.Fatal(b.Explain())
		}
		if err := readAll(other); !isReleased(err) {
			t.Errorf("the other got %v, want a release", err)
		}
		wantEnded(t, b, 0, 1, 1)
	})
}

// scripted is a stream whose server does what a test says.
type scripted struct {
	grpc.ClientStream
	recv func() error
}

func (s *scripted) RecvMsg(any) error { return s.recv() }

// start starts a stream at the interceptor, as gRPC would; opened gets its context.
func start(t *testing.T, b *recloser.Breaker, method string, opened func(context.Context) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
	t.Helper()
	return grpcbreaker.StreamClientInterceptor(always(b))(t.Context(), descs[method], nil, method,
		func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
			return opened(ctx)
		})
}

// An answer that is complete is worth more than the release it crosses.
func TestAnswersThatCrossARelease(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		answer       error
		released     bool
	}{
		{"the only message", upload, nil, false},
		{"the first of some", download, nil, true},
		{"the end", download, io.EOF, false},
		{"no", download, status.Error(codes.NotFound, "none"), false},
		{"a failure", download, status.Error(codes.Internal, "broken"), true},
		{"the cancellation", download, status.FromContextError(context.Canceled).Err(), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{CancelOnTrip: true})
				s, err := start(t, b, tt.method, func(ctx context.Context) (grpc.ClientStream, error) {
					return &scripted{recv: func() error {
						trip(t, b)
						if !errors.Is(context.Cause(ctx), recloser.ErrOpen) {
							t.Errorf("the stream's context: %v", context.Cause(ctx))
						}
						return tt.answer
					}}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				err = s.RecvMsg(nil)
				if isReleased(err) != tt.released || !tt.released && !errors.Is(err, tt.answer) {
					t.Errorf("got %v, released: %v, want %v", err, isReleased(err), tt.released)
				}
				if n := b.Stats().InFlight; n != 0 {
					t.Errorf("%d calls in flight, want 0", n)
				}
			})
		})
	}
}

func TestReleasedWhileTheStreamIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{CancelOnTrip: true})
		_, err := start(t, b, bidi, func(ctx context.Context) (grpc.ClientStream, error) {
			trip(t, b)
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		})
		if !isReleased(err) {
			t.Errorf("got %v, want a release", err)
		}
		wantEnded(t, b, 0, 0, 1)
	})
}

// Neither the breaker nor the caller's context keeps a stream that has ended.
func TestStreamsThatEndedAreFree(t *testing.T) {
	for name, answer := range map[string]error{"ended": io.EOF, "broke": status.Error(codes.Internal, "broken")} {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{CancelOnTrip: true})
			var inner weak.Pointer[scripted]
			var of context.Context
			s, err := start(t, b, download, func(ctx context.Context) (grpc.ClientStream, error) {
				stream := &scripted{recv: func() error { return answer }}
				inner, of = weak.Make(stream), ctx
				return stream, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.RecvMsg(nil); !errors.Is(err, answer) {
				t.Errorf("got %v, want %v", err, answer)
			}
			if !errors.Is(context.Cause(of), context.Canceled) {
				t.Errorf("its context: %v, want it cancelled", context.Cause(of))
			}
			eventually.True(t, 20*time.Second, func() bool {
				runtime.GC()
				return inner.Value() == nil
			}, "the end of what a stream needed")
			runtime.KeepAlive(b)
		})
	}
}

func TestStreamWhoseOpeningPanicsIsFree(t *testing.T) {
	var of context.Context
	func() {
		defer func() { _ = recover() }()
		_, _ = start(t, newBreaker(t, recloser.Config{CancelOnTrip: true}), bidi, func(ctx context.Context) (grpc.ClientStream, error) {
			of = ctx
			panic("broken")
		})
	}()
	if of.Err() == nil {
		t.Error("its context goes on")
	}
}
