package grpcbreaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/grpcbreaker"
)

// A client with a breaker for each target it calls. Nobody listens here.
func Example() {
	breakers, err := recloser.NewSet(recloser.Config{
		Consecutive: 3,
		SlowCall:    2 * time.Second,
	}, nil)
	if err != nil {
		fmt.Println(err) // names every setting that is wrong
		return
	}
	hotel, err := grpc.NewClient(
		"unix:///nobody/listens/here",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcbreaker.UnaryClientInterceptor(grpcbreaker.PerTarget(breakers))),
		grpc.WithStreamInterceptor(grpcbreaker.StreamClientInterceptor(grpcbreaker.PerTarget(breakers))),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hotel.Close()

	for range 4 {
		err := hotel.Invoke(context.Background(), "/hotel.Access/Ask", new(emptypb.Empty), new(emptypb.Empty))
		if open := (*recloser.OpenError)(nil); errors.As(err, &open) {
			fmt.Println("not sent:", open.State, open.State.Effect())
			continue
		}
		fmt.Println("sent")
	}
	// Output:
	// sent
	// sent
	// sent
	// not sent: open cut off
}
