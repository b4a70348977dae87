// Command productservice is the dependency of the example: it answers
// GET /products with a list. Stop it to see what its caller does.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"time"
)

// Product is one line of the list.
type Product struct {
	ID   int    `json:"id"`
	Name string `json:"product_name"`
}

func products(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	list := []Product{{1, "day ticket"}, {2, "night safari"}}
	if err := json.NewEncoder(w).Encode(list); err != nil {
		log.Print(err)
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:3001", "address to listen on")
	flag.Parse()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /products", products)
	server := &http.Server{Addr: *listen, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Printf("product service on http://%s/products", *listen)
	log.Fatal(server.ListenAndServe())
}
