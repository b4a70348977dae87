package httpbreaker_test

import (
	"context"
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

// A handler that is as good as the old database behind it.
func ExampleMiddleware() {
	breaker, err := recloser.New(recloser.Config{
		Name:         "bookings",
		Consecutive:  3,
		SlowCall:     2 * time.Second,
		OpenFor:      10 * time.Second,
		Jitter:       recloser.Off,
		CancelOnTrip: true, // who waits for the database when it is cut off is answered at once
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	protect := &httpbreaker.Middleware{Breaker: httpbreaker.Fixed(breaker)}
	var mux http.ServeMux
	mux.Handle("GET /bookings/{id}", protect.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the database is down", http.StatusInternalServerError)
	})))

	for range 4 {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/bookings/17", nil))
		fmt.Printf("%d, Retry-After: %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 500, Retry-After: ""
	// 500, Retry-After: ""
	// 500, Retry-After: ""
	// 503, Retry-After: "10"
}

// A handler that calls a dependency through a breaker passes refusals on.
func ExampleRefuse() {
	breaker, err := recloser.New(recloser.Config{Name: "hotel-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		err := breaker.Do(r.Context(), func(context.Context) error {
			return nil // ask the hotel
		})
		switch {
		case errors.Is(err, recloser.ErrOpen):
			httpbreaker.Refuse(w, r, err)
		case err != nil:
			http.Error(w, "the hotel gave no answer", http.StatusBadGateway)
		}
	}

	if err := breaker.TripFor(30*time.Second, "night shift", "the hotel moves its servers"); err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest(http.MethodGet, "/access", nil))
	fmt.Print(w.Code, " ", w.Body)
	// Output:
	// 503 {"title":"Service Unavailable","status":503,"retry_after_s":30}
}
