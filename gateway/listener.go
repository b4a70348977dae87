package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// What a client may take up before its request has reached a handler.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// listener is an address with the server behind it.
type listener struct {
	setting string // what sets the address in the config
	address string
	server  *http.Server
	socket  net.Listener
	cutOff  context.CancelFunc // ends what Shutdown does not know about: upgraded connections
	running atomic.Int64       // requests that are being answered

	mu       sync.Mutex
	fresh    map[net.Conn]struct{} // connections whose first request is not complete
	stopping bool
}

func newListener(setting, address string, handler http.Handler, log *slog.Logger) *listener {
	base, cutOff := context.WithCancel(context.Background())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	l := &listener{setting: setting, address: address, cutOff: cutOff, fresh: make(map[net.Conn]struct{})}
	l.server = &http.Server{
		Handler:           l.counted(handler),
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn), // a handler that panicked, mostly
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnState:         l.follow,
	}
	return l
}

func (l *listener) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.running.Add(1)
		defer l.running.Add(-1)
		h.ServeHTTP(w, r)
	})
}

func (l *listener) follow(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(l.fresh, conn)
	case l.stopping:
		_ = conn.Close()
	default:
		l.fresh[conn] = struct{}{}
	}
}

// closeFresh closes connections that have sent no complete request. Shutdown
// would wait for one, and not answer it then.
func (l *listener) closeFresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = true
	for conn := range l.fresh {
		_ = conn.Close()
	}
}

// open takes the address. Its error says how to get another.
func (l *listener) open(ctx context.Context, file string) error {
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", l.address)
	if err == nil {
		l.socket = socket
		return nil
	}
	why, do := err.Error(), "set another address"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		why, do = "another program listens there", "stop it or set another address"
	case errors.Is(err, syscall.EACCES):
		why, do = "this user may not listen there", "set a port above 1023"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		why = "this machine has no such address"
	}
	return fmt.Errorf("cannot listen on %s: %s; %s with %s in %s", l.address, why, do, l.setting, file)
}

func (l *listener) addr() string {
	if l.socket == nil {
		return ""
	}
	return l.socket.Addr().String()
}

// serve returns nil once the listener is stopped.
func (l *listener) serve() error {
	if err := l.server.Serve(l.socket); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", l.setting, err)
	}
	return nil
}

// stop waits for running requests until ctx is done, then cuts them off. It
// returns ctx's error if there were any.
func (l *listener) stop(ctx context.Context) error {
	l.closeFresh()
	err := l.server.Shutdown(ctx)
	if l.running.Load() == 0 {
		err = nil // only connections were left
	}
	l.cutOff()
	l.close()
	return err
}

func (l *listener) stopWithin(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_ = l.stop(ctx) // what is left is only looked at
}

func (l *listener) close() {
	if l.socket != nil {
		_ = l.socket.Close() // twice if the server has it
	}
	_ = l.server.Close()
}
