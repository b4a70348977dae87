package grpcbreaker_test

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/grpcbreaker"
	"github.com/recloser-go/recloser/internal/eventually"
)

const (
	unary    = "/hotel.Access/Ask"
	download = "/hotel.Access/Guests"
	upload   = "/hotel.Access/Report"
	bidi     = "/hotel.Access/Talk"
)

// descs are the streams, as a client is generated with them.
var descs = map[string]*grpc.StreamDesc{
	download: {StreamName: "Guests", ServerStreams: true},
	upload:   {StreamName: "Report", ClientStreams: true},
	bidi:     {StreamName: "Talk", ServerStreams: true, ClientStreams: true},
}

// service is what a test scripts a server to do.
type service struct {
	ask    func(context.Context) error
	stream func(grpc.ServerStream) error
}

// dial starts the service in memory and returns a client that goes through
// breakers, which may be nil.
func dial(t testing.TB, svc service, breakers grpcbreaker.Breakers, opts ...grpc.ServerOption) *grpc.ClientConn {
	t.Helper()
	handler := func(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		in := new(emptypb.Empty)
		if err := decode(in); err != nil {
			return nil, err
		}
		ask := func(ctx context.Context, _ any) (any, error) { return in, svc.ask(ctx) }
		if interceptor == nil {
			return ask(ctx, in)
		}
		return interceptor(ctx, in, &grpc.UnaryServerInfo{FullMethod: unary}, ask)
	}
	desc := grpc.ServiceDesc{
		ServiceName: "hotel.Access",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Ask", Handler: handler}},
	}
	for _, stream := range descs {
		served := *stream
		served.Handler = func(_ any, s grpc.ServerStream) error { return svc.stream(s) }
		desc.Streams = append(desc.Streams, served)
	}
	server := grpc.NewServer(opts...)
	server.RegisterService(&desc, svc)
	listener := bufconn.Listen(64 << 10)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	dialing := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
	}
	if breakers != nil {
		dialing = append(
			dialing,
			grpc.WithUnaryInterceptor(grpcbreaker.UnaryClientInterceptor(breakers)),
			grpc.WithStreamInterceptor(grpcbreaker.StreamClientInterceptor(breakers)),
		)
	}
	cc, err := grpc.NewClient("passthrough:///hotel-1", dialing...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

func always(b *recloser.Breaker) grpcbreaker.Breakers {
	return func(string, *grpc.ClientConn) *recloser.Breaker { return b }
}

func newBreaker(t testing.TB, cfg recloser.Config) *recloser.Breaker {
	t.Helper()
	cfg.Name = "hotel-1"
	b, err := recloser.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ask(ctx context.Context, cc *grpc.ClientConn) error {
	return cc.Invoke(ctx, unary, new(emptypb.Empty), new(emptypb.Empty))
}

func withRetryInfo(t testing.TB, code codes.Code, after time.Duration) error {
	t.Helper()
	st, err := status.New(code, "wait").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	if err != nil {
		t.Fatal(err)
	}
	return st.Err()
}

// wantRefusal checks that err is a refusal to gRPC and to this project, with
// the time left in it.
func wantRefusal(t *testing.T, err error, local bool) {
	t.Helper()
	open := (*recloser.OpenError)(nil)
	if errorsAs := asOpen(err, &open); errorsAs != local {
		t.Errorf("an OpenError in %v: %v, want %v", err, errorsAs, local)
	}
	st := status.Convert(err)
	if st.Code() != codes.Unavailable {
		t.Errorf("code %v in %v, want Unavailable", st.Code(), err)
	}
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok && info.GetRetryDelay().AsDuration() > time.Second {
			return
		}
	}
	t.Errorf("no time to wait in %v", st.Details())
}

// wantEnded waits until no call runs, and compares how they ended.
func wantEnded(t *testing.T, b *recloser.Breaker, success, failed, ignored uint64) {
	t.Helper()
	eventually.True(t, 20*time.Second, func() bool { return b.Stats().InFlight == 0 }, "the end of all calls")
	s := b.Stats()
	if s.Success != success || s.Failed != failed || s.Ignored != ignored || s.Slow != 0 {
		t.Errorf("%d good, %d failed, %d ignored, %d slow; want %d, %d, %d, 0",
			s.Success, s.Failed, s.Ignored, s.Slow, success, failed, ignored)
	}
}
