package fleet_test

import (
	"fmt"
	"os"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
)

// Two processes share a store; here both are in one.
func Example() {
	store := fleet.NewMemory() // of package redisstore or pgstore for processes apart
	defer store.Close()
	var breakers []*recloser.Breaker
	for _, name := range []string{"gate-1", "gate-2"} {
		hotel, err := recloser.New(recloser.Config{Name: "hotel", SlowCall: 2 * time.Second})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		node, err := fleet.New(fleet.Config{Fleet: "parks", Node: name}, store)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		if err := node.Join(hotel); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		if err := node.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		defer node.Close()
		breakers = append(breakers, hotel)
		if name == "gate-1" {
			_ = node.Isolate("hotel", "ann", "their database moves", time.Now().Add(time.Hour)) // it has joined
		}
	}
	isolated := make(chan string)
	breakers[1].Subscribe(func(t recloser.Transition) { isolated <- t.String() })
	fmt.Println(<-isolated)
	// Output: hotel: closed -> isolated (isolated): by ann: their database moves
}
