package httpbreaker_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// slowReader is a client's upload that flows slowly but steadily.
type slowReader struct {
	every time.Duration
	left  int
	err   error
}

func (r *slowReader) Read(p []byte) (int, error) {
	pause(r.every)
	if r.left == 0 {
		return 0, r.err
	}
	r.left--
	return copy(p, "x"), nil
}

// upload reads the whole request body before it answers, as a transport does.
func upload(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, errors.Join(err, req.Body.Close())
	}
	_ = req.Body.Close()
	return answers(200)(req)
}

func post(t *testing.T, tr *httpbreaker.Transport, body io.Reader) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://hotel-1.example/", body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = do(tr, req)
	return err
}

func TestTimeoutIsTheDependencysTimeOnly(t *testing.T) {
	slow := func() io.Reader { return &slowReader{every: time.Second, left: 60, err: io.EOF} }
	stalled := func() io.Reader { return &slowReader{every: time.Minute, left: 1, err: io.EOF} }
	tests := []struct {
		name string
		rt   base
		body func() io.Reader
		took time.Duration
		ok   bool
	}{
		{"flows", upload, slow, 61 * time.Second, true},
		{"stalls at the caller", upload, stalled, 2 * time.Minute, true},
		{"is taken and then nothing", func(req *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, req.Body)
			return hang(req)
		}, slow, 64 * time.Second, false},
		{"is taken in part", func(req *http.Request) (*http.Response, error) {
			_, _ = req.Body.Read(make([]byte, 1))
			return hang(req)
		}, slow, 4 * time.Second, false},
		{"is not taken", hang, slow, 3 * time.Second, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := through(newBreaker(t, recloser.Config{}), tt.rt)
				tr.Timeout = 3 * time.Second
				start := time.Now()
				if err := post(t, tr, tt.body()); (err == nil) != tt.ok || time.Since(start) != tt.took {
					t.Fatalf("got %v after %s, want an answer: %t after %s", err, time.Since(start), tt.ok, tt.took)
				}
			})
		})
	}
}

func TestSlowUploadsAreNotSlowCalls(t *testing.T) {
	then := func(d time.Duration) base {
		return func(req *http.Request) (*http.Response, error) {
			resp, err := upload(req)
			pause(d)
			return resp, err
		}
	}
	tests := []struct {
		name       string
		rt         base
		good, slow uint64
	}{
		{"answered at once", then(0), 10, 0},
		{"answered within the limit", then(1500 * time.Millisecond), 10, 0},
		{"answered after the limit", then(3 * time.Second), 0, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{SlowCall: 2 * time.Second, Consecutive: recloser.Off})
				for range 10 {
					if err := post(t, through(b, tt.rt), &slowReader{every: time.Second, left: 10, err: io.EOF}); err != nil {
						t.Fatal(err)
					}
					b.Check()
				}
				if s := b.Stats(); s.Success != tt.good || s.Slow != tt.slow {
					t.Errorf("%d good, %d slow; want %d and %d", s.Success, s.Slow, tt.good, tt.slow)
				}
			})
		})
	}
}

func TestConnectingIsOnTheSlowClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{SlowCall: time.Second, Consecutive: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://hotel-1.example/", strings.NewReader("guest"))
		go func() { _, _ = do(through(b, hang), req) }() // never asks for the body, as if it got no connection
		pause(1500 * time.Millisecond)
		wantState(t, b, recloser.Open)
	})
}

func TestUploadThatBreaksOffIsNotTheDependencysFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{})
		gone := errors.New("client hung up")
		err := post(t, through(b, upload), &slowReader{every: time.Second, left: 3, err: gone})
		if own := new(httpbreaker.RequestBodyError); !errors.As(err, &own) || !errors.Is(err, gone) {
			t.Fatalf("got %v", err)
		}
		wantEnded(t, b, 0, 0, 1)
	})
}

func TestRetriedUploadIsWatchedToo(t *testing.T) {
	b := newBreaker(t, recloser.Config{})
	gone := errors.New("file went away")
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://hotel-1.example/", strings.NewReader("once"))
	req.GetBody = func() (io.ReadCloser, error) { return &brokenBody{err: gone}, nil }
	_, err := do(through(b, func(out *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, out.Body)
		again, err := out.GetBody()
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, again)
		return nil, err
	}), req)
	if !errors.Is(err, gone) {
		t.Fatalf("got %v", err)
	}
	wantEnded(t, b, 0, 0, 1)
}
