package gatewaytest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// Network connects HTTP clients and servers in process. Its connections wait in
// a way that synctest knows, so a test can run both ends, and the gateway
// between them, on virtual time.
type Network struct {
	tb    testing.TB
	mu    sync.Mutex
	hosts map[string]*listener
}

// NewNetwork returns a network with no hosts. All that is made with it ends with
// the test.
func NewNetwork(tb testing.TB) *Network {
	tb.Helper()
	tb.Cleanup(func() { <-time.After(time.Second) }) // a server holds a connection half a second before it closes it
	return &Network{tb: tb, hosts: make(map[string]*listener)}
}

// Serve answers requests to http://host with h.
func (n *Network) Serve(host string, h http.Handler) {
	n.tb.Helper()
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	n.mu.Lock()
	n.hosts[net.JoinHostPort(host, "80")] = l
	n.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	n.tb.Cleanup(func() {
		_ = srv.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			n.tb.Errorf("serving %s: %v", host, err)
		}
	})
}

// Client returns a client of this network with connections of its own.
func (n *Network) Client() *http.Client {
	n.tb.Helper()
	tr := &http.Transport{DialContext: n.dial}
	n.tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// Connect moves a dependency's connections to this network.
func (n *Network) Connect(deps *dependency.List) {
	n.tb.Helper()
	for _, d := range deps.All() {
		tr, ok := d.Transport.(*http.Transport)
		if !ok {
			n.tb.Fatalf("dependency %s: its transport is a %T", d.ID, d.Transport)
		}
		tr.Proxy = nil
		tr.DialContext = n.dial
	}
	n.tb.Cleanup(deps.CloseIdle)
}

func (n *Network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.hosts[address]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("gatewaytest: no host at %s", address)
	}
	here, there := net.Pipe()
	select {
	case l.conns <- fromClient{there}:
		return here, nil
	case <-l.closed:
		return nil, fmt.Errorf("gatewaytest: connection refused by %s", address)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fromClient is a server's end. What net.Pipe calls its address is none.
type fromClient struct{ net.Conn }

func (fromClient) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 50000} // an address for documentation
}

// listener accepts what a Network dials.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "gatewaytest", Net: "pipe"} }
