package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func lastKnown(d time.Duration) option {
	return func(_ *config.Dependency, r *config.Route) {
		r.LastKnown = &config.LastKnown{For: d, Max: 10, Memory: 16 << 20}
	}
}

// room answers with what is known of a room, and says how old it is.
func room(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Room", "7")
	w.Header().Set("Age", "5")
	_, _ = io.WriteString(w, "room of "+r.Header.Get("Authorization"))
}

func TestLastKnownAnswer(t *testing.T) {
	tests := []struct {
		name   string
		now    gatewaytest.Behaviour // what the dependency does by now
		trip   bool
		reason string
		took   time.Duration
	}{
		{"cut off", gatewaytest.Yes(), true, "open", 0},
		{"hangs", gatewaytest.Hang(), false, "timeout", 3 * time.Second},
		{"hangs up", gatewaytest.Refuse(), false, "failed", 0},
		{"says 500", gatewaytest.Answer(500, "sorry"), false, "failed", 0},
		{"says 503", gatewaytest.Answer(503, "sorry"), false, "failed", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, room, lastKnown(time.Hour))
				b.get("/hotels/hotel-1/rooms/7?x=1")
				pause(10 * time.Second)
				if b.hotel.Now(tt.now); tt.trip {
					if err := b.breaker.TripFor(time.Minute, "test", "test"); err != nil {
						t.Fatal(err)
					}
				}
				a := b.get("/hotels/hotel-1/rooms/7?x=1")
				old := 10 + int(tt.took/time.Second)
				if a.status != http.StatusOK || a.body != "room of " || a.took != tt.took || a.header.Get("X-Room") != "7" {
					t.Errorf("got %+v after %s", a, a.took)
				}
				want := map[int][2]string{10: {"15", "10"}, 13: {"18", "13"}}[old]
				if a.header.Get("Age") != want[0] || a.header.Get("Recloser-Last-Known") != want[1] || a.header.Get("Recloser-Reason") != tt.reason {
					t.Errorf("does not say how old it is and why: %v", a.header)
				}
				for _, other := range []string{"/hotels/hotel-1/rooms/7?x=2", "/hotels/hotel-1/rooms/8?x=1"} {
					if a := b.get(other); a.header.Get("Recloser-Last-Known") != "" {
						t.Errorf("%s: got %+v", other, a)
					}
				}
				for name, a := range map[string]answer{
					"other credentials": b.send(t.Context(), http.MethodGet, "/hotels/hotel-1/rooms/7?x=1", nil, "Authorization", "Bearer 2"),
					"other method":      b.send(t.Context(), http.MethodPost, "/hotels/hotel-1/rooms/7?x=1", nil),
					"a part":            b.send(t.Context(), http.MethodGet, "/hotels/hotel-1/rooms/7?x=1", nil, "Range", "bytes=0-3"),
				} {
					if a.header.Get("Recloser-Last-Known") != "" || strings.HasPrefix(a.body, "room") {
						t.Errorf("%s: got %+v", name, a)
					}
				}
			})
		})
	}
}

func TestLastKnownAnswerIsNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, room, lastKnown(time.Minute))
		b.get("/hotels/hotel-1/")
		b.hotel.Now(gatewaytest.Answer(500, "sorry"))
		pause(time.Minute + time.Second)
		if a := b.get("/hotels/hotel-1/"); a.status != 500 || a.body != "sorry" {
			t.Errorf("got %+v", a)
		}
	})
}

func TestNoLastKnownAnswerUnlessTheRouteHasThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, room)
		b.get("/hotels/hotel-1/")
		b.hotel.Now(gatewaytest.Answer(500, "sorry"))
		if a := b.get("/hotels/hotel-1/"); a.status != 500 {
			t.Errorf("got %+v", a)
		}
	})
}

func TestAChangeMakesTheLastAnswerUntrue(t *testing.T) {
	for method, known := range map[string]bool{http.MethodPut: false, http.MethodDelete: false, http.MethodPost: false, http.MethodGet: true, http.MethodOptions: true} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, room, lastKnown(time.Minute))
				b.get("/hotels/hotel-1/a")
				b.send(t.Context(), method, "/hotels/hotel-1/a", nil)
				b.hotel.Now(gatewaytest.Answer(500, "sorry"))
				if a := b.get("/hotels/hotel-1/a"); (a.status == http.StatusOK) != known {
					t.Errorf("got %+v", a)
				}
			})
		})
	}
}

func TestLastKnownHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, room, lastKnown(time.Minute))
		b.send(t.Context(), http.MethodHead, "/hotels/hotel-1/a", nil)
		b.hotel.Now(gatewaytest.Refuse())
		a := b.send(t.Context(), http.MethodHead, "/hotels/hotel-1/a", nil)
		if a.status != http.StatusOK || a.header.Get("Recloser-Last-Known") != "0" || a.header.Get("X-Room") != "7" {
			t.Errorf("got %+v", a)
		}
	})
}
