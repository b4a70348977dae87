package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// listener is an address with the server behind it.
type listener struct {
	setting    string // what sets the address in the config
	address    string
	tls        *tls.Config // nil: plain HTTP
	server     *http.Server
	answerIdle time.Duration // see config.Limits
	socket     net.Listener
	cutOff     context.CancelFunc // ends what Shutdown does not know about: upgraded connections
	running    atomic.Int64       // requests that are being answered

	fresh    sync.Map // connections whose first request is not complete; they are its keys
	stopping atomic.Bool
}

// newListener returns a listener that is not open yet. limits are what a client
// may take up before its request has reached the handler, and with an answer that it
// does not take.
func newListener(setting, address string, secure *tls.Config, limits config.Limits, handler http.Handler, log *slog.Logger) *listener {
	base, cutOff := context.WithCancel(context.Background())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(secure != nil)
	protocols.SetUnencryptedHTTP2(secure == nil)
	l := &listener{setting: setting, address: address, tls: secure, cutOff: cutOff, answerIdle: limits.AnswerIdle}
	l.server = &http.Server{
		Handler:           l.counted(impatientStreams(limits.AnswerIdle, handler)),
		Protocols:         protocols,
		TLSConfig:         secure,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: limits.Streams},
		ReadHeaderTimeout: limits.HeaderTimeout,
		IdleTimeout:       limits.Idle,
		MaxHeaderBytes:    limits.Headers,
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
	switch ours := impatientOf(conn); {
	case state == http.StateNew:
		l.fresh.Store(conn, nil)
		if l.stopping.Load() {
			_ = conn.Close()
		}
	case !ours.heard.Swap(true):
		l.fresh.Delete(conn)
	}
}

// closeFresh closes connections that have sent no complete request. Shutdown
// would wait for one, and not answer it then.
func (l *listener) closeFresh() {
	l.stopping.Store(true)
	for conn := range l.fresh.Range {
		_ = conn.(net.Conn).Close()
	}
}

// open takes the address. Its error says how to get another.
func (l *listener) open(ctx context.Context, file string) error {
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", l.address)
	if err == nil {
		l.socket = impatientListener{socket, l.answerIdle}
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
	serve := func() error { return l.server.Serve(l.socket) }
	if l.tls != nil {
		serve = func() error { return l.server.ServeTLS(l.socket, "", "") }
	}
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
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
