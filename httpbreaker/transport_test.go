package httpbreaker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

func TestPerHost(t *testing.T) {
	set, err := recloser.NewSet(recloser.Config{Consecutive: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := httpbreaker.PerHost(set)
	tests := []struct{ url, want string }{
		{"http://api.example/v1", "api.example"},
		{"http://API.Example:80/v2", "api.example"},
		{"https://api.example:443", "api.example"},
		{"https://api.example:8443", "api.example:8443"},
		{"http://10.0.0.1:8080", "10.0.0.1:8080"},
		{"http://[::1]:8080", "[::1]:8080"},
	}
	for _, tt := range tests {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, tt.url, nil)
		if got := of(req).Name(); got != tt.want {
			t.Errorf("%s: breaker %q, want %q", tt.url, got, tt.want)
		}
	}
	if set.Len() != 4 {
		t.Errorf("%d breakers, want 4", set.Len())
	}
}

func TestZeroValueHasABreakerPerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &httpbreaker.Transport{Base: base(func(req *http.Request) (*http.Response, error) {
			if req.URL.Host == "bad.example" {
				return nil, errors.New("connection refused")
			}
			return answers(200)(req)
		})}
		send := func(url string) error {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			_, err := do(tr, req)
			return err
		}
		for range 5 {
			_ = send("http://bad.example/")
			pause(100 * time.Millisecond)
		}
		if err := send("http://bad.example/"); !errors.Is(err, recloser.ErrOpen) {
			t.Errorf("bad host: %v, want a refusal", err)
		}
		if err := send("http://good.example/"); err != nil {
			t.Errorf("good host: %v", err)
		}
	})
}

func TestNoBreakerMeansUnjudged(t *testing.T) {
	for range 100 {
		if status, err := get(t, through(nil, answers(500))); status != 500 || err != nil {
			t.Fatalf("got %d, %v", status, err)
		}
	}
}

type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return nil
}

func TestRefusedRequestIsNotSentAndItsBodyClosed(t *testing.T) {
	b := newBreaker(t, recloser.Config{})
	if err := b.Isolate("test", "test", time.Time{}); err != nil {
		t.Fatal(err)
	}
	body := &closeCounter{Reader: strings.NewReader("guest")}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://hotel-1.example/", body)
	_, err := do(through(b, func(*http.Request) (*http.Response, error) {
		t.Error("sent")
		return nil, errors.New("unreachable")
	}), req)
	if !errors.Is(err, recloser.ErrOpen) || body.closed != 1 {
		t.Errorf("got %v, body closed %d times", err, body.closed)
	}
}

func TestTransportErrorsAreFailures(t *testing.T) {
	b := newBreaker(t, recloser.Config{Consecutive: 5})
	refused := errors.New("connection refused")
	for range 5 {
		_, err := get(t, through(b, func(*http.Request) (*http.Response, error) { return nil, refused }))
		if !errors.Is(err, refused) {
			t.Fatalf("got %v, want the transport's error", err)
		}
	}
	wantState(t, b, recloser.Open)
}

func TestPanicAndGoexitAreFailures(t *testing.T) {
	tests := []struct {
		name string
		rt   base
		want any
	}{
		{"panic", func(*http.Request) (*http.Response, error) { panic("boom") }, "boom"},
		{"goexit", func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil }, nil},
	}
	for _, tt := range tests {
		for _, watched := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, watched %t", tt.name, watched), func(t *testing.T) {
				b := newBreaker(t, recloser.Config{CancelOnTrip: watched})
				got := make(chan any)
				var sent context.Context
				go func() {
					defer func() { got <- recover() }()
					_, _ = get(t, through(b, func(out *http.Request) (*http.Response, error) {
						sent = out.Context()
						return tt.rt(out)
					}))
				}()
				if v := <-got; v != tt.want {
					t.Errorf("recovered %v, want %v", v, tt.want)
				}
				wantEnded(t, b, 0, 1, 0)
				if watched && sent.Err() == nil {
					t.Error("the request's context is still held")
				}
			})
		}
	}
}

func TestRequestAndResponseAreLeftAsTheyAre(t *testing.T) {
	b := newBreaker(t, recloser.Config{CancelOnTrip: true})
	tr := through(b, func(out *http.Request) (*http.Response, error) {
		resp := response(out, 200, io.NopCloser(strings.NewReader("four")), "X-Property", "Aurora")
		resp.ContentLength = 4
		resp.Trailer = http.Header{"X-Sum": nil}
		return resp, nil
	})
	body := io.NopCloser(strings.NewReader("guest"))
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://hotel-1.example/", body)
	ctx := req.Context()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if req.Body != body || req.Context() != ctx {
		t.Error("the caller's request was changed")
	}
	if resp.Request != req || resp.ContentLength != 4 || resp.Header.Get("X-Property") != "Aurora" || len(resp.Trailer) != 1 {
		t.Errorf("response changed: %+v", resp)
	}
	if got, err := io.ReadAll(resp.Body); string(got) != "four" || err != nil {
		t.Errorf("body %q, %v", got, err)
	}
}

