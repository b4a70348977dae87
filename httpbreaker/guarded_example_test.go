package httpbreaker_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
)

// A client that asks again when an answer got lost, and gives up in time. A
// request is sent again only if that can do no harm: see GuardedTransport.
func ExampleGuardedTransport() {
	requests := 0
	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, "welcome")
	}))
	defer hotel.Close()

	g, err := guard.New(guard.Config{
		Breaker:        recloser.Config{Name: "hotel-3", SlowCall: 800 * time.Millisecond},
		Timeout:        3 * time.Second, // to the response headers, with all attempts
		AttemptTimeout: time.Second,
		Bulkhead:       guard.Bulkhead{Max: 25}, // a request is in it until its body is closed
		Retry:          guard.Retry{Attempts: 3},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: &httpbreaker.GuardedTransport{
		Guard: httpbreaker.Fixed(g), // one for each dependency
	}}

	resp, err := client.Get(hotel.URL + "/guests/17")
	if err != nil {
		fmt.Println(err) // an *recloser.OpenError, a *guard.BulkheadError, ... or the transport's
		return
	}
	answer, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	s := g.Breaker().Stats()
	fmt.Printf("%s after %d requests: %d good call, %d failed\n", answer, requests, s.Success, s.Failed)
	// Output: welcome after 2 requests: 1 good call, 0 failed
}
