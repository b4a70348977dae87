package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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
}

func newListener(setting, address string, handler http.Handler, log *slog.Logger) *listener {
	base, cutOff := context.WithCancel(context.Background())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &listener{
		setting: setting,
		address: address,
		cutOff:  cutOff,
		server: &http.Server{
			Handler:           handler,
			Protocols:         protocols,
			ReadHeaderTimeout: readHeaderTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn), // a handler that panicked, mostly
			BaseContext:       func(net.Listener) context.Context { return base },
		},
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

// stop waits for running requests until ctx is done, then cuts them off and
// returns ctx's error.
func (l *listener) stop(ctx context.Context) error {
	err := l.server.Shutdown(ctx)
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
