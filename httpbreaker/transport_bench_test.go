package httpbreaker_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// canned answers at once with one and the same response, so that what is
// measured is what stands in front of it.
type canned struct {
	resp http.Response
	body io.ReadCloser
}

func (c *canned) RoundTrip(req *http.Request) (*http.Response, error) {
	c.resp.Request, c.resp.Body = req, c.body
	return &c.resp, nil
}

// endless is a small body that can be read again and again.
type endless struct{ strings.Reader }

func (b *endless) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		b.Reset("yes")
	}
	return n, err
}

func (b *endless) Close() error { return nil }

func cannedBodies() map[string]io.ReadCloser {
	return map[string]io.ReadCloser{"no body": http.NoBody, "small body": &endless{}}
}

// What the transport adds to a request is the difference to bare, what it adds
// to the breaker the difference to Do.
func BenchmarkTransport(b *testing.B) {
	for name, body := range cannedBodies() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://hotel-1.example/access", nil)
		if err != nil {
			b.Fatal(err)
		}
		bare := &canned{resp: http.Response{StatusCode: http.StatusOK}, body: body}
		breaker, err := recloser.New(recloser.Config{SlowCall: 2 * time.Second})
		if err != nil {
			b.Fatal(err)
		}
		trip := func(b *testing.B, rt http.RoundTripper) {
			buf := make([]byte, 64)
			b.ReportAllocs()
			for b.Loop() {
				if err := roundTrip(rt, req, buf); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run(name+"/bare", func(b *testing.B) { trip(b, bare) })
		b.Run(name+"/Do", func(b *testing.B) {
			trip(b, doer{breaker, bare})
		})
		b.Run(name+"/Transport", func(b *testing.B) {
			trip(b, &httpbreaker.Transport{Base: bare, Breaker: func(*http.Request) *recloser.Breaker { return breaker }})
		})
	}
}

// roundTrip makes one request and reads its body as clients do.
func roundTrip(rt http.RoundTripper, req *http.Request, buf []byte) error {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	if resp.Body != http.NoBody {
		for err == nil {
			_, err = resp.Body.Read(buf)
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
	return resp.Body.Close()
}

// doer calls its base in the breaker's Do, and looks at nothing but the error.
type doer struct {
	breaker *recloser.Breaker
	base    http.RoundTripper
}

func (d doer) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	err = d.breaker.Do(req.Context(), func(context.Context) (err error) {
		resp, err = d.base.RoundTrip(req)
		return err
	})
	return resp, err
}

// nowhere is a ResponseWriter that costs nothing.
type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}
func (n nowhere) Flush()                      {}

func BenchmarkMiddleware(b *testing.B) {
	breaker, err := recloser.New(recloser.Config{SlowCall: 2 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/access", nil)
	if err != nil {
		b.Fatal(err)
	}
	h := (&httpbreaker.Middleware{Breaker: httpbreaker.Fixed(breaker)}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("yes"))
	}))
	var w http.ResponseWriter = nowhere{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
