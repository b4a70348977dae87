package httpbreaker_test

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

func behind(b *recloser.Breaker, h http.HandlerFunc) http.Handler {
	return (&httpbreaker.Middleware{Breaker: httpbreaker.Fixed(b)}).Handler(h)
}

func serve(t *testing.T, h http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/access", nil))
	return rec
}

func says(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func TestHowAHandlersCallEnds(t *testing.T) {
	leave := func(r *http.Request) { r.Context().Value(leaveKey{}).(context.CancelFunc)() }
	tests := []struct {
		name                     string
		handler                  http.HandlerFunc
		success, failed, ignored uint64
	}{
		{"200", says(200), 1, 0, 0},
		{"404", says(404), 1, 0, 0},
		{"429", says(429), 0, 0, 1},
		{"500", says(500), 0, 1, 0},
		{"501", says(501), 1, 0, 0},
		{"505", says(505), 1, 0, 0},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, 1, 0, 0},
		{"only a body", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("yes")) }, 1, 0, 0},
		{"the first status counts", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); w.WriteHeader(500) }, 1, 0, 0},
		{"103 is no answer", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(500) }, 0, 1, 0},
		{"101", says(101), 1, 0, 0},
		{"panic", func(http.ResponseWriter, *http.Request) { panic("boom") }, 0, 1, 0},
		{"panic after 200", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); panic("boom") }, 0, 1, 0},
		{"goexit", func(http.ResponseWriter, *http.Request) { runtime.Goexit() }, 0, 1, 0},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); panic(http.ErrAbortHandler) }, 0, 1, 0},
		{"refused elsewhere", func(w http.ResponseWriter, r *http.Request) {
			httpbreaker.Refuse(w, r, &recloser.OpenError{})
		}, 0, 0, 1},
		{"client gone, no answer", func(_ http.ResponseWriter, r *http.Request) { leave(r) }, 0, 0, 1},
		{"client gone, then 200", func(w http.ResponseWriter, r *http.Request) { leave(r); w.WriteHeader(200) }, 1, 0, 0},
		{"client gone, then 500", func(w http.ResponseWriter, r *http.Request) { leave(r); w.WriteHeader(500) }, 0, 0, 1},
		{"client gone, then broken off", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			leave(r)
			panic(http.ErrAbortHandler)
		}, 0, 0, 1},
		{"client gone from a stream", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200); leave(r) }, 1, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := httptest.NewRequestWithContext(context.WithValue(ctx, leaveKey{}, cancel), http.MethodGet, "/", nil)
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				behind(b, tt.handler).ServeHTTP(httptest.NewRecorder(), r)
			}()
			v := <-done
			if panics := strings.HasPrefix(tt.name, "panic"); panics && v != "boom" {
				t.Errorf("the panic became %v", v)
			}
			wantEnded(t, b, tt.success, tt.failed, tt.ignored)
		})
	}
}

type leaveKey struct{}

// A handler's Retry-After may be about one of many things that it serves.
func TestAHandlersRetryAfterIsNotForUs(t *testing.T) {
	b := newBreaker(t, recloser.Config{Consecutive: 5})
	h := behind(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(503)
	})
	for range 4 {
		serve(t, h)
		wantState(t, b, recloser.Closed)
	}
	serve(t, h)
	wantState(t, b, recloser.Open)
}

func TestMiddlewareAsksClassify(t *testing.T) {
	for _, tt := range []struct {
		outcome                  recloser.Outcome
		handler                  http.HandlerFunc
		success, failed, ignored uint64
	}{
		{recloser.Success, says(500), 1, 0, 0},
		{recloser.Failure, says(200), 0, 1, 0},
		{recloser.Failure, func(http.ResponseWriter, *http.Request) {}, 0, 1, 0},
		{recloser.Ignored, says(404), 0, 0, 1},
		{recloser.Default, says(500), 0, 1, 0},
	} {
		b := newBreaker(t, recloser.Config{})
		m := &httpbreaker.Middleware{Breaker: httpbreaker.Fixed(b), Classify: func(resp *http.Response) recloser.Outcome {
			if resp.Request == nil || resp.Header == nil || resp.StatusCode == 0 {
				t.Errorf("asked about %+v", resp)
			}
			return tt.outcome
		}}
		serve(t, m.Handler(tt.handler))
		wantEnded(t, b, tt.success, tt.failed, tt.ignored)
	}
}

