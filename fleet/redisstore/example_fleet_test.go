package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore"
)

// A program whose breaker follows what all its processes have seen. No call waits for the
// server: while it is away, as here, each process judges for itself.
func Example_fleet() {
	redisstore.LogTo(slog.New(slog.NewTextHandler(os.Stderr, nil))) // that of the program
	opts, err := redisstore.ParseURL("redis://127.0.0.1:1?prefix=shop")
	if err != nil {
		log.Fatal(err)
	}
	store, err := redisstore.Open(opts)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close() // after the node, which leaves by it

	hotel, err := recloser.New(recloser.Config{Name: "hotel", SlowCall: 800 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	node, err := fleet.New(fleet.Config{Fleet: "gates", Node: "turnstile-1"}, store) // a name of its own for each process
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(node.Join(hotel), node.Start()); err != nil {
		log.Print(err)
		return
	}
	defer node.Close()

	allowed, err := recloser.Do(context.Background(), hotel, func(context.Context) (bool, error) { return true, nil })
	fmt.Println(allowed, err)
	// Output: true <nil>
}
