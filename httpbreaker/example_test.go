package httpbreaker_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// A client with a breaker for each host it talks to.
func ExampleTransport() {
	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer hotel.Close()

	breakers, err := recloser.NewSet(recloser.Config{
		Consecutive: 3,
		SlowCall:    2 * time.Second,
	}, nil)
	if err != nil {
		fmt.Println(err) // names every setting that is wrong
		return
	}
	client := &http.Client{Transport: &httpbreaker.Transport{
		Breaker: httpbreaker.PerHost(breakers),
		Timeout: 5 * time.Second,
	}}

	for range 4 {
		resp, err := client.Get(hotel.URL + "/access")
		if open := (*recloser.OpenError)(nil); errors.As(err, &open) {
			fmt.Println("not sent:", open.State, open.State.Effect())
			continue
		}
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(resp.Status)
		_ = resp.Body.Close()
	}
	// Output:
	// 500 Internal Server Error
	// 500 Internal Server Error
	// 500 Internal Server Error
	// not sent: open cut off
}
