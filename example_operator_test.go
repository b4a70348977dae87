package recloser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/recloser-go/recloser"
)

// An operator takes a hotel off, for a reason that others can read. Its end
// comes by itself, or by Release; either way trials decide what is next.
func ExampleBreaker_Isolate() {
	hotel, err := recloser.New(recloser.Config{Name: "hotel-3"})
	if err != nil {
		log.Fatal(err)
	}
	if err := hotel.Isolate("ann", "their database moves", time.Now().Add(time.Hour)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(hotel.Explain())

	hotel.Release("ben", "they are done early")
	fmt.Println(hotel.Explain())
	// Output:
	// isolated (cut off by hand): by ann: their database moves
	// half-open (on trial): 0 of 2 trials good, 0 running
}

// Held closed, every call passes, and the breaker goes on to say what it would
// have done.
func ExampleBreaker_HoldClosed() {
	hotel, err := recloser.New(recloser.Config{Name: "hotel-3", Consecutive: 2})
	if err != nil {
		log.Fatal(err)
	}
	if err := hotel.HoldClosed("ann", "any answer is better than none today", time.Time{}); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		err := hotel.Do(context.Background(), func(context.Context) error { return errors.New("500 from the hotel") })
		fmt.Println(err)
	}
	s := hotel.Stats()
	fmt.Printf("%s, and would be %s\n", s.State, s.Automatic)
	// Output:
	// 500 from the hotel
	// 500 from the hotel
	// 500 from the hotel
	// held-closed, and would be open
}

// Explain says why the breaker is or is not open, for a log or a page.
func ExampleBreaker_Explain() {
	hotel, err := recloser.New(recloser.Config{Name: "hotel-3"})
	if err != nil {
		log.Fatal(err)
	}
	for _, answer := range []error{nil, nil, errors.New("500 from the hotel")} {
		_ = hotel.Do(context.Background(), func(context.Context) error { return answer })
	}
	fmt.Println(hotel.Explain())
	// Output:
	// closed (passing): too few calls to judge (3 of 20); 1 bad in a row, limit 5
}

// New settings take effect at once, and what the breaker knows stays.
func ExampleBreaker_Update() {
	hotel, err := recloser.New(recloser.Config{Name: "hotel-3", Consecutive: 2})
	if err != nil {
		log.Fatal(err)
	}
	fail := func() {
		_ = hotel.Do(context.Background(), func(context.Context) error { return errors.New("500 from the hotel") })
	}
	fail()

	cfg := hotel.Config() // change one setting, keep the others
	cfg.Consecutive = 3
	if err := hotel.Update(cfg); err != nil {
		log.Fatal(err)
	}
	fail()
	fmt.Println(hotel.State())
	fail()
	fmt.Println(hotel.State())
	// Output:
	// closed
	// open
}

// What is cut off stays cut off when the program starts anew.
func ExampleBreaker_Save() {
	start := func() *recloser.Breaker {
		hotel, err := recloser.New(recloser.Config{Name: "hotel-3", Consecutive: 1, OpenFor: time.Minute})
		if err != nil {
			log.Fatal(err)
		}
		return hotel
	}
	hotel := start()
	_ = hotel.Do(context.Background(), func(context.Context) error { return errors.New("connection refused") })
	file, err := json.Marshal(hotel.Save())
	if err != nil {
		log.Fatal(err)
	}

	hotel = start()
	var saved recloser.Saved
	if err := json.Unmarshal(file, &saved); err != nil {
		log.Fatal(err)
	}
	if err := hotel.Restore(saved); err != nil {
		log.Fatal(err)
	}
	fmt.Println(hotel.Do(context.Background(), func(context.Context) error { return nil }))
	// Output:
	// recloser: "hotel-3" is open (cut off): last failure: connection refused
}

// Keys that come from outside, such as tenants, are bounded: breakers that are
// closed and idle make room for new ones.
func ExampleSet_SetLimit() {
	tenants, err := recloser.NewSet(recloser.Config{Consecutive: 1}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := tenants.SetLimit(100); err != nil {
		log.Fatal(err)
	}
	_ = tenants.Get("tenant-7").Do(context.Background(), func(context.Context) error { return errors.New("connection refused") })
	for i := range 1000 {
		_ = tenants.Get(fmt.Sprint("stranger-", i)).Do(context.Background(), func(context.Context) error { return nil })
	}
	fmt.Println(tenants.Len(), "breakers; tenant-7 is", tenants.Get("tenant-7").State())
	// Output:
	// 100 breakers; tenant-7 is open
}
