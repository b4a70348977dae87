package recloser_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/recloser-go/recloser"
)

// Not every error is the dependency's illness. Classify says which is what.
func ExampleOutcome() {
	errNoSuchGuest := errors.New("no such guest")
	errNoTicket := errors.New("we have no ticket for this hotel") // ours: nothing was asked

	hotel, err := recloser.New(recloser.Config{
		Name: "hotel-3",
		Classify: func(err error) recloser.Outcome {
			switch {
			case errors.Is(err, errNoSuchGuest):
				return recloser.Success // an answer
			case errors.Is(err, errNoTicket):
				return recloser.Ignored // says nothing about the hotel
			}
			return recloser.Default // a failure
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, answer := range []error{nil, errNoSuchGuest, errNoTicket, errors.New("connection refused"), context.Canceled} {
		_ = hotel.Do(context.Background(), func(context.Context) error { return answer })
	}
	s := hotel.Stats()
	fmt.Println(s.Success, "good,", s.Failed, "failed,", s.Ignored, "ignored")
	// Output:
	// 2 good, 1 failed, 2 ignored
}

// A dependency may name a time to wait itself. The breaker takes its word for it,
// within RetryAfterMax.
func ExampleWaitError() {
	hotel, err := recloser.New(recloser.Config{Name: "hotel-3", RetryAfterMax: 30 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	_ = hotel.Do(context.Background(), func(context.Context) error {
		return &recloser.WaitError{After: 20 * time.Second, Err: errors.New("503: back in 20 s")}
	})

	err = hotel.Do(context.Background(), func(context.Context) error { return nil })
	var refused *recloser.OpenError
	if errors.As(err, &refused) {
		fmt.Println(refused.Reason, refused.RetryAfter().Round(time.Second))
	}
	// Output:
	// told to wait 20s
}

// A shadow tries settings on real traffic: it trips and says so, and refuses
// nobody.
func ExampleConfig_shadow() {
	hotel, err := recloser.New(recloser.Config{Name: "hotel-3", Consecutive: 2, Shadow: true})
	if err != nil {
		log.Fatal(err)
	}
	told := make(chan struct{})
	hotel.Subscribe(func(t recloser.Transition) {
		fmt.Println("would be", t.To.Effect()+":", t.Why())
		close(told)
	})

	reached := 0
	for range 10 {
		_ = hotel.Do(context.Background(), func(context.Context) error {
			reached++
			return errors.New("500 from the hotel")
		})
	}
	<-told // listeners are told on a goroutine of their own
	fmt.Println("asked", reached, "times")
	// Output:
	// would be cut off: 2 bad calls in a row
	// asked 10 times
}

// Every setting that is wrong is named, in one error.
func ExampleConfig_Validate() {
	fmt.Println(recloser.Config{OpenFor: -time.Second, FailureRate: 50, Trials: 1000}.Validate())
	// Output:
	// recloser: FailureRate 50: must be above 0 (at least a millionth) and at most 1, or off
	// recloser: OpenFor -1s: must be from 1ms to 1h
	// recloser: Trials 1000: must be from 1 to 100
}
