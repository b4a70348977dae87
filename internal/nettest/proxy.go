// Package nettest gives tests a network that they can make as bad as they need it.
package nettest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A Proxy is an address that leads to a server, for tests of a network that is cut or
// slow, and of a name that leads to another server after a failover.
type Proxy struct {
	Addr string // host:port

	listener net.Listener
	group    sync.WaitGroup
	mu       sync.Mutex
	to       string
	open     map[net.Conn]bool
	healed   chan struct{} // closed unless the network is cut
	delay    time.Duration
	silent   bool
	life     int // connections of lives before are forgotten
	closed   bool
}

// StartProxy starts a proxy to an address, host:port, until the test ends.
func StartProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, to: to, open: map[net.Conn]bool{}, healed: make(chan struct{})}
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

// Delay has everything take so much longer in each direction from now on.
func (p *Proxy) Delay(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = by
}

// Forget has the network forget the connections there are, without a word to anybody, as
// a firewall does that is restarted: what is sent on them arrives nowhere.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life++
}

// Silence keeps from clients, from now on, that the server ended a connection: as a
// firewall does that has forgotten it.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
}

// Switch leads to another address from now on, and breaks what led to the one before.
func (p *Proxy) Switch(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
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
	to, life := p.to, p.life
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
		_, _ = io.Copy(writer{p, server, life}, client)
		_ = client.Close()
		_ = server.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(writer{p, client, life}, server)
		_ = server.Close()
		if !p.isSilent(life) {
			_ = client.Close()
		}
	})
	both.Wait()
}

// isSilent reports whether nobody is told anything on connections of that life.
func (p *Proxy) isSilent(life int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent || p.life != life
}

func (p *Proxy) isForgotten(life int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life != life
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

// pass returns when the network lets through what is sent now.
func (p *Proxy) pass() {
	p.mu.Lock()
	healed, delay := p.healed, p.delay
	p.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	<-healed
}

// writer writes to a connection what the network lets through.
type writer struct {
	p    *Proxy
	to   net.Conn
	life int
}

func (w writer) Write(b []byte) (int, error) {
	w.p.pass()
	if w.p.isForgotten(w.life) {
		return len(b), nil
	}
	return w.to.Write(b)
}
