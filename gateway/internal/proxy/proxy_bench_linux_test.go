package proxy_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/proxy"
	"github.com/recloser-go/recloser/gateway/internal/ratelimit"
	"github.com/recloser-go/recloser/internal/vtime"
)

const (
	question = "GET /hotels/hotel-1/access?guest=7 HTTP/1.1\r\nHost: gateway.example\r\nUser-Agent: turnstile/1.0\r\nAccept: application/json\r\n\r\n"
	reply    = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Mon, 01 Jan 2027 00:00:00 GMT\r\nContent-Length: 17\r\n\r\n{\"allowed\": true}"
)

// BenchmarkProxy is the processor time of one request on 64 connections, from a
// client and to a server that do nothing but write bytes; the time of these two
// themselves is "nothing between", to be taken off both others before they are
// compared.
func BenchmarkProxy(b *testing.B) {
	upstream := rawServer(b)
	base, _ := url.Parse("http://" + upstream + "/v1")
	b.Run("nothing between", func(b *testing.B) { ask64(b, upstream) })
	b.Run("bare", func(b *testing.B) {
		tr := &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}
		b.Cleanup(tr.CloseIdleConnections)
		ask64(b, serve(b, &httputil.ReverseProxy{
			Transport:  tr,
			BufferPool: &pool{sync.Pool{New: func() any { return new([32 << 10]byte) }}},
			Rewrite: func(pr *httputil.ProxyRequest) {
				pr.SetURL(base)
				pr.SetXForwarded()
			},
		}))
	})
	b.Run("ours", func(b *testing.B) {
		clock, err := recloser.StartClock(5 * time.Millisecond)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(clock.Stop)
		deps, err := dependency.Maker{Clock: clock}.NewList([]config.Dependency{{
			ID: "hotel-1", URL: base, Timeout: 5 * time.Second, AttemptTimeout: 3 * time.Second, BodyIdle: time.Minute,
			Settings: recloser.Config{SlowCall: 2 * time.Second, CancelOnTrip: true},
		}})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(deps.CloseIdle)
		p := proxy.New(proxy.Options{
			Dependencies: deps, Bulkhead: bulkhead.New(8192, vtime.Real{}),
			Limits: func() config.Limits { return config.Limits{BodyIdle: 30 * time.Second} }, Limiters: &ratelimit.Limiters{}, Log: slog.New(slog.DiscardHandler),
		})
		ask64(b, serve(b, routed(p.Handler(config.Route{Path: "/hotels/{dependency}/*", ReleaseOnTrip: true}))))
	})
}

type pool struct{ sync.Pool }

func (p *pool) Get() []byte  { return p.Pool.Get().(*[32 << 10]byte)[:] }
func (p *pool) Put(b []byte) { p.Pool.Put((*[32 << 10]byte)(b)) }

func serve(b *testing.B, h http.Handler) string {
	srv := httptest.NewServer(h)
	b.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

// rawServer answers whatever ends in an empty line.
func rawServer(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					line, err := in.ReadSlice('\n')
					if err != nil {
						return
					}
					if len(line) == 2 {
						_, _ = io.WriteString(c, reply)
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// ask64 sends the requests.
func ask64(b *testing.B, address string) {
	const clients = 64
	todo := make(chan int, clients)
	var done sync.WaitGroup
	conns := make([]net.Conn, clients)
	for i := range conns {
		c, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = c
		once(b, c, make([]byte, 4096))
	}
	before := cpu(b)
	b.ReportAllocs()
	b.ResetTimer()
	for _, c := range conns {
		done.Go(func() {
			buf := make([]byte, 4096)
			for n := range todo {
				for range n {
					once(b, c, buf)
				}
			}
			_ = c.Close()
		})
	}
	for left := b.N; left > 0; left -= 10 {
		todo <- min(left, 10)
	}
	close(todo)
	done.Wait()
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

// once sends one request and reads up to the end of its answer.
func once(b *testing.B, c net.Conn, buf []byte) {
	if _, err := io.WriteString(c, question); err != nil {
		b.Error(err)
		return
	}
	for n := 0; n == 0 || buf[n-1] != '}'; {
		m, err := c.Read(buf[n:])
		if err != nil {
			b.Error(err)
			return
		}
		n += m
	}
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
