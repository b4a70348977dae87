package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestEachEvent(t *testing.T) {
	const stream = "retry: 2000\n\nid: 7\nevent: transition\ndata: {\"dependency\":\"hotel-1\"}\n\n: heartbeat\n\nevent: numbers\r\ndata: {}\r\n\r\nevent: cut"
	var got []string
	err := eachEvent(strings.NewReader(stream), func(kind, data string) { got = append(got, kind+" "+data) })
	if want := `[transition {"dependency":"hotel-1"} numbers {}]`; fmt.Sprint(got) != want || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
}

// A viewer loads the page anew with the row of what changed, and counts bytes.
func TestViewer(t *testing.T) {
	loads := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			loads <- r.URL.RawQuery
			return
		}
		_, _ = io.WriteString(w, "event: numbers\ndata: {}\n\nevent: transition\ndata: {\"dependency\":\"hotel-1\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	v := newViewer(server.URL)
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.watch(t.Context())
	}()
	if first, second := <-loads, <-loads; first != "" || second != "row=&row=hotel-1" {
		t.Errorf("loaded with %q, then with %q", first, second)
	}
	if v.frames.Load() != 1 || v.stream.Load() < 80 || v.pages.Load() < 40 {
		t.Errorf("%d frames, %d and %d bytes", v.frames.Load(), v.stream.Load(), v.pages.Load())
	}
	if err := v.failed(); err != nil {
		t.Error(err)
	}
	server.CloseClientConnections()
	<-done
	if v.failed() == nil {
		t.Error("it was cut off, and nothing is wrong")
	}
}

func TestReport(t *testing.T) {
	begin := time.Now()
	r := &report{}
	for k, cpu := range map[kind]time.Duration{alone: 100 * time.Millisecond, watched: 130 * time.Millisecond, inBrowser: 0} {
		for _, more := range []time.Duration{0, time.Millisecond, 5 * time.Second} { // the median is not taken in by one that is far off
			l := look{at: begin, viewers: 20}
			m := look{
				at: begin.Add(10 * time.Second), cpu: cpu + more, viewers: 20, stream: 4_000_000, frames: 100,
				browser: spent{script: 250 * time.Millisecond, all: time.Second, rows: 500},
			}
			r.add(false, k, l.until(m))
		}
	}
	var b strings.Builder
	r.print(&b, options{dependencies: 500, viewers: 20, rate: 250, d: 10 * time.Second, rounds: 3})
	for _, want := range []string{
		"| gateway without viewers, % of a core |  | 1.01 | 0.00 |",
		"| viewers alone, % of a core | about 0.3 | 0.30 |",
		"| stream, kB/s a viewer | 30 | 20.0 |",
		"| frames of numbers, 1/s a viewer |  | 0.50 |",
		"| rows of the page |  | 500 |",
		"| script, % of the time | about 3 | 2.50 |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
}

func TestBadOptions(t *testing.T) {
	good := options{dependencies: 500, viewers: 20, rate: 250, d: 30 * time.Second, rounds: 3}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*options){
		"too short":   func(o *options) { o.d = time.Second },
		"nobody":      func(o *options) { o.viewers = 0 },
		"no rounds":   func(o *options) { o.rounds = 0 },
		"no calls":    func(o *options) { o.rate = 0 },
		"none to see": func(o *options) { o.dependencies = 0 },
	} {
		o := good
		spoil(&o)
		if o.check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
