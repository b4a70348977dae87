//go:build unix

package redistest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A Proxy is an address that leads to a server, for tests of a network that is cut and
// of a name that leads to another server after a failover.
type Proxy struct {
	Addr string // host:port

	listener net.Listener
	group    sync.WaitGroup
	mu       sync.Mutex
	to       string
	open     map[net.Conn]bool
	healed   chan struct{} // closed unless the network is cut
	silent   bool
	closed   bool
}

// StartProxy starts a proxy to the server.
func StartProxy(t testing.TB, to *Server) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, to: to.Addr, open: map[net.Conn]bool{}, healed: make(chan struct{})}
	close(p.healed)
	p.group.Go(p.accept)
	t.Cleanup(p.stop)
	return p
}

// Cut stops everything that goes through, without a word to either side.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.healed = make(chan struct{})
}

// Heal ends a Cut. What was sent meanwhile arrives.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.healed:
	default:
		close(p.healed)
	}
}

// Silence keeps from clients, from now on, that the server ended a connection: as a
// firewall does that has forgotten it.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
}

// Switch leads to another server from now on, and breaks what led to the one before.
func (p *Proxy) Switch(to *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to.Addr
	p.breakAll()
}

func (p *Proxy) breakAll() {
	for conn := range p.open {
		_ = conn.Close()
	}
}

func (p *Proxy) stop() {
	_ = p.listener.Close()
	p.Heal()
	p.mu.Lock()
	p.closed = true
	p.breakAll()
	p.mu.Unlock()
	p.group.Wait()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.group.Go(func() { p.serve(conn) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	p.pass()
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.hold(client, server) {
		return
	}
	defer p.drop(client, server)
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(writer{p, server}, client)
		_ = client.Close()
		_ = server.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(writer{p, client}, server)
		_ = server.Close()
		if !p.isSilent() {
			_ = client.Close()
		}
	})
	both.Wait()
}

func (p *Proxy) isSilent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent
}

// hold notes open connections, unless the proxy has stopped.
func (p *Proxy) hold(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.open[c] = true
	}
	return !p.closed
}

func (p *Proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.open, c)
	}
}

// pass returns when the network is not cut.
func (p *Proxy) pass() {
	p.mu.Lock()
	healed := p.healed
	p.mu.Unlock()
	<-healed
}

// writer writes to a connection what the network lets through.
type writer struct {
	p  *Proxy
	to net.Conn
}

func (w writer) Write(b []byte) (int, error) {
	w.p.pass()
	return w.to.Write(b)
}
