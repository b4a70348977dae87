package fleet_test

import (
	"fmt"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
)

// Two processes share a store. Here both are in one, and so is the store; for processes
// apart it is one of package redisstore or pgstore.
func Example() {
	store := fleet.NewMemory()
	defer store.Close()
	told := make(chan string, 2)
	join := func(name string) (*fleet.Node, error) {
		hotel, err := recloser.New(recloser.Config{Name: "hotel", SlowCall: 2 * time.Second})
		if err != nil {
			return nil, err
		}
		hotel.Subscribe(func(t recloser.Transition) { told <- t.String() })
		node, err := fleet.New(fleet.Config{Fleet: "parks", Node: name}, store)
		if err != nil {
			return nil, err
		}
		if err := node.Join(hotel); err != nil {
			return nil, err
		}
		return node, node.Start()
	}
	var nodes []*fleet.Node
	for _, name := range []string{"turnstile-1", "turnstile-2"} {
		node, err := join(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer node.Close()
		nodes = append(nodes, node)
	}
	if err := nodes[0].Isolate("hotel", "ann", "their database moves", time.Now().Add(time.Hour)); err != nil {
		fmt.Println(err)
	}
	for range nodes {
		fmt.Println(<-told)
	}
	// Output:
	// hotel: closed -> isolated (isolated): by ann: their database moves
	// hotel: closed -> isolated (isolated): by ann: their database moves
}
