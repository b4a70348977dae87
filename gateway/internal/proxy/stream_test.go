package proxy_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

func TestStreamsFlow(t *testing.T) {
	for name, length := range map[string]string{"of unknown length": "", "long": "30000"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
					if length != "" {
						w.Header().Set("Content-Length", length)
					}
					for i := range 3 {
						if i > 0 {
							pause(10 * time.Second)
						}
						_, _ = io.WriteString(w, strings.Repeat("x", 9999)+"\n")
						_ = http.NewResponseController(w).Flush()
					}
				})
				resp := b.open("/hotels/hotel-1/events", nil)
				if got := resp.Header.Get("Content-Length"); got != length {
					t.Errorf("length %q, want %q", got, length)
				}
				start := time.Now()
				lines := bufio.NewScanner(resp.Body)
				for i := range 3 {
					if !lines.Scan() || time.Since(start) != time.Duration(i)*10*time.Second {
						t.Fatalf("line %d came after %s", i, time.Since(start))
					}
				}
				if lines.Scan() || lines.Err() != nil {
					t.Errorf("more lines, or %v", lines.Err())
				}
				synctest.Wait()
				if s := b.breaker.Stats(); s.Success != 1 || s.Slow != 0 {
					t.Errorf("a stream of 20 s: %d good, %d slow, want 1 and 0", s.Success, s.Slow)
				}
			})
		})
	}
}

func TestSlowUploadIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		b := newBench(t, func(_ http.ResponseWriter, r *http.Request) {
			all, _ := io.ReadAll(r.Body)
			got = string(all)
		})
		r, w := io.Pipe()
		go func() {
			for range 10 {
				_, _ = io.WriteString(w, "x")
				pause(time.Second)
			}
			_ = w.Close()
		}()
		if a := b.send(t.Context(), http.MethodPost, "/hotels/hotel-1/", r); a.status != 200 || got != "xxxxxxxxxx" {
			t.Errorf("got %+v, the dependency %q", a, got)
		}
	})
}

func TestTrailersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, "body")
			w.Header().Set("X-Sum", "42")
		})
		resp := b.open("/hotels/hotel-1/", nil)
		if _, err := io.ReadAll(resp.Body); err != nil || resp.Trailer.Get("X-Sum") != "42" {
			t.Errorf("trailer %v, %v", resp.Trailer, err)
		}
	})
}

// echo upgrades the connection and says back each line, until told to hang up.
func echo(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	for {
		if err := rw.Flush(); err != nil {
			return
		}
		line, err := rw.ReadString('\n')
		if err != nil || line == "bye\n" {
			return
		}
		_, _ = rw.WriteString(line)
	}
}

func TestG06_UpgradedConnection(t *testing.T) {
	ends := map[string]func(io.ReadWriteCloser){
		"the dependency ends it": func(c io.ReadWriteCloser) {
			_, _ = io.WriteString(c, "bye\n")
			_, _ = io.Copy(io.Discard, c)
		},
		"the client ends it": func(c io.ReadWriteCloser) { _ = c.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, echo)
				resp := b.open("/hotels/hotel-1/", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"echo"}})
				conn, ok := resp.Body.(io.ReadWriteCloser)
				if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
					t.Fatalf("got %d, %T", resp.StatusCode, resp.Body)
				}
				lines := bufio.NewReader(conn)
				for range 3 {
					pause(time.Minute) // no timeout of ours is this connection's
					_, _ = io.WriteString(conn, "hello\n")
					if line, err := lines.ReadString('\n'); line != "hello\n" {
						t.Fatalf("got %q, %v", line, err)
					}
				}
				if n := b.breaker.Stats().InFlight; n != 1 {
					t.Errorf("%d calls run while the connection lives, want 1", n)
				}
				end(conn)
				synctest.Wait()
				if s := b.breaker.Stats(); s.Success != 1 || s.InFlight != 0 || s.Slow != 0 {
					t.Errorf("after the end: %d good, %d running, %d slow", s.Success, s.InFlight, s.Slow)
				}
				b.wantState(recloser.Closed)
			})
		})
	}
}

func TestLargeBodiesPassWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 << 20
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			all, _ := io.ReadAll(r.Body)
			_, _ = w.Write(all)
		})
		a := b.send(t.Context(), http.MethodPost, "/hotels/hotel-1/", strings.NewReader(strings.Repeat("guest ", size/6)))
		if a.status != 200 || len(a.body) != size/6*6 || strings.Trim(a.body, "guest ") != "" {
			t.Errorf("got %d, %d bytes back, %v", a.status, len(a.body), a.err)
		}
	})
}

// open makes a request and leaves the body to the test.
func (b *bench) open(path string, header http.Header) *http.Response {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, "http://gateway.example"+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if header != nil {
		req.Header = header
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}
