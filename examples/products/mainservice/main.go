// Command mainservice is what guests talk to. It asks the product service for
// its list through a breaker: while that service is down, guests are told so at
// once instead of waiting, and nobody has to switch anything back.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/recloser-go/recloser"
)

// settings trip after six failures in a row and try again after five seconds,
// with one call.
var settings = recloser.Config{
	Name:        "products",
	Consecutive: 6,
	FailureRate: recloser.Off,
	Trials:      1,
	OpenFor:     5 * time.Second,
	MaxOpenFor:  5 * time.Second,
	Jitter:      recloser.Off,
}

type service struct {
	breaker *recloser.Breaker
	client  *http.Client
	url     string // of the list
	log     *log.Logger
}

// list fetches the products. A status of 500 or more is an error, so the
// breaker counts it as a failure.
func (s *service) list(ctx context.Context) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("product service: %s", res.Status)
	}
	return io.ReadAll(io.LimitReader(res.Body, 1<<20))
}

func (s *service) example(w http.ResponseWriter, r *http.Request) {
	s.log.Printf("circuit breaker is %s", s.breaker.State())
	body, err := recloser.Do(r.Context(), s.breaker, s.list)
	var refused *recloser.OpenError
	switch {
	case errors.As(err, &refused): // not an empty list: nobody knows the list
		seconds := math.Max(1, math.Ceil(refused.RetryAfter().Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
		http.Error(w, "the product service is cut off, try again later", http.StatusServiceUnavailable)
	case err != nil:
		s.log.Print(err)
		http.Error(w, "the product service failed", http.StatusBadGateway)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the guest may have gone
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:3000", "address to listen on")
	products := flag.String("products", "http://127.0.0.1:3001/products", "where the product service has its list")
	flag.Parse()
	breaker, err := recloser.New(settings)
	if err != nil {
		log.Fatal(err)
	}
	s := &service{breaker: breaker, client: &http.Client{Timeout: 3 * time.Second}, url: *products, log: log.Default()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /example", s.example)
	server := &http.Server{Addr: *listen, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Printf("main service on http://%s/example", *listen)
	log.Fatal(server.ListenAndServe())
}