func TestWhichBreakerAHandlerGets(t *testing.T) {
	var mux http.ServeMux
	var m httpbreaker.Middleware
	mux.Handle("GET /bad/{id}", m.Handler(says(500)))
	mux.Handle("GET /good", m.Handler(says(200)))
	get := func(h http.Handler, path string) int {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return rec.Code
	}
	synctest.Test(t, func(t *testing.T) {
		for range 5 {
			get(&mux, "/bad/1")
			pause(100 * ms)
		}
		if got := [2]int{get(&mux, "/bad/2"), get(&mux, "/good")}; got != [2]int{503, 200} {
			t.Errorf("got %v", got)
		}
	})

	set, err := recloser.NewSet(recloser.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	around := (&httpbreaker.Middleware{Breaker: httpbreaker.PerPattern(set)}).Handler(&mux)
	get(around, "/good")
	names := ""
	for name := range set.All() {
		names += name
	}
	if names != "/" {
		t.Errorf("around the mux the breakers are %q", names)
	}

	none := (&httpbreaker.Middleware{Breaker: httpbreaker.Fixed[recloser.Breaker](nil)}).Handler(says(500))
	for range 100 {
		if got := get(none, "/"); got != 500 {
			t.Fatalf("got %d without a breaker", got)
		}
	}
}

func TestTheHandlersSlowClock(t *testing.T) {
	second := func() io.Reader { return &slowReader{every: time.Second, left: 10, err: io.EOF} }
	tests := []struct {
		name    string
		body    io.Reader
		handler func(w http.ResponseWriter, r *http.Request)
		slow    uint64
	}{
		{"answers late", nil, func(w http.ResponseWriter, _ *http.Request) { pause(3 * time.Second); w.WriteHeader(200) }, 1},
		{"says nothing", nil, func(http.ResponseWriter, *http.Request) { pause(3 * time.Second) }, 1},
		{"streams", nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); pause(3 * time.Second) }, 0},
		{"only informs", nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); pause(3 * time.Second) }, 1},
		{"switches", nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(101); pause(3 * time.Second) }, 0},
		{"flushes", nil, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			pause(3 * time.Second)
		}, 0},
		{"writes a string", nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x"); pause(3 * time.Second) }, 0},
		{"copies from a source that gives nothing", nil, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, &slowReader{every: 3 * time.Second, err: io.EOF})
		}, 1},
		{"copies from a slow source", nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, second()) }, 0},
		{"reads a slow upload", second(), func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }, 0},
		{"reads a part and then hangs", second(), func(_ http.ResponseWriter, r *http.Request) {
			_, _ = r.Body.Read(make([]byte, 1))
			pause(3 * time.Second)
		}, 1},
		{"does a little with each part", second(), func(_ http.ResponseWriter, r *http.Request) {
			for range 10 {
				_, _ = r.Body.Read(make([]byte, 1))
				pause(time.Second)
			}
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{SlowCall: 2 * time.Second, Consecutive: recloser.Off})
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", tt.body)
				behind(b, tt.handler).ServeHTTP(&readerFrom{ResponseRecorder: httptest.NewRecorder()}, r)
				if s := b.Stats(); s.Slow != tt.slow || s.Success != 1-tt.slow {
					t.Errorf("%d good, %d slow; want %d slow of 1", s.Success, s.Slow, tt.slow)
				}
			})
		})
	}
}

