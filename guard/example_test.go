package guard_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// A turnstile asks a hotel whether a guest may enter. The answer may be asked
// for twice, so it is worth a second attempt; and if there is none at all, a
// person decides.
func Example() {
	hotel, err := guard.New(guard.Config{
		Breaker:        recloser.Config{Name: "hotel-3", SlowCall: 800 * time.Millisecond},
		Timeout:        3 * time.Second,          // nobody waits longer at a turnstile
		AttemptTimeout: time.Second,              // a call that got lost is made again
		Bulkhead:       guard.Bulkhead{Max: 25},  // a hotel that hangs holds 25 turnstiles at most
		Retry:          guard.Retry{Attempts: 3}, // 100 ms, 200 ms apart at most
	})
	if err != nil {
		log.Fatal(err)
	}

	attempts := 0
	mayEnter := func(context.Context) (string, error) { // ask the hotel here, with this context
		if attempts++; attempts == 1 {
			return "", errors.New("connection reset")
		}
		return "welcome", nil
	}
	askSomebody := func(_ context.Context, err error) (string, error) {
		switch {
		case errors.Is(err, recloser.ErrOpen):
			return "the hotel is cut off: see the desk", nil
		case errors.Is(err, guard.ErrFull):
			return "too many at once: try again", nil
		}
		return "", err
	}

	answer, err := guard.DoOr(context.Background(), hotel, mayEnter, askSomebody, guard.Idempotent)
	fmt.Println(answer, err, "after", attempts, "attempts")

	_ = hotel.Breaker().Isolate("ana", "the hotel moves its database", time.Time{})
	answer, err = guard.DoOr(context.Background(), hotel, mayEnter, askSomebody, guard.Idempotent)
	fmt.Println(answer, err, "after", attempts, "attempts")
	// Output:
	// welcome <nil> after 2 attempts
	// the hotel is cut off: see the desk <nil> after 2 attempts
}

// A rate limit keeps a promise about calls per second; the fourth call in the
// same moment breaks it and is refused, which is no failure of anybody.
func ExampleGuard_Do() {
	partner, err := guard.New(guard.Config{
		Breaker:   recloser.Config{Name: "partner"},
		RateLimit: guard.RateLimit{Rate: 0.5, Burst: 3},
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 4 {
		err := partner.Do(context.Background(), func(context.Context) error { return nil })
		fmt.Println(errors.Is(err, guard.ErrLimited))
	}
	fmt.Println(partner.Breaker().State())
	// Output:
	// false
	// false
	// false
	// true
	// closed
}

// A stream goes on after the function that opened it has returned. Its call ends
// with it, and takes its slot of the bulkhead till then.
func ExampleGuard_Allow() {
	news, err := guard.New(guard.Config{
		Breaker:  recloser.Config{Name: "news", SlowCall: time.Second},
		Bulkhead: guard.Bulkhead{Max: 10},
		Retry:    guard.Retry{Attempts: 3},
	})
	if err != nil {
		log.Fatal(err)
	}
	attempts := 0
	open := func() (lines []string, err error) { // the stream
		if attempts++; attempts == 1 {
			return nil, errors.New("connection refused")
		}
		return []string{"open at 9", "pool closed"}, nil
	}

	call, err := news.Allow(context.Background(), guard.Idempotent)
	if err != nil {
		fmt.Println("not let in:", err)
		return
	}
	defer call.End(recloser.Failure) // if this panics; else it has ended before
	var lines []string
	for {
		if lines, err = open(); err == nil {
			break
		}
		if err = call.Again(err); err != nil { // waits, and says nil if it is worth it
			call.Done(err)
			fmt.Println(err)
			return
		}
	}
	call.Answered() // here the slow clock stops
	for _, line := range lines {
		fmt.Println(line)
	}
	call.Done(nil)
	fmt.Println(news.Breaker().Stats().Success, "good call in", attempts, "attempts")
	// Output:
	// open at 9
	// pool closed
	// 1 good call in 2 attempts
}
