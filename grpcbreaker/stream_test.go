package grpcbreaker_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/recloser-go/recloser"
)

// open opens a stream, and for a download sends its request.
func open(t *testing.T, ctx context.Context, cc *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	s, err := cc.NewStream(ctx, descs[method], method)
	if err != nil {
		t.Fatal(err)
	}
	if method == download {
		if err := errors.Join(s.SendMsg(new(emptypb.Empty)), s.CloseSend()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func readAll(s grpc.ClientStream) error {
	for {
		if err := s.RecvMsg(new(emptypb.Empty)); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// sends is a server that sends two messages and ends with err.
func sends(err error) func(grpc.ServerStream) error {
	return func(s grpc.ServerStream) error {
		for range 2 {
			if err := s.SendMsg(new(emptypb.Empty)); err != nil {
				return err
			}
		}
		return err
	}
}

// hangs is a server that waits until its caller has gone.
func hangs(s grpc.ServerStream) error {
	<-s.Context().Done()
	return nil
}

func answersAndHangs(s grpc.ServerStream) error {
	if err := s.SendMsg(new(emptypb.Empty)); err != nil {
		return err
	}
	return hangs(s)
}

func receive(t *testing.T, s grpc.ClientStream) {
	t.Helper()
	if err := s.RecvMsg(new(emptypb.Empty)); err != nil {
		t.Fatal(err)
	}
}

func TestStreamEnds(t *testing.T) {
	unread := func(*testing.T, grpc.ClientStream) {}
	for _, tt := range []struct {
		name, method             string
		serve                    func(grpc.ServerStream) error
		read                     func(*testing.T, grpc.ClientStream)
		left                     int // in flight until the context is cancelled
		success, failed, ignored uint64
	}{
		{"read to its end", download, sends(nil), func(t *testing.T, s grpc.ClientStream) {
			if err := readAll(s); err != nil {
				t.Error(err)
			}
		}, 0, 1, 0, 0},
		{"breaks off", download, sends(status.Error(codes.Unavailable, "lost")), func(t *testing.T, s grpc.ClientStream) {
			if err := readAll(s); status.Code(err) != codes.Unavailable {
				t.Error(err)
			}
		}, 0, 0, 1, 0},
		{
			"answered with no", download, func(grpc.ServerStream) error { return status.Error(codes.NotFound, "none") },
			func(t *testing.T, s grpc.ClientStream) {
				if err := readAll(s); status.Code(err) != codes.NotFound {
					t.Error(err)
				}
			}, 0, 1, 0, 0,
		},
		{"left after a message", download, answersAndHangs, receive, 1, 1, 0, 0},
		{"left after the header", download, func(s grpc.ServerStream) error {
			return errors.Join(s.SendHeader(metadata.Pairs("a", "b")), hangs(s))
		}, func(t *testing.T, s grpc.ClientStream) {
			if header, err := s.Header(); err != nil || header.Get("a") == nil {
				t.Error(header, err)
			}
		}, 1, 1, 0, 0},
		{"left without an answer", download, hangs, unread, 1, 0, 0, 1},
		{"nothing sent, nothing read", bidi, hangs, unread, 1, 0, 0, 1},
		{"no protobuf to send", bidi, hangs, func(t *testing.T, s grpc.ClientStream) {
			if err := s.SendMsg("no protobuf"); err == nil {
				t.Error("a string was sent")
			}
		}, 0, 0, 0, 1},
		{"upload with one answer", upload, func(s grpc.ServerStream) error {
			for s.RecvMsg(new(emptypb.Empty)) == nil {
				continue
			}
			return s.SendMsg(new(emptypb.Empty))
		}, func(t *testing.T, s grpc.ClientStream) {
			for range 3 {
				if err := s.SendMsg(new(emptypb.Empty)); err != nil {
					t.Error(err)
				}
			}
			if err := s.CloseSend(); err != nil {
				t.Error(err)
			}
			receive(t, s)
		}, 0, 1, 0, 0},
		{
			"upload that the server stops", upload, func(grpc.ServerStream) error { return status.Error(codes.Internal, "full") },
			func(t *testing.T, s grpc.ClientStream) {
				for !errors.Is(s.SendMsg(new(emptypb.Empty)), io.EOF) {
					continue
				}
				if err := s.RecvMsg(new(emptypb.Empty)); status.Code(err) != codes.Internal {
					t.Error(err)
				}
			}, 0, 0, 1, 0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{})
			cc := dial(t, service{stream: tt.serve}, always(b))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := open(t, ctx, cc, tt.method)
			tt.read(t, s)
			if got := b.Stats().InFlight; got != tt.left {
				t.Errorf("%d calls in flight, want %d", got, tt.left)
			}
			cancel()
			wantEnded(t, b, tt.success, tt.failed, tt.ignored)
		})
	}
}

// A closed connection ends streams that nobody reads, whose context goes on.
func TestClosedConnectionEndsStreams(t *testing.T) {
	b := newBreaker(t, recloser.Config{})
	cc := dial(t, service{stream: hangs}, always(b))
	open(t, t.Context(), cc, bidi)
	if n := b.Stats().InFlight; n != 1 {
		t.Errorf("%d calls in flight, want 1", n)
	}
	if err := cc.Close(); err != nil {
		t.Fatal(err)
	}
	wantEnded(t, b, 0, 0, 1)
}

// Whoever talks on may take longer than the slow limit; whoever was not answered
// by then is slow.
func TestSlowStreams(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		talk         func(*testing.T, grpc.ClientStream)
		overdue      int
	}{
		{"answered", download, receive, 0},
		{"nothing asked yet", bidi, func(*testing.T, grpc.ClientStream) {}, 0},
		{"long upload", upload, func(t *testing.T, s grpc.ClientStream) {
			if err := s.SendMsg(new(emptypb.Empty)); err != nil {
				t.Error(err)
			}
		}, 0},
		{"no answer to a question", bidi, func(t *testing.T, s grpc.ClientStream) {
			if err := s.SendMsg(new(emptypb.Empty)); err != nil {
				t.Error(err)
			}
		}, 1},
		{"no answer to an upload", upload, func(t *testing.T, s grpc.ClientStream) {
			if err := s.CloseSend(); err != nil {
				t.Error(err)
			}
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{SlowCall: time.Second})
				serve := hangs
				if tt.method == download {
					serve = answersAndHangs
				}
				tt.talk(t, open(t, t.Context(), dial(t, service{stream: serve}, always(b)), tt.method))
				<-time.After(3 * time.Second)
				if got := b.Stats().Overdue; got != tt.overdue {
					t.Errorf("%d slow calls, want %d", got, tt.overdue)
				}
			})
		})
	}
}

func TestStreamsAreRefused(t *testing.T) {
	b := newBreaker(t, recloser.Config{Consecutive: 5})
	cc := dial(t, service{stream: sends(nil)}, always(b))
	if err := b.TripFor(time.Minute, "test", "look"); err != nil {
		t.Fatal(err)
	}
	_, err := cc.NewStream(t.Context(), descs[download], download)
	wantRefusal(t, err, true)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cc.NewStream(ctx, descs[download], download); status.Code(err) != codes.Canceled {
		t.Errorf("with a context that is done: %v", err)
	}
	wantEnded(t, b, 0, 0, 0)
}
