package redisstore_test

import (
	"fmt"
	"log"

	"github.com/recloser-go/recloser/fleet/redisstore"
)

// The options come from one line, as in an environment variable. Whether the server is
// there does not matter yet: a fleet's node starts without it as well.
func Example() {
	opts, err := redisstore.ParseURL("rediss://recloser:secret@redis.example:6379/0?prefix=shop")
	if err != nil {
		log.Fatal(err)
	}
	store, err := redisstore.Open(opts)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	fmt.Println(store.Caps().Name, opts.Addrs, opts.Prefix)
	// Output: redis [redis.example:6379] shop
}
