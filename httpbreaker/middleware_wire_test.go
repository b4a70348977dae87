package httpbreaker_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// overBoth runs a test against a real server, over HTTP/1 and over HTTP/2, and
// looks at the end how the calls ended.
func overBoth(t *testing.T, cfg recloser.Config, want ended, h http.HandlerFunc, test func(t *testing.T, b *recloser.Breaker, srv *httptest.Server)) {
	t.Helper()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			b := newBreaker(t, cfg)
			var running sync.WaitGroup // HTTP/2 servers do not wait for it when they close
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				running.Add(1)
				defer running.Done()
				if r.Proto != protocol {
					t.Errorf("asked over %s", r.Proto)
				}
				behind(b, h).ServeHTTP(w, r)
			}))
			srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of what the client broke off
			srv.EnableHTTP2 = protocol == "HTTP/2.0"
			srv.StartTLS()
			defer srv.Close()
			test(t, b, srv)
			srv.Close()
			running.Wait()
			wantEnded(t, b, want.success, want.failed, want.ignored)
		})
	}
}

type ended struct{ success, failed, ignored uint64 }

func ask(t *testing.T, srv *httptest.Server, body io.Reader) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/access", body)
	if err != nil {
		t.Fatal(err)
	}
	return srv.Client().Do(req)
}

func TestAnswersReachTheClient(t *testing.T) {
	overBoth(t, recloser.Config{}, ended{success: 1}, func(w http.ResponseWriter, r *http.Request) {
		guest, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Trailer", "Sum")
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(guest)
		_, _ = io.WriteString(w, "end")
		w.Header().Set("Sum", "42")
	}, func(t *testing.T, b *recloser.Breaker, srv *httptest.Server) {
		resp, err := ask(t, srv, strings.NewReader(strings.Repeat("x", 10_000)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != 202 || len(body) != 10_003 || err != nil || resp.Trailer.Get("Sum") != "42" {
			t.Errorf("got %d, %d bytes, %v, %v", resp.StatusCode, len(body), err, resp.Trailer)
		}
	})
}

func TestStreamsReachTheClientAsTheyAreWritten(t *testing.T) {
	seen := make(chan struct{})
	overBoth(t, recloser.Config{}, ended{success: 1}, func(w http.ResponseWriter, r *http.Request) {
		flusher := w.(http.Flusher)
		for range 3 {
			_, _ = io.WriteString(w, "event\n")
			flusher.Flush()
			<-seen
		}
	}, func(t *testing.T, b *recloser.Breaker, srv *httptest.Server) {
		resp, err := ask(t, srv, nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		for range 3 {
			if !lines.Scan() || lines.Text() != "event" {
				t.Fatalf("read %q, %v", lines.Text(), lines.Err())
			}
			if s := b.Stats(); s.InFlight != 1 {
				t.Errorf("%d calls run", s.InFlight)
			}
			seen <- struct{}{}
		}
	})
}

func TestResponseControllerWorksThroughIt(t *testing.T) {
	overBoth(t, recloser.Config{}, ended{success: 1}, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(r.Body, make([]byte, 3)); err != nil {
			t.Error(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
			t.Error(err)
		}
		if _, err := r.Body.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("past the deadline for reading: %v", err)
		}
		if err := errors.Join(c.EnableFullDuplex(), c.Flush()); err != nil {
			t.Error(err)
		}
		if err := c.SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
			t.Error(err)
		}
		_, err := w.Write(make([]byte, 1<<20))
		if err = errors.Join(err, c.Flush()); err == nil {
			t.Error("wrote past the deadline for writing")
		}
	}, func(t *testing.T, b *recloser.Breaker, srv *httptest.Server) {
		r, w := io.Pipe()
		go func() { _, _ = w.Write([]byte("abc")) }() // and no more
		resp, err := ask(t, srv, r)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if err == nil {
			t.Error("the client got all of it")
		}
		_ = w.Close()
	})
}

func TestBrokenOffAnswers(t *testing.T) {
	overBoth(t, recloser.Config{}, ended{failed: 1}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half of")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, func(t *testing.T, b *recloser.Breaker, srv *httptest.Server) {
		resp, err := ask(t, srv, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("read %q to its end", body)
		}
	})
}

func TestClientsThatLeave(t *testing.T) {
	arrived := make(chan struct{})
	overBoth(t, recloser.Config{}, ended{ignored: 1}, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		w.WriteHeader(500)
	}, func(t *testing.T, b *recloser.Breaker, srv *httptest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-arrived
			cancel()
		}()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
		if resp, err := srv.Client().Do(req); err == nil { // the answer was faster than the end of the connection
			_ = resp.Body.Close()
		}
	})
}

