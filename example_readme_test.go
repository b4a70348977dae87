package recloser_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/recloser-go/recloser"
)

// askHotel stands for the program's own call to hotel-3, which is down.
func askHotel(context.Context, string) (bool, error) {
	return false, errors.New("connection refused")
}

// What is between the marks is in README.md, letter by letter.
func Example_readme() {
	ctx, guest := context.Background(), "guest-17"

	// README begins
	hotel, err := recloser.New(recloser.Config{
		Name:     "hotel-3",
		SlowCall: 800 * time.Millisecond, // not answered by then is as bad as failed
	})
	if err != nil {
		log.Fatal(err)
	}
	hotel.Subscribe(func(t recloser.Transition) { log.Print(t.Name, " is ", t.To.Effect(), ": ", t.Reason) })

	allowed, err := recloser.Do(ctx, hotel, func(ctx context.Context) (bool, error) {
		return askHotel(ctx, guest)
	})
	var refused *recloser.OpenError
	if errors.As(err, &refused) { // cut off: the hotel was not called and nobody waited
		log.Print("try again in ", refused.RetryAfter())
	}
	// README ends

	fmt.Println(allowed, err)
	// Output: false connection refused
}