func TestATripReleasesHandlers(t *testing.T) {
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			if open := (*recloser.OpenError)(nil); !errors.As(context.Cause(r.Context()), &open) {
				t.Errorf("the context's cause is %v", context.Cause(r.Context()))
			}
			w.Header().Set("Content-Length", "4")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "mine")
			_, _ = w.Write([]byte{})
			_ = http.NewResponseController(w).Flush()
		}
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		status  int
	}{
		{"and it answers nothing", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 503},
		{"and it fails", answer(500), 503},
		{"and it fails past a deadline", func(w http.ResponseWriter, r *http.Request) {
			answer(500)(w, r)
			pause(600 * ms)
		}, 503},
		{"and it has an answer", answer(200), 200},
		{"not if it has answered", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(202)
			select {
			case <-r.Context().Done():
				t.Error("cancelled")
			case <-time.After(400 * ms):
			}
		}, 202},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{CancelOnTrip: true})
				got := make(chan *httptest.ResponseRecorder)
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), 500*ms)
					defer cancel()
					rec := httptest.NewRecorder()
					behind(b, tt.handler).ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
					got <- rec
				}()
				synctest.Wait()
				if err := b.TripFor(time.Minute, "test", "test"); err != nil {
					t.Fatal(err)
				}
				rec := <-got
				ours := rec.Header().Get("Retry-After") == "60" && strings.HasPrefix(rec.Body.String(), `{"title"`) &&
					rec.Header().Get("Content-Length") == ""
				if rec.Code != tt.status || ours != (tt.status == 503) {
					t.Errorf("answered %d %v %q", rec.Code, rec.Header(), rec.Body)
				}
				if s := b.Stats(); s.Failed != 0 || s.InFlight != 0 || (s.Refused[recloser.ReasonReleased] == 1) != (tt.status == 503) {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

func TestAPanicOfAReleasedHandlerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{CancelOnTrip: true})
		rec, done := httptest.NewRecorder(), make(chan any)
		go func() {
			defer func() { done <- recover() }()
			behind(b, func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				panic("boom")
			}).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		}()
		synctest.Wait()
		if err := b.TripFor(time.Minute, "test", "test"); err != nil {
			t.Fatal(err)
		}
		if v := <-done; v != "boom" || rec.Body.Len() != 0 {
			t.Errorf("the panic became %v, and %q was written", v, rec.Body)
		}
		wantEnded(t, b, 0, 1, 0)
	})
}

// The handlers run inside of each other, all on this goroutine.
func TestARequestCostsNoGoroutine(t *testing.T) {
	const deep = 200
	b := newBreaker(t, recloser.Config{CancelOnTrip: true, SlowCall: time.Second})
	before, most := runtime.NumGoroutine(), 0
	left := deep
	var h http.Handler
	tr := through(b, func(req *http.Request) (*http.Response, error) {
		serve(t, h)
		return response(req, 200, http.NoBody), nil
	})
	h = behind(b, func(http.ResponseWriter, *http.Request) {
		if left--; left > 0 {
			_, _ = get(t, tr)
			return
		}
		most = runtime.NumGoroutine()
	})
	serve(t, h)
	if most >= before+deep/2 {
		t.Errorf("%d goroutines more for %d requests", most-before, 2*deep)
	}
	wantEnded(t, b, 2*deep-1, 0, 0)
}

// The server removes the files of the form that its own request shows.
func TestTheServerGetsTheFormBack(t *testing.T) {
	var text strings.Builder
	form := multipart.NewWriter(&text)
	if part, err := form.CreateFormFile("face", "face.png"); err != nil || form.Close() != nil || part == nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(text.String()))
	r.Header.Set("Content-Type", form.FormDataContentType())
	behind(newBreaker(t, recloser.Config{}), func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
		}
	}).ServeHTTP(httptest.NewRecorder(), r)
	if r.MultipartForm == nil {
		t.Error("nobody would remove its files")
	}
}
