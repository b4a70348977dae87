package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

// viewer does what the panel's overview does, without a browser: it reads the stream
// and loads the page anew after something happened.
type viewer struct {
	address         string
	stream, pages   atomic.Int64 // bytes on the wire
	frames, renewed atomic.Int64 // of numbers; loads of the page

	mu    sync.Mutex
	fault error
}

func newViewer(address string) *viewer { return &viewer{address: address} }

// failed says why it does not watch any more.
func (v *viewer) failed() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fault
}

// watch reads until ctx has ended.
func (v *viewer) watch(ctx context.Context) {
	err := v.read(ctx)
	if ctx.Err() == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.fault = fmt.Errorf("a viewer was cut off: %w", err)
	}
}

func (v *viewer) read(ctx context.Context) error {
	happened := make(chan string, 64) // more are seen with those before
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	defer cancel()
	pages := countingClient(&v.pages)
	defer pages.CloseIdleConnections()
	if err := v.load(ctx, pages, ""); err != nil {
		return err
	}
	renewing.Go(func() { v.renew(ctx, pages, happened) })

	client := countingClient(&v.stream)
	defer client.CloseIdleConnections()
	response, err := get(ctx, client, v.address+"/api/v1/stream?numbers=true")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return eachEvent(response.Body, func(kind, data string) {
		switch kind {
		case "numbers":
			v.frames.Add(1)
		case "transition", "act":
			var e struct{ Dependency string }
			if json.Unmarshal([]byte(data), &e) != nil {
				return
			}
			select {
			case happened <- e.Dependency:
			default:
			}
		}
	})
}

// renew loads the page anew after something happened, with the rows of those to which
// it did, and the more rarely the longer that takes, as the page does.
func (v *viewer) renew(ctx context.Context, client *http.Client, happened <-chan string) {
	var took time.Duration
	for {
		rows := url.Values{"row": {""}}
		select {
		case id := <-happened:
			rows.Add("row", id)
		case <-ctx.Done():
			return
		}
		if !town.Wait(ctx, min(10*time.Second, max(200*time.Millisecond, 10*took))) {
			return
		}
		for len(happened) > 0 {
			rows.Add("row", <-happened)
		}
		begun := time.Now()
		if v.load(ctx, client, "?"+rows.Encode()) == nil {
			v.renewed.Add(1)
		}
		took = time.Since(begun)
	}
}

func (v *viewer) load(ctx context.Context, client *http.Client, query string) error {
	response, err := get(ctx, client, v.address+"/"+query)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		_ = response.Body.Close() // the status says it
		return nil, fmt.Errorf("%s: %s", address, response.Status)
	}
	return response, err
}

// eachEvent calls f with each event of a stream, as it ends.
func eachEvent(stream io.Reader, f func(kind, data string)) error {
	r := bufio.NewReader(stream)
	var kind, data string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		switch line = strings.TrimRight(line, "\r\n"); {
		case line == "" && kind != "":
			f(kind, data)
			kind, data = "", ""
		case strings.HasPrefix(line, "event: "):
			kind = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			data = strings.TrimPrefix(line, "data: ")
		}
	}
}

// countingClient counts what it receives, as it comes from the network.
func countingClient(n *atomic.Int64) *http.Client {
	dialer := &net.Dialer{}
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			return counted{conn, n}, err
		},
	}}
}

type counted struct {
	net.Conn
	n *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.n.Add(int64(n))
	return n, err
}
