package httpbreaker_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

// RoundTrippers break the rules of their interface in all ways.
func TestOddBaseTransports(t *testing.T) {
	late := func(resp func(*http.Request) *http.Response) base { // who answers when it was told to stop
		return func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return resp(req), nil
		}
	}
	status := func(status int) func(*http.Request) *http.Response {
		return func(req *http.Request) *http.Response { return response(req, status, nil) }
	}
	tests := []struct {
		name    string
		rt      base
		timeout time.Duration
		err     string
	}{
		{"nothing", func(*http.Request) (*http.Response, error) { return nil, nil }, 0, "neither a response nor an error"},
		{"nothing, watched", func(*http.Request) (*http.Response, error) { return nil, nil }, time.Minute, "neither a response nor an error"},
		{"nothing, late", late(func(*http.Request) *http.Response { return nil }), time.Second, "no answer within 1s"},
		{"no body, late", late(status(200)), time.Second, "no answer within 1s"},
		{"no body, switched unasked", func(req *http.Request) (*http.Response, error) { return status(101)(req), nil }, 0, "switched protocols unasked"},
		{"both", func(req *http.Request) (*http.Response, error) { return status(200)(req), io.ErrUnexpectedEOF }, 0, "unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{})
				tr := through(b, tt.rt)
				tr.Timeout = tt.timeout
				if _, err := get(t, tr); err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				wantEnded(t, b, 0, 1, 0)
			})
		})
	}
}

// Whether anything is watched must not matter to how a call ends.
func TestResponsesWithoutBodyAreJudgedToo(t *testing.T) {
	success := func(*http.Response) recloser.Outcome { return recloser.Success }
	failure := func(*http.Response) recloser.Outcome { return recloser.Failure }
	tests := []struct {
		status                   int
		classify                 func(*http.Response) recloser.Outcome
		success, failed, ignored uint64
	}{
		{200, nil, 1, 0, 0},
		{204, nil, 1, 0, 0},
		{304, nil, 1, 0, 0},
		{404, nil, 1, 0, 0},
		{429, nil, 0, 0, 1},
		{500, nil, 0, 1, 0},
		{501, nil, 1, 0, 0},
		{0, nil, 1, 0, 0},
		{200, failure, 0, 1, 0},
		{500, success, 1, 0, 0},
	}
	for _, tt := range tests {
		for _, timeout := range []time.Duration{0, time.Minute} {
			for _, body := range []io.ReadCloser{nil, http.NoBody} {
				b := newBreaker(t, recloser.Config{})
				tr := through(b, func(req *http.Request) (*http.Response, error) { return response(req, tt.status, body), nil })
				tr.Timeout, tr.Classify = timeout, tt.classify
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, "http://hotel-1.example/", nil)
				resp, err := tr.RoundTrip(req)
				if err != nil || resp.Body != body || resp.Request != req {
					t.Errorf("%d: got %+v, %v", tt.status, resp, err)
				}
				wantEnded(t, b, tt.success, tt.failed, tt.ignored)
			}
		}
	}
}

// stubborn is a body that is closed when whoever reads it has noticed.
type stubborn struct{ closed, noticed chan struct{} }

func (s *stubborn) Read([]byte) (int, error) {
	<-s.closed
	return 0, io.ErrClosedPipe
}

func (s *stubborn) Close() error {
	close(s.closed)
	<-s.noticed
	return nil
}

func TestClosingABodyThatIsBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{CancelOnTrip: true})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/", nil)
		body := &stubborn{make(chan struct{}), make(chan struct{})}
		var sent context.Context
		resp, err := through(b, func(req *http.Request) (*http.Response, error) {
			sent = req.Context()
			return response(req, 200, body), nil
		}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(body.noticed)
			if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the reader got %v", err)
			}
		}()
		synctest.Wait()
		_ = resp.Body.Close()
		wantEnded(t, b, 1, 0, 0)
		if sent.Err() == nil {
			t.Error("the request's context is still held")
		}
	})
}

func TestClosingABodyTwice(t *testing.T) {
	for range 100 {
		b := newBreaker(t, recloser.Config{CancelOnTrip: true})
		r, _ := io.Pipe()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/", nil)
		resp, err := through(b, func(req *http.Request) (*http.Response, error) { return response(req, 200, r), nil }).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() { _, _ = resp.Body.Read(make([]byte, 1)) })
		all.Go(func() { _ = resp.Body.Close() })
		all.Go(func() { _ = resp.Body.Close() })
		all.Wait()
		wantEnded(t, b, 1, 0, 0)
	}
}

func TestInformationBeforeTheAnswer(t *testing.T) {
	answer := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		<-answer
		w.Header().Set("Trailer", "Sum")
		_, _ = io.WriteString(w, "yes")
		w.Header().Set("Sum", "42")
	}))
	defer srv.Close()
	b := newBreaker(t, recloser.Config{SlowCall: time.Millisecond, MinCalls: 1000, Consecutive: recloser.Off})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			<-time.After(5 * ms) // the slow clock must still run
			close(answer)
			return nil
		},
	})
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
	resp, err := overTheWire(t, b).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "yes" || err != nil || resp.Trailer.Get("Sum") != "42" {
		t.Errorf("read %q, %v, trailer %v", body, err, resp.Trailer)
	}
	if s := b.Stats(); s.Slow != 1 || s.InFlight != 0 {
		t.Errorf("%d slow, %d running; want one slow call", s.Slow, s.InFlight)
	}
}

func TestExpectContinue(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/takes" {
			_, _ = io.Copy(w, r.Body)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer srv.Close()
	for _, tt := range []struct {
		path            string
		success, failed uint64
	}{{"/takes", 1, 0}, {"/refuses", 0, 1}} {
		b := newBreaker(t, recloser.Config{SlowCall: time.Minute})
		tr := overTheWire(t, b)
		tr.Base.(*http.Transport).ExpectContinueTimeout = time.Minute
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+tt.path, strings.NewReader("guest"))
		req.Header.Set("Expect", "100-continue")
		if _, err := do(tr, req); err != nil {
			t.Errorf("%s: %v", tt.path, err)
		}
		wantEnded(t, b, tt.success, tt.failed, 0)
	}
}

// http.Transport sends a request again if the server closes an idle connection
// just as it goes out; HTTP/2 does so after a GOAWAY.
func TestARequestThatIsSentAgainIsOneCall(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	bodies := make(chan string, 3)
	go func() {
		for first := true; ; first = false {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(conn)
			for n := 0; ; n++ {
				req, err := http.ReadRequest(r)
				if err != nil {
					break
				}
				body, _ := io.ReadAll(req.Body)
				bodies <- string(body)
				if first && n == 1 {
					break
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
			}
			_ = conn.Close()
		}
	}()
	b := newBreaker(t, recloser.Config{CancelOnTrip: true, SlowCall: time.Minute})
	tr := overTheWire(t, b)
	for range 2 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String(), strings.NewReader("guest"))
		req.Header.Set("Idempotency-Key", "17")
		if status, err := do(tr, req); status != 200 || err != nil {
			t.Fatalf("got %d, %v", status, err)
		}
	}
	for range 3 {
		if got := <-bodies; got != "guest" {
			t.Errorf("the server got %q", got)
		}
	}
	wantEnded(t, b, 2, 0, 0)
}
