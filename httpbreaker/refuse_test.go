package httpbreaker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// tooMany is a refusal as package guard has them.
type tooMany time.Duration

func (e tooMany) Error() string             { return "too many calls" }
func (e tooMany) RetryAfter() time.Duration { return time.Duration(e) }

func TestRefusalsNameTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func(d time.Duration) error { return &recloser.OpenError{Until: time.Now().Add(d)} }
		tests := []struct {
			name string
			err  error
			want int64 // 0: none
		}{
			{"open", open(20 * time.Second), 20},
			{"rounded up", open(20*time.Second + 1), 21},
			{"at least one second", open(1), 1},
			{"over just now", open(0), 1},
			{"until nobody knows when", &recloser.OpenError{}, 1},
			{"wrapped", fmt.Errorf("asking the hotel: %w", open(time.Second)), 1},
			{"of a guard", tooMany(1500 * ms), 2},
			{"of a guard that does not know", tooMany(0), 1},
			{"the longest", tooMany(1<<63 - 1), 9223372037},
			{"any other error", errors.New("no"), 0},
			{"none", nil, 0},
		}
		for _, tt := range tests {
			rec := httptest.NewRecorder()
			rec.Header().Set("Content-Length", "99")
			rec.Header().Set("Retry-After", "99")
			httpbreaker.Refuse(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), tt.err)
			var body struct {
				Title  string
				Status int
				After  int64 `json:"retry_after_s"`
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
				t.Errorf("%s: %v in %q", tt.name, err, rec.Body)
			}
			after := ""
			if tt.want > 0 {
				after = strconv.FormatInt(tt.want, 10)
			}
			h := rec.Header()
			if read, ok := httpbreaker.RetryAfter(h, time.Now()); ok != (tt.want > 0) || int64(read/time.Second) != min(tt.want, 9223372036) {
				t.Errorf("%s: a client reads %s, %t", tt.name, read, ok)
			}
			if rec.Code != 503 || body.Status != 503 || body.Title != "Service Unavailable" || body.After != tt.want ||
				h.Get("Retry-After") != after || h.Get("Content-Type") != "application/problem+json" || h.Get("Content-Length") != "" {
				t.Errorf("%s: %d %v %q, want a wait of %d", tt.name, rec.Code, h, rec.Body, tt.want)
			}
		}
	})
}

func TestRefusedByTheMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{})
		if err := b.TripFor(30*time.Second, "test", "test"); err != nil {
			t.Fatal(err)
		}
		m := &httpbreaker.Middleware{Breaker: httpbreaker.Fixed(b)}
		h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("called") }))
		if rec := serve(t, h); rec.Code != 503 || rec.Header().Get("Retry-After") != "30" {
			t.Errorf("answered %d %v", rec.Code, rec.Header())
		}

		m.Refuse = func(w http.ResponseWriter, r *http.Request, err error) {
			if open := (*recloser.OpenError)(nil); !errors.As(err, &open) || open.Name != "hotel-1" || r.URL.Path != "/access" {
				t.Errorf("refused %v for %v", r.URL, err)
			}
			w.WriteHeader(http.StatusTeapot)
		}
		if rec := serve(t, h); rec.Code != http.StatusTeapot {
			t.Errorf("answered %d, not as Refuse does", rec.Code)
		}

		m.Refuse = func(_ http.ResponseWriter, _ *http.Request, err error) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("refused for %v", err)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil))
		if got := b.Stats().Refused[recloser.ReasonOpen]; got != 2 {
			t.Errorf("%d refused, want 2: who was gone before was not", got)
		}
	})
}

// A refusal further inside is no failure of what is outside, whoever writes it.
func TestRefusalsInsideAreIgnored(t *testing.T) {
	for name, refuse := range map[string]func(http.ResponseWriter, *http.Request, error){
		"default": nil,
		"own":     func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(500) },
	} {
		t.Run(name, func(t *testing.T) {
			outer, inner := newBreaker(t, recloser.Config{}), newBreaker(t, recloser.Config{})
			if err := inner.TripFor(time.Minute, "test", "test"); err != nil {
				t.Fatal(err)
			}
			m := &httpbreaker.Middleware{Breaker: httpbreaker.Fixed(inner), Refuse: refuse}
			between := func(next http.Handler) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(logging{w}, r) }
			}
			serve(t, behind(outer, between(m.Handler(says(200)))))
			wantEnded(t, outer, 0, 0, 1)
		})
	}
}

// logging is a ResponseWriter as many programs have one: it can be unwrapped, and
// does nothing else.
type logging struct{ http.ResponseWriter }

func (l logging) Unwrap() http.ResponseWriter { return l.ResponseWriter }
