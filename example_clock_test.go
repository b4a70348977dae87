package recloser_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
)

// A test moves the clock itself, and plays an outage in no time.
func ExampleNewManualClock() {
	clock := recloser.NewManualClock(time.Date(2025, 5, 1, 12, 0, 0, 0, time.UTC))
	hotel, err := recloser.New(recloser.Config{
		Name:        "hotel-3",
		Consecutive: 3,
		OpenFor:     10 * time.Second,
		Jitter:      recloser.Off, // so that the open time is 10 s to the nanosecond
		Clock:       clock,
	})
	if err != nil {
		log.Fatal(err)
	}
	ask := func(answer error) {
		err := hotel.Do(context.Background(), func(context.Context) error { return answer })
		fmt.Println(clock.Now().Format("15:04:05"), hotel.State(), err)
	}

	down := errors.New("connection refused")
	ask(down)
	ask(down)
	ask(down)
	clock.Advance(9 * time.Second)
	ask(nil)
	clock.Advance(time.Second)
	ask(nil)
	ask(nil)
	// Output:
	// 12:00:00 closed connection refused
	// 12:00:00 closed connection refused
	// 12:00:00 open connection refused
	// 12:00:09 open recloser: "hotel-3" is open (cut off): last failure: connection refused
	// 12:00:10 half-open <nil>
	// 12:00:10 closed <nil>
}

// One coarse clock serves all breakers of a program. Reading it is quick, and a
// program that was stopped for a while takes no call for slow because of that.
func ExampleStartClock() {
	clock, err := recloser.StartClock(2 * time.Millisecond)
	if err != nil {
		log.Fatal(err)
	}
	defer clock.Stop()

	hotels, err := recloser.NewSet(recloser.Config{SlowCall: 800 * time.Millisecond, Clock: clock}, nil)
	if err != nil {
		log.Fatal(err)
	}
	err = hotels.Get("hotel-3").Do(context.Background(), func(context.Context) error { return nil })
	fmt.Println(err)
	// Output:
	// <nil>
}

// A breaker has no timer: it looks at running calls when it is used. A program
// with little traffic calls Check from a ticker, so that a caller who waits for a
// dependency that hangs is sent away in time.
func ExampleBreaker_Check() {
	clock := recloser.NewManualClock(time.Now()) // stands in for a ticker
	hotel, err := recloser.New(recloser.Config{
		Name:         "hotel-3",
		SlowCall:     800 * time.Millisecond,
		Consecutive:  1,
		CancelOnTrip: true,
		Clock:        clock,
	})
	if err != nil {
		log.Fatal(err)
	}

	var guest sync.WaitGroup
	asked := make(chan struct{})
	guest.Go(func() {
		err := hotel.Do(context.Background(), func(ctx context.Context) error {
			close(asked)
			<-ctx.Done() // the hotel does not answer
			return ctx.Err()
		})
		fmt.Println(err)
	})
	<-asked
	for hotel.State() == recloser.Closed {
		clock.Advance(50 * time.Millisecond)
		hotel.Check()
	}
	guest.Wait()
	// Output:
	// recloser: "hotel-3" is open (cut off): released: last failure: no answer within 800ms
}
