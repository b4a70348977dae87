// Package gatewaytest is what tests of the gateway stand on: dependencies in
// process that behave as they are told, and a network in memory, on which the
// real net/http runs under testing/synctest's virtual time.
package gatewaytest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Dependency is the other side of calls, an http.Handler that follows a script.
// It answers 200 until it is told otherwise. It is safe for concurrent use.
type Dependency struct {
	behaviour atomic.Pointer[Behaviour]
	calls     atomic.Int64
	running   atomic.Int64
}

// NewDependency returns one that behaves so.
func NewDependency(b Behaviour) *Dependency {
	d := &Dependency{}
	d.Now(b)
	return d
}

// Now sets how calls that come from now on are answered.
func (d *Dependency) Now(b Behaviour) { d.behaviour.Store(&b) }

// Calls returns how many calls have reached the dependency.
func (d *Dependency) Calls() int { return int(d.calls.Load()) }

// Running returns how many of them it has not answered, and whose callers have
// not gone away.
func (d *Dependency) Running() int { return int(d.running.Load()) }

// ServeHTTP implements http.Handler.
func (d *Dependency) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.calls.Add(1)
	d.running.Add(1)
	defer d.running.Add(-1)
	if b := d.behaviour.Load(); b != nil {
		(*b)(w, r)
	}
}

// Listen serves on a loopback port until the test ends, and returns the URL.
func (d *Dependency) Listen(tb testing.TB) string {
	tb.Helper()
	srv := httptest.NewServer(d)
	tb.Cleanup(func() {
		srv.CloseClientConnections() // else Close would wait for whoever hangs
		srv.Close()
	})
	return srv.URL
}

// drain reads the request to its end: only then does a server notice that its
// client has gone.
func drain(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
