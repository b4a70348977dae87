package gobreaker_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/compat/gobreaker"
)

// The same code as with gobreaker: only the import differs.
func Example() {
	hotel := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		Name: "hotel-3",
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= 3 && float64(c.TotalFailures)/float64(c.Requests) >= 0.6
		},
		OnStateChange: func(name string, from, to gobreaker.State) {
			fmt.Printf("%s: %v -> %v\n", name, from, to)
		},
	})

	rooms, err := hotel.Execute(func() (int, error) { return 12, nil })
	fmt.Println(rooms, err)
	for range 3 {
		_, err = hotel.Execute(func() (int, error) { return 0, errors.New("503 from the hotel") })
		fmt.Println(err)
	}
	// Output:
	// 12 <nil>
	// 503 from the hotel
	// hotel-3: closed -> open
	// 503 from the hotel
	// circuit breaker is open
}

// In two steps: for a call whose end is learned elsewhere.
func ExampleTwoStepCircuitBreaker() {
	hotel := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: "hotel-3"})

	done, err := hotel.Allow()
	if err != nil {
		fmt.Println("not asked:", err)
		return
	}
	// Ask the hotel; then say how it went.
	done(nil)
	fmt.Printf("%+v\n", hotel.Counts())
	// Output: {Requests:1 TotalSuccesses:1 TotalFailures:0 TotalExclusions:0 ConsecutiveSuccesses:1 ConsecutiveFailures:0}
}

// The step after that: a Recloser around the old breaker watches what it would
// do itself. Calls that the old one refuses say nothing to it.
func Example_shadow() {
	hotel := gobreaker.NewCircuitBreaker[bool](gobreaker.Settings{Name: "hotel-3"}) // trips at 6 in a row
	next, err := recloser.New(recloser.Config{Name: "hotel-3", Consecutive: 3, Shadow: true})
	if err != nil {
		log.Fatal(err)
	}

	for range 8 {
		_, err = recloser.Do(context.Background(), next, func(context.Context) (bool, error) {
			return hotel.Execute(func() (bool, error) { return false, errors.New("503 from the hotel") })
		})
	}
	fmt.Println("the last one:", err, "- a refusal:", errors.Is(err, recloser.ErrOpen))
	stats := next.Stats()
	fmt.Println("seen by the new one, which is", next.State(), "by now:", stats.Failed, "failed,", stats.Ignored, "ignored")
	// Output:
	// the last one: circuit breaker is open - a refusal: true
	// seen by the new one, which is open by now: 6 failed, 2 ignored
}