func TestReleasedOverTheWire(t *testing.T) {
	arrived := make(chan struct{})
	overBoth(t, recloser.Config{CancelOnTrip: true}, ended{ignored: 1}, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		http.Error(w, "cancelled", 500)
	}, func(t *testing.T, b *recloser.Breaker, srv *httptest.Server) {
		go func() {
			<-arrived
			_ = b.TripFor(time.Hour, "test", "test")
		}()
		for range 2 { // the second is refused at once
			resp, err := ask(t, srv, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.HasPrefix(string(body), `{"title"`) {
				t.Errorf("got %d %v %q %v", resp.StatusCode, resp.Header, body, err)
			}
		}
	})
}

// Who is refused by a Middleware stays away for as long as that said.
func TestBothEnds(t *testing.T) {
	overBoth(t, recloser.Config{}, ended{}, func(http.ResponseWriter, *http.Request) {
		t.Error("called")
	}, func(t *testing.T, b *recloser.Breaker, srv *httptest.Server) {
		if err := b.TripFor(40*time.Second, "test", "test"); err != nil {
			t.Fatal(err)
		}
		client := newBreaker(t, recloser.Config{})
		tr := &httpbreaker.Transport{Base: srv.Client().Transport, Breaker: httpbreaker.Fixed(client)}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
		if status, err := do(tr, req); status != 503 || err != nil {
			t.Errorf("got %d, %v", status, err)
		}
		_, err := do(tr, req)
		if open := (*recloser.OpenError)(nil); !errors.As(err, &open) || open.Reason != recloser.ReasonToldToWait || open.RetryAfter() > 40*time.Second {
			t.Errorf("got %v", err)
		}
	})
}

func TestHijackedConnections(t *testing.T) {
	b := newBreaker(t, recloser.Config{})
	h := behind(b, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(conn, rw)
	})
	returned := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(returned)
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: hotel-1\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("got %v, %v", resp, err)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if line, err := r.ReadString('\n'); line != "hello\n" || err != nil {
		t.Errorf("read %q, %v", line, err)
	}
	if n := b.Stats().InFlight; n != 1 {
		t.Errorf("%d calls run while the connection lives", n)
	}
	_ = conn.Close()
	<-returned
	wantEnded(t, b, 1, 0, 0)
}

// What the ResponseWriter says that it can do, it can.
func TestHandlersSeeWhatTheServerCanDo(t *testing.T) {
	type flusher struct {
		http.ResponseWriter
		http.Flusher
	}
	type hijacker struct {
		http.ResponseWriter
		http.Hijacker
	}
	type both struct {
		http.ResponseWriter
		http.Flusher
		http.Hijacker
	}
	type plain struct{ http.ResponseWriter }
	type flushErrorer interface{ FlushError() error }
	type flushesWell struct {
		http.ResponseWriter
		flushErrorer
	}
	for _, tt := range []struct {
		w                http.ResponseWriter
		flushes, hijacks bool
	}{
		{plain{}, false, false},
		{flusher{}, true, false},
		{flushesWell{}, true, false},
		{hijacker{}, false, true},
		{both{}, true, true},
		{logging{both{}}, true, true},
		{logging{logging{flusher{}}}, true, false},
	} {
		behind(newBreaker(t, recloser.Config{}), func(w http.ResponseWriter, r *http.Request) {
			_, flushes := w.(http.Flusher)
			_, flushesWell := w.(interface{ FlushError() error })
			_, hijacks := w.(http.Hijacker)
			if flushes != tt.flushes || flushesWell != tt.flushes || hijacks != tt.hijacks {
				t.Errorf("%T: flushes %t, hijacks %t", tt.w, flushes, hijacks)
			}
		}).ServeHTTP(headed{tt.w}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	}
}

type headed struct{ http.ResponseWriter }

func (h headed) Header() http.Header         { return http.Header{} }
func (h headed) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// readerFrom notes what the server would send in its own way.
type readerFrom struct {
	*httptest.ResponseRecorder
	src io.Reader
}

func (r *readerFrom) ReadFrom(src io.Reader) (int64, error) {
	r.src = src
	return io.Copy(r.ResponseRecorder, src)
}

func TestFilesAreSentByTheServer(t *testing.T) {
	for name, tt := range map[string]struct {
		status int // written before; 0: none
		size   int
		server bool // it is the server who copies
	}{
		"answer has begun":        {200, 4000, true},
		"answer begins":           {0, 4000, true},
		"one part":                {0, 512, true},
		"less than the first one": {0, 511, false},
		"nothing":                 {0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			face := strings.Repeat("x", tt.size)
			src := struct{ io.Reader }{strings.NewReader(face)}
			rec := &readerFrom{ResponseRecorder: httptest.NewRecorder()}
			behind(newBreaker(t, recloser.Config{}), func(w http.ResponseWriter, r *http.Request) {
				if tt.status != 0 {
					w.WriteHeader(tt.status)
				}
				if n, err := io.Copy(w, src); n != int64(tt.size) || err != nil {
					t.Errorf("copied %d, %v", n, err)
				}
			}).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			if (rec.src == src) != tt.server || rec.Body.String() != face {
				t.Errorf("sent %d bytes, the server from %v", rec.Body.Len(), rec.src)
			}
		})
	}
}
