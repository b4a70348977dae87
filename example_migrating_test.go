package recloser_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// What is between the marks in this file is in docs/guides/migrating.md.

var errNoSuchGuest = errors.New("no such guest")

func Example_fromGobreaker() {
	ctx := context.Background()
	askHotel := func(context.Context, string) (bool, error) { return true, nil }

	// guide begins
	hotel, err := recloser.New(recloser.Config{
		Name:        "hotel-3",
		Consecutive: 6,
		FailureRate: 0.6,
		OpenFor:     5 * time.Second,
		MaxOpenFor:  time.Minute,
		Classify: func(err error) recloser.Outcome {
			if errors.Is(err, errNoSuchGuest) {
				return recloser.Success
			}
			return recloser.Default
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	hotel.Subscribe(func(t recloser.Transition) { log.Print(t) })

	allowed, err := recloser.Do(ctx, hotel, func(ctx context.Context) (bool, error) {
		return askHotel(ctx, "guest-17")
	})
	if errors.Is(err, recloser.ErrOpen) {
		log.Print("not asked: ", err)
	}
	// guide ends

	fmt.Println(allowed, err)
	// Output: true <nil>
}

func Example_fromFailsafe() {
	ctx := context.Background()
	askHotel := func(context.Context, string) (bool, error) { return true, nil }

	// guide begins
	hotel, err := guard.New(guard.Config{
		Breaker: recloser.Config{
			Name:        "hotel-3",
			FailureRate: 0.5, MinCalls: 20, Window: 10 * time.Second,
			OpenFor: 5 * time.Second, MaxOpenFor: 30 * time.Second,
		},
		AttemptTimeout: time.Second,
		Retry:          guard.Retry{Attempts: 3},
	})
	if err != nil {
		log.Fatal(err)
	}

	allowed, err := guard.Do(ctx, hotel, func(ctx context.Context) (bool, error) {
		return askHotel(ctx, "guest-17")
	}, guard.Idempotent)
	// guide ends

	fmt.Println(allowed, err)
	// Output: true <nil>
}

func Example_fromHystrix() {
	ctx := context.Background()
	askHotel := func(context.Context, string) (bool, error) { return false, errors.New("connection refused") }
	askThePorter := func(string) bool { return true }

	// guide begins
	hotel, err := guard.New(guard.Config{
		Breaker:  recloser.Config{Name: "hotel-3", SlowCall: 800 * time.Millisecond},
		Timeout:  time.Second,
		Bulkhead: guard.Bulkhead{Max: 10},
	})
	if err != nil {
		log.Fatal(err)
	}

	allowed, err := guard.DoOr(ctx, hotel, func(ctx context.Context) (bool, error) {
		return askHotel(ctx, "guest-17")
	}, func(_ context.Context, err error) (bool, error) {
		log.Print("asking the porter: ", err)
		return askThePorter("guest-17"), nil
	})
	// guide ends

	fmt.Println(allowed, err)
	// Output: true <nil>
}
