package pgstore_test

import (
	"fmt"
	"log"

	"github.com/recloser-go/recloser/fleet/pgstore"
)

// Whether the server is there does not matter yet: a fleet's node starts without it as well.
func Example() {
	opts := pgstore.Options{URL: "postgres://recloser:secret@pg.example:5432/shop?sslmode=verify-full", Schema: "recloser_shop"}
	store, err := pgstore.Open(opts)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	fmt.Println(store.Caps().Name, pgstore.Mask(opts.URL), opts.Schema)
	// Output: postgres postgres://***@pg.example:5432/shop recloser_shop
}
