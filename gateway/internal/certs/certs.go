// Package certs keeps the certificate of a listener as its files have it.
package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// every is how often the files are looked at, at most. They are read, not only
// their times: a few kilobytes cost nothing beside a handshake, and a copy may
// keep the time of the original.
const every = 10 * time.Second

// Files is a certificate in two PEM files, which a handshake reads again once they
// have changed. It is safe for concurrent use.
type Files struct {
	cert, key string
	now       func() time.Time
	log       *slog.Logger
	pair      atomic.Pointer[pair]

	mu     sync.Mutex // of whoever looks at the files
	looked atomic.Int64
	fault  atomic.Pointer[fault]
}

// pair is what the files held when they were last right.
type pair struct {
	certPEM, keyPEM []byte
	certificate     *tls.Certificate
}

// fault is why the files as they are now are not in force.
type fault struct {
	certPEM, keyPEM []byte
	err             error
}

// Options are what Load needs besides the files.
type Options struct {
	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // is told of another certificate, and of one that is not taken; nil: nothing is logged
}

// Load reads a certificate with its chain, and its key. They must fit.
func Load(cert, key string, o Options) (*Files, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f := &Files{cert: cert, key: key, now: o.Now, log: o.Log}
	certPEM, keyPEM, err := f.read()
	if err != nil {
		return nil, err
	}
	p, err := f.parse(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	f.pair.Store(p)
	f.looked.Store(o.Now().UnixNano())
	return f, nil
}

// Config returns what a server needs: TLS 1.2 or later, HTTP/2 where the client
// speaks it.
func (f *Files) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			f.look()
			return f.pair.Load().certificate, nil
		},
	}
}

// Status says which certificate is in force.
type Status struct {
	NotAfter time.Time // it is good until then
	Fault    error     // why what the files hold now is not in force; nil if it is
}

// Status looks at the files, if it is time to.
func (f *Files) Status() Status {
	f.look()
	s := Status{NotAfter: f.pair.Load().certificate.Leaf.NotAfter}
	if fault := f.fault.Load(); fault != nil {
		s.Fault = fault.err
	}
	return s
}

// Read looks at the files now, as whoever asks for a reload has just written them.
func (f *Files) Read() {
	f.looked.Store(0)
	f.look()
}

// look reads the files again if that was not done lately. A handshake that comes
// meanwhile does not wait for it.
func (f *Files) look() {
	now := f.now().UnixNano()
	if since := now - f.looked.Load(); since >= 0 && since < int64(every) || !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	f.looked.Store(now)

	certPEM, keyPEM, err := f.read()
	now0 := f.pair.Load()
	if err == nil && bytes.Equal(certPEM, now0.certPEM) && bytes.Equal(keyPEM, now0.keyPEM) {
		f.fault.Store(nil)
		return
	}
	known := f.fault.Load()
	if known != nil && bytes.Equal(certPEM, known.certPEM) && bytes.Equal(keyPEM, known.keyPEM) {
		return
	}
	var next *pair
	if err == nil {
		next, err = f.parse(certPEM, keyPEM)
	}
	if err == nil {
		err = lived(next.certificate.Leaf, f.now())
	}
	if err != nil {
		f.fault.Store(&fault{certPEM, keyPEM, err})
		f.log.Error("new certificate not taken: the old one stays in force",
			"error", err, "old_good_until", now0.certificate.Leaf.NotAfter)
		return
	}
	f.pair.Store(next)
	f.fault.Store(nil)
	f.log.Info("certificate read anew", "file", f.cert, "good_until", next.certificate.Leaf.NotAfter)
}

func (f *Files) read() (certPEM, keyPEM []byte, err error) {
	certPEM, err1 := os.ReadFile(f.cert)
	keyPEM, err2 := os.ReadFile(f.key)
	if err := errors.Join(err1, err2); err != nil {
		return certPEM, keyPEM, fmt.Errorf("certificate: %w; create it, correct the path, or let the user that runs the gateway read it", oneLine{err})
	}
	return certPEM, keyPEM, nil
}

// oneLine is an error whose parts stand in one line.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.ReplaceAll(e.error.Error(), "\n", "; ") }
func (e oneLine) Unwrap() error { return e.error }

func (f *Files) parse(certPEM, keyPEM []byte) (*pair, error) {
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w; both must be PEM and belong together", f.cert, f.key, err)
	}
	return &pair{certPEM, keyPEM, &certificate}, nil
}

// lived refuses a certificate that has expired: the old one cannot be worse.
func lived(leaf *x509.Certificate, now time.Time) error {
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("certificate: it expired on %s", leaf.NotAfter.UTC().Format(time.DateTime))
	}
	return nil
}
