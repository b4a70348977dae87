package grpcbreaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/grpcbreaker"
)

func asOpen(err error, open **recloser.OpenError) bool { return errors.As(err, open) }

func TestC12_WhichCodesAreFailures(t *testing.T) {
	failures := []codes.Code{
		codes.Unknown, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Internal, codes.Unavailable, codes.DataLoss,
	}
	answers := []codes.Code{
		codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied,
		codes.FailedPrecondition, codes.Aborted, codes.OutOfRange, codes.Unimplemented, codes.Unauthenticated,
	}
	for _, code := range failures {
		t.Run(code.String(), func(t *testing.T) {
			b := newBreaker(t, recloser.Config{Consecutive: 5})
			cc := dial(t, service{ask: func(context.Context) error { return status.Error(code, "as told") }}, always(b))
			for range 5 {
				if err := ask(t.Context(), cc); status.Code(err) != code || errors.Is(err, recloser.ErrOpen) {
					t.Fatalf("got %v, want the server's %v", err, code)
				}
			}
			wantRefusal(t, ask(t.Context(), cc), true)
			wantEnded(t, b, 0, 5, 0)
		})
	}
	for _, code := range append(answers, codes.Canceled) {
		t.Run(code.String(), func(t *testing.T) {
			b := newBreaker(t, recloser.Config{Consecutive: 5})
			cc := dial(t, service{ask: func(context.Context) error { return status.Error(code, "as told") }}, always(b))
			for range 100 {
				if err := ask(t.Context(), cc); status.Code(err) != code {
					t.Fatalf("got %v, want the server's %v", err, code)
				}
			}
			if code == codes.Canceled {
				wantEnded(t, b, 0, 0, 100)
			} else {
				wantEnded(t, b, 100, 0, 0)
			}
			if b.State() != recloser.Closed {
				t.Error(b.Explain())
			}
		})
	}
}

// What a server answers with to a caller that has given up is not looked at.
func TestCallersWhoGiveUp(t *testing.T) {
	for _, tt := range []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		code codes.Code
	}{
		{"cancel", context.WithCancel, codes.Canceled},
		{"own deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 500*time.Millisecond)
		}, codes.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				b := newBreaker(t, recloser.Config{})
				cc := dial(t, service{ask: func(server context.Context) error {
					if tt.code == codes.Canceled {
						cancel()
					}
					<-server.Done()
					return status.Error(codes.Internal, "gone")
				}}, always(b))
				for range 2 { // the second with a context that is done
					if err := ask(ctx, cc); status.Code(err) != tt.code {
						t.Errorf("got %v, want %v", err, tt.code)
					}
				}
				wantEnded(t, b, 0, 0, 1)
			})
		})
	}
}

// The server's own timer may be the first to see that the caller's time is over.
func TestServerNoticesTheCallersDeadlineFirst(t *testing.T) {
	for _, tt := range []struct {
		left            time.Duration // of the caller's time, when the server answers
		failed, ignored uint64
	}{
		{0, 0, 1},
		{time.Minute, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{})
			ctx := deadlineOnly{t.Context(), time.Now().Add(tt.left)}
			err := grpcbreaker.UnaryClientInterceptor(always(b))(ctx, unary, nil, nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
					return status.Error(codes.DeadlineExceeded, "too late")
				})
			if status.Code(err) != codes.DeadlineExceeded {
				t.Error(err)
			}
			wantEnded(t, b, 0, tt.failed, tt.ignored)
		})
	}
}

// deadlineOnly is a context whose timer is late.
type deadlineOnly struct {
	context.Context
	at time.Time
}

func (c deadlineOnly) Deadline() (time.Time, bool) { return c.at, true }

