package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

// roundTripper answers requests without a network.
type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func answering(goroutines func() int) *admin {
	return &admin{url: "http://gateway", client: &http.Client{Transport: roundTripper(func(*http.Request) *http.Response {
		w := httptest.NewRecorder()
		fmt.Fprintf(w, "# TYPE go_goroutines gauge\ngo_goroutines %d\n", goroutines())
		return w.Result()
	})}}
}

func TestRestWaitsUntilGoroutinesAreGone(t *testing.T) {
	for _, test := range []struct {
		name   string
		left   int // of a thousand, after two minutes
		back   bool
		within time.Duration
	}{
		{"connections close", 30, true, 2*time.Minute + look},
		{"some leak", 200, false, coolDown + look},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &soak{admin: answering(func() int {
					if time.Since(start) < 2*time.Minute {
						return 1000
					}
					return test.left
				})}
				got, err := s.rest(t.Context(), 20)
				if err != nil {
					t.Fatal(err)
				}
				if got.back() != test.back || got.after != float64(test.left) {
					t.Errorf("%+v is back: %v, want %v", got, got.back(), test.back)
				}
				if took := time.Since(start); took > test.within {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestMetricsMustAllBeThere(t *testing.T) {
	a := answering(func() int { return 7 })
	if got, err := a.metrics(t.Context(), goroutinesMetric); err != nil || got[goroutinesMetric] != 7 {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := a.metrics(t.Context(), goroutinesMetric, heapMetric); err == nil {
		t.Errorf("without a heap: %v, want an error", got)
	}
}

func TestStates(t *testing.T) {
	body, err := json.Marshal(map[string]any{"dependencies": []map[string]string{{"id": "hotel-1", "state": "open"}}})
	if err != nil {
		t.Fatal(err)
	}
	a := &admin{client: &http.Client{Transport: roundTripper(func(*http.Request) *http.Response {
		w := httptest.NewRecorder()
		_, _ = w.Write(body)
		return w.Result()
	})}}
	if got, err := a.states(t.Context()); err != nil || got["hotel-1"] != "open" {
		t.Errorf("got %v, %v", got, err)
	}
}

// A hotel at which a hundred guests wait gets no more of them.
func TestGuestsStayAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &soak{start: time.Now()}
		var came atomic.Int64
		client := &http.Client{Transport: roundTripper(func(*http.Request) *http.Response {
			came.Add(1)
			<-time.After(time.Minute)
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{town.By: {"x"}}}
		})}
		s.guests(client, "http://gateway", time.Millisecond, 0, 150*time.Millisecond).Come(t.Context(), s.start)
		if came.Load() != patient || s.away.Load() != 50 || s.calls.Load() != 150 || s.ok.Load() != patient {
			t.Errorf("%d came, %d stayed away, %d of %d ok", came.Load(), s.away.Load(), s.ok.Load(), s.calls.Load())
		}
	})
}

func TestReportSaysWhatIsNotWell(t *testing.T) {
	flat := func(growth float64) *csvTable {
		table, err := newTable("")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			for column := range table.samples {
				table.samples[column] = append(table.samples[column], sample{float64(i), 100 + growth*float64(i)})
			}
		}
		return table
	}
	for _, test := range []struct {
		name   string
		growth float64
		lasts  time.Duration
		rest   idle
		wrong  string
		well   bool
	}{
		{"all is well", 0, judged, idle{20, 30}, "", true},
		{"growth", 1, judged, idle{20, 30}, "", false},
		{"growth in a short run", 1, time.Minute, idle{20, 30}, "", true},
		{"goroutines are left", 0, time.Minute, idle{20, 300}, "", false},
		{"a wrong state", 0, time.Minute, idle{20, 30}, "hotel-1 is closed, and hangs", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &soak{start: time.Now()}
			if test.wrong != "" {
				s.found(test.wrong)
			}
			if got := s.print(io.Discard, flat(test.growth), test.rest, 100, 50*time.Second, test.lasts, 1); got != test.well {
				t.Errorf("well: %v, want %v", got, test.well)
			}
		})
	}
}
