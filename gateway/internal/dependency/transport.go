package dependency

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// maxIdle is how many idle connections to one dependency are kept. Closing them
// after a burst would make the next burst pay for as many handshakes, just when
// the dependency is busiest.
const maxIdle = 1024

// transport returns a pool that one dependency has for itself, so that one that
// hangs takes no connection from another. Only connecting has a limit here:
// headers and bodies are timed by whoever makes the call.
func (m Maker) transport(d *Dependency) *http.Transport {
	dialer := net.Dialer{Timeout: d.AttemptTimeout, KeepAlive: 30 * time.Second}
	proxy := http.ProxyFromEnvironment
	if d.RunTime && m.MayTarget != nil {
		dialer.ControlContext = m.control
		proxy = nil // where it leads a name to could not be seen
	}
	t := &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    d.AttemptTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		DisableCompression:     true, // bodies pass as they are
	}
	switch d.HTTP {
	case config.HTTP1:
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
	case config.H2C:
		t.Protocols = new(http.Protocols)
		t.Protocols.SetUnencryptedHTTP2(true)
		t.Protocols.SetHTTP2(true)
	case config.Auto, "":
	}
	return t
}

// control looks at the address that a name was resolved to: it may be another one
// than when the dependency was added.
func (m Maker) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !m.MayTarget(a.Addr()) {
		return &TargetError{a.Addr()}
	}
	return nil
}

// TargetError is an address that no dependency added at run time may have.
type TargetError struct{ Addr netip.Addr }

// Error says what to do about it.
func (e *TargetError) Error() string {
	return fmt.Sprintf("%s is an address of a machine's own services: put the dependency into the config file, or the address into admin.allow_targets", e.Addr)
}
