// Command bare is httputil.ReverseProxy with a BufferPool and nothing else: what a
// proxied request costs in Go before a gateway adds anything.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to take calls on")
	to := flag.String("to", "", "`address` to pass them on to")
	flag.Parse()
	server := &http.Server{Addr: *listen, Handler: proxy(*to), ReadHeaderTimeout: 10 * time.Second}
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func proxy(to string) http.Handler {
	target := &url.URL{Scheme: "http", Host: to}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
		},
		BufferPool: &buffers{},
		// Idle connections for every caller: else most calls would make a new one.
		Transport: &http.Transport{MaxIdleConnsPerHost: 1024, IdleConnTimeout: 90 * time.Second, DisableCompression: true},
	}
}

// buffers is a pool of the size that ReverseProxy uses itself.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