func TestBodilessResponsesEndAtOnce(t *testing.T) {
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		b := newBreaker(t, recloser.Config{CancelOnTrip: true})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, "http://hotel-1.example/", nil)
		resp, err := through(b, func(out *http.Request) (*http.Response, error) { return response(out, 204, body), nil }).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body != body {
			t.Errorf("body became %T", resp.Body)
		}
		wantEnded(t, b, 1, 0, 0)
		if resp.Body != nil {
			_ = resp.Body.Close()
		}
	}
}

func TestCloseBeforeTheEndIsTheReadersChoice(t *testing.T) {
	b := newBreaker(t, recloser.Config{CancelOnTrip: true})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/", nil)
	var sent context.Context
	resp, err := through(b, func(out *http.Request) (*http.Response, error) {
		sent = out.Context()
		return answers(200)(out)
	}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if n := b.Stats().InFlight; n != 1 || sent.Err() != nil {
		t.Errorf("%d calls run before the end of the body, want 1 (%v)", n, sent.Err())
	}
	_ = resp.Body.Close()
	wantEnded(t, b, 1, 0, 0)
	if sent.Err() == nil {
		t.Error("the request's context is still held")
	}
}

func TestC91_DownloadsAreNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{SlowCall: 2 * time.Second})
		tr := through(b, func(req *http.Request) (*http.Response, error) {
			return response(req, 200, io.NopCloser(&slowReader{every: time.Second, left: 4, err: io.EOF})), nil
		})
		for range 10 {
			if _, err := get(t, tr); err != nil {
				t.Fatal(err)
			}
			b.Check()
		}
		wantState(t, b, recloser.Closed)
		if s := b.Stats(); s.Success != 10 || s.Slow != 0 {
			t.Errorf("%d good, %d slow; want 10 and 0", s.Success, s.Slow)
		}
	})
}

// connection is what a transport leaves after 101 Switching Protocols.
type connection struct {
	bytes.Buffer
	readErr, writeErr error
	closedWrite       bool
}

func (c *connection) Read([]byte) (int, error) { return 0, c.readErr }

func (c *connection) Write(p []byte) (int, error) {
	if c.writeErr != nil {
		return 0, c.writeErr
	}
	return c.Buffer.Write(p)
}
func (c *connection) Close() error      { return nil }
func (c *connection) CloseWrite() error { c.closedWrite = true; return nil }

func TestUpgrade(t *testing.T) {
	reset := errors.New("connection reset")
	tests := []struct {
		name            string
		conn            connection
		end             func(io.ReadWriteCloser)
		success, failed uint64
	}{
		{"other side ends", connection{readErr: io.EOF}, func(c io.ReadWriteCloser) { _, _ = io.ReadAll(c) }, 1, 0},
		{"we end", connection{readErr: reset}, func(c io.ReadWriteCloser) { _ = c.Close(); _, _ = io.ReadAll(c) }, 1, 0},
		{"breaks off", connection{readErr: reset}, func(c io.ReadWriteCloser) { _, _ = io.ReadAll(c); _ = c.Close() }, 0, 1},
		{"takes no more", connection{writeErr: reset}, func(c io.ReadWriteCloser) { _, _ = c.Write([]byte("x")); _ = c.Close() }, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{CancelOnTrip: true})
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/", nil)
			req.Header.Set("Upgrade", "echo")
			resp, err := through(b, func(out *http.Request) (*http.Response, error) {
				return response(out, http.StatusSwitchingProtocols, &tt.conn, "Upgrade", "echo"), nil
			}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			conn, ok := resp.Body.(io.ReadWriteCloser)
			if !ok {
				t.Fatalf("body is a %T and takes no writes", resp.Body)
			}
			if tt.conn.writeErr == nil {
				if _, err := conn.Write([]byte("hello")); err != nil || tt.conn.String() != "hello" {
					t.Errorf("wrote %q, %v", tt.conn.String(), err)
				}
			}
			if half, ok := conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil || !tt.conn.closedWrite {
				t.Error("CloseWrite did not get through")
			}
			if n := b.Stats().InFlight; tt.conn.writeErr == nil && n != 1 {
				t.Errorf("%d calls run while the connection lives, want 1", n)
			}
			tt.end(conn)
			wantEnded(t, b, tt.success, tt.failed, 0)
		})
	}
}
