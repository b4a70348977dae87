// Package dependency holds the other sides of calls while the gateway runs:
// each has its settings, its breaker and its connections.
package dependency

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// Dependency is one other side. Its fields are not changed after New.
type Dependency struct {
	config.Dependency
	Breaker   *recloser.Breaker
	Transport http.RoundTripper // sends a request as it is: no breaker, no timeout of its own
}

// New makes the breaker, named after the dependency's ID, and the connection
// pool of a dependency. It fails if the breaker's settings are not valid.
func New(c config.Dependency) (*Dependency, error) {
	c.Settings.Name = c.ID
	b, err := recloser.New(c.Settings)
	if err != nil {
		return nil, fmt.Errorf("dependency %s: %w", c.ID, err)
	}
	return &Dependency{Dependency: c, Breaker: b, Transport: newTransport(c.AttemptTimeout)}, nil
}

// maxIdle is how many idle connections to one dependency are kept. Closing them
// after a burst would make the next burst pay for as many handshakes, just when
// the dependency is busiest.
const maxIdle = 1024

// newTransport returns a pool that one dependency has for itself, so that one
// that hangs takes no connection from another. Only connecting has a limit
// here: headers and bodies are timed by whoever makes the call.
func newTransport(connect time.Duration) *http.Transport {
	dialer := net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    connect,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		DisableCompression:     true, // bodies pass as they are
	}
}