func TestToldToWait(t *testing.T) {
	for _, tt := range []struct {
		code  codes.Code
		after time.Duration
		calls int // until the first refusal; 0: never
	}{
		{codes.Unavailable, 30 * time.Second, 1},
		{codes.ResourceExhausted, 30 * time.Second, 2},
		{codes.Unavailable, 0, 0},
		{codes.Aborted, 30 * time.Second, 0}, // a transaction to try again
	} {
		t.Run(tt.code.String()+" "+tt.after.String(), func(t *testing.T) {
			b := newBreaker(t, recloser.Config{Consecutive: 100})
			told := withRetryInfo(t, tt.code, tt.after)
			cc := dial(t, service{ask: func(context.Context) error { return told }}, always(b))
			refused := 0
			for n := 1; n <= 5 && refused == 0; n++ {
				open := (*recloser.OpenError)(nil)
				if errors.As(ask(t.Context(), cc), &open) {
					refused = n
					if left := open.RetryAfter(); open.Reason != recloser.ReasonToldToWait || left <= 10*time.Second || left > 30*time.Second {
						t.Errorf("refused for %q, %v left", open.Reason, left)
					}
				}
			}
			if want := tt.calls; want > 0 && refused != want+1 || want == 0 && refused != 0 {
				t.Errorf("call %d was the first refused, want one after %d", refused, want)
			}
		})
	}
}

func TestPanicIsAFailure(t *testing.T) {
	for _, start := range []func(context.Context, grpcbreaker.Breakers){
		func(ctx context.Context, breakers grpcbreaker.Breakers) {
			_ = grpcbreaker.UnaryClientInterceptor(breakers)(ctx, unary, nil, nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { panic("broken") })
		},
		func(ctx context.Context, breakers grpcbreaker.Breakers) {
			_, _ = grpcbreaker.StreamClientInterceptor(breakers)(ctx, descs[bidi], nil, bidi,
				func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
					panic("broken")
				})
		},
	} {
		b := newBreaker(t, recloser.Config{})
		func() {
			defer func() {
				if recover() != "broken" {
					t.Error("the panic did not go on")
				}
			}()
			start(t.Context(), always(b))
		}()
		wantEnded(t, b, 0, 1, 0)
	}
}

func TestPerTargetAndUnguarded(t *testing.T) {
	set, err := recloser.NewSet(recloser.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	svc := service{
		ask:    func(context.Context) error { return nil },
		stream: func(grpc.ServerStream) error { return nil },
	}
	if err := ask(t.Context(), dial(t, svc, grpcbreaker.PerTarget(set))); err != nil {
		t.Fatal(err)
	}
	wantEnded(t, set.Get("passthrough:///hotel-1"), 1, 0, 0)
	if set.Len() != 1 {
		t.Errorf("%d breakers, want 1", set.Len())
	}

	unguarded := dial(t, svc, always(nil))
	if err := ask(t.Context(), unguarded); err != nil {
		t.Error(err)
	}
	if err := readAll(open(t, t.Context(), unguarded, download)); err != nil {
		t.Error(err)
	}
}

func TestRefusalOfABreakerFurtherInIsIgnored(t *testing.T) {
	inner, outer := newBreaker(t, recloser.Config{}), newBreaker(t, recloser.Config{Consecutive: 1})
	if err := inner.TripFor(time.Minute, "test", "look"); err != nil {
		t.Fatal(err)
	}
	within := grpcbreaker.UnaryClientInterceptor(always(inner))
	err := grpcbreaker.UnaryClientInterceptor(always(outer))(t.Context(), unary, nil, nil, nil,
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, opts ...grpc.CallOption) error {
			return within(ctx, method, req, reply, cc, nil, opts...)
		})
	wantRefusal(t, err, true)
	wantEnded(t, outer, 0, 0, 1)
	if outer.State() != recloser.Closed {
		t.Error(outer.Explain())
	}
}

func TestReleasedOnATrip(t *testing.T) {
	b := newBreaker(t, recloser.Config{CancelOnTrip: true})
	cc := dial(t, service{ask: func(ctx context.Context) error {
		if err := b.TripFor(time.Minute, "test", "look"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}, always(b))
	err := ask(t.Context(), cc)
	open := (*recloser.OpenError)(nil)
	if !errors.As(err, &open) || open.Reason != recloser.ReasonReleased || status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, want a release", err)
	}
}
