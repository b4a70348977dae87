package tempstore

import (
	"io"
	"net"
	"sync"
)

// Relay is a network between a gateway and its store, which can be cut. It is safe for
// concurrent use.
type Relay struct {
	listener net.Listener
	to       string
	all      sync.WaitGroup

	mu     sync.Mutex
	cut    bool
	closed bool
	ways   map[*way]bool // that are open
}

// way is one connection through it.
type way struct {
	client net.Conn
	server net.Conn // nil: the network was cut when it began
}

// NewRelay returns one that leads to an address, which need not answer yet.
func NewRelay(to string) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{listener: l, to: to, ways: make(map[*way]bool)}
	r.all.Go(r.accept)
	return r, nil
}

// Addr is where it listens.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Cut cuts the network: nothing gets through any more, and nobody is told.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = true
	for w := range r.ways {
		if w.server != nil {
			_ = w.server.Close()
		}
	}
}

// Heal ends the cut. Connections of before are no more.
func (r *Relay) Heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = false
	for w := range r.ways {
		_ = w.client.Close()
	}
}

// Close ends it, and returns when nothing of it is left.
func (r *Relay) Close() error {
	err := r.listener.Close()
	r.Cut()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.Heal()
	r.all.Wait()
	return err
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.all.Go(func() { r.serve(client) })
	}
}

func (r *Relay) serve(client net.Conn) {
	defer client.Close()
	w := &way{client: client}
	if !r.isCut() {
		server, err := net.Dial("tcp", r.to)
		if err != nil {
			return // as the store is not there
		}
		defer server.Close()
		w.server = server
	}
	if !r.open(w) {
		return
	}
	defer r.forget(w)
	if w.server != nil {
		r.all.Go(func() {
			_, _ = io.Copy(client, w.server)
			if !r.isCut() {
				_ = client.Close()
			}
		})
		_, _ = io.Copy(w.server, client)
	}
	if r.isCut() {
		_, _ = io.Copy(io.Discard, client)
	}
}

func (r *Relay) isCut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut
}

// open notes a way, unless it is too late for it.
func (r *Relay) open(w *way) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.cut && w.server != nil {
		return false
	}
	r.ways[w] = true
	return true
}

func (r *Relay) forget(w *way) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ways, w)
}
