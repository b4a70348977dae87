package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// folder has the files of a certificate, and a clock.
type folder struct {
	t         *testing.T
	cert, key string
	mu        sync.Mutex
	now       time.Time
	log       bytes.Buffer
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	dir := t.TempDir()
	return &folder{t: t, cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), now: time.Now()}
}

func (f *folder) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *folder) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// make returns the PEM of a certificate with that serial number.
func (f *folder) make(serial int64, notAfter time.Time) (cert, key []byte) {
	f.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: notAfter.Add(-48 * time.Hour), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		f.t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		f.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

func (f *folder) good(serial int64) (cert, key []byte) {
	return f.make(serial, f.clock().Add(24*time.Hour))
}

func (f *folder) write(cert, key []byte) {
	f.t.Helper()
	for file, content := range map[string][]byte{f.cert: cert, f.key: key} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *folder) load() *Files {
	f.t.Helper()
	files, err := Load(f.cert, f.key, Options{Now: f.clock, Log: slog.New(slog.NewTextHandler(&f.log, nil))})
	if err != nil {
		f.t.Fatal(err)
	}
	return files
}

// serial returns that of the certificate a handshake gets.
func (f *folder) serial(files *Files) int64 {
	f.t.Helper()
	c, err := files.Config().GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		f.t.Fatal(err)
	}
	return c.Leaf.SerialNumber.Int64()
}

func TestChangedFilesAreReadAgain(t *testing.T) {
	f := newFolder(t)
	f.write(f.good(1))
	files := f.load()
	f.write(f.good(2))
	if got := f.serial(files); got != 1 {
		t.Errorf("at once: certificate %d, want 1: it was read a moment ago", got)
	}
	f.pass(every)
	if got := f.serial(files); got != 2 {
		t.Errorf("10 s later: certificate %d, want 2", got)
	}
	if !strings.Contains(f.log.String(), "certificate read anew") {
		t.Errorf("log %q", f.log.String())
	}
	f.log.Reset()
	f.pass(every)
	if got := f.serial(files); got != 2 || f.log.Len() > 0 {
		t.Errorf("unchanged: certificate %d, log %q", got, f.log.String())
	}
}

// The time of a file says nothing: cp -p keeps that of the original.
func TestContentCounts(t *testing.T) {
	f := newFolder(t)
	f.write(f.good(1))
	files := f.load()
	info, err := os.Stat(f.cert)
	if err != nil {
		t.Fatal(err)
	}
	f.write(f.good(2))
	for _, file := range []string{f.cert, f.key} {
		if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	f.pass(every)
	if got := f.serial(files); got != 2 {
		t.Errorf("certificate %d, want 2", got)
	}
}

func TestBrokenPairKeepsTheOldOne(t *testing.T) {
	for name, spoil := range map[string]func(f *folder){
		"not PEM":              func(f *folder) { f.write([]byte("<html>"), []byte("<html>")) },
		"half written":         func(f *folder) { c, k := f.good(2); f.write(c[:len(c)/2], k) },
		"key of another":       func(f *folder) { c, _ := f.good(2); _, k := f.good(3); f.write(c, k) },
		"only the certificate": func(f *folder) { c, _ := f.good(2); k, _ := os.ReadFile(f.key); f.write(c, k) },
		"expired":              func(f *folder) { f.write(f.make(2, f.clock().Add(-time.Hour))) },
		"gone": func(f *folder) {
			if err := os.Remove(f.key); err != nil {
				f.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			f.write(f.good(1))
			files := f.load()
			spoil(f)
			for range 3 {
				f.pass(every)
				if got := f.serial(files); got != 1 {
					t.Errorf("certificate %d, want the old one", got)
				}
			}
			s := files.Status()
			if s.Fault == nil || s.NotAfter.IsZero() {
				t.Errorf("status %+v, want a fault", s)
			}
			if n := strings.Count(f.log.String(), "new certificate not taken"); n != 1 {
				t.Errorf("said %d times, want once: %s", n, f.log.String())
			}
			if strings.Contains(f.log.String(), "PRIVATE") {
				t.Error("the log has the key")
			}
			f.write(f.good(4))
			f.pass(every)
			if got := f.serial(files); got != 4 || files.Status().Fault != nil {
				t.Errorf("once mended: certificate %d, %+v", got, files.Status())
			}
		})
	}
}

func TestRevertedFilesAreNoFault(t *testing.T) {
	f := newFolder(t)
	cert, key := f.good(1)
	f.write(cert, key)
	files := f.load()
	f.write([]byte("x"), []byte("x"))
	f.pass(every)
	f.serial(files)
	f.write(cert, key)
	f.pass(every)
	if got, s := f.serial(files), files.Status(); got != 1 || s.Fault != nil {
		t.Errorf("certificate %d, %+v", got, s)
	}
}

func TestLoadRefuses(t *testing.T) {
	f := newFolder(t)
	if _, err := Load(f.cert, f.key, Options{}); err == nil || !strings.Contains(err.Error(), f.cert) || !strings.Contains(err.Error(), f.key) {
		t.Errorf("without files: %v, want both named", err)
	}
	c, _ := f.good(1)
	_, k := f.good(2)
	f.write(c, k)
	if _, err := Load(f.cert, f.key, Options{}); err == nil || !strings.Contains(err.Error(), "belong together") {
		t.Errorf("with a key of another: %v", err)
	}
}

func TestClock(t *testing.T) {
	f := newFolder(t)
	f.write(f.good(1))
	files := f.load()
	f.write(f.good(2))
	f.pass(-time.Hour)
	if got := f.serial(files); got != 2 {
		t.Errorf("after the clock was set back: certificate %d, want 2: it is looked at", got)
	}
}

// Real handshakes, while the files change.
func TestHandshakes(t *testing.T) {
	f := newFolder(t)
	f.write(f.good(1))
	files := f.load()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	server.TLS = files.Config()
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	server.TLS.Certificates = nil // httptest's own

	dial := func(version uint16, protocols ...string) (tls.ConnectionState, error) {
		conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{
			InsecureSkipVerify: true, MaxVersion: version, NextProtos: protocols, ServerName: "localhost",
		})
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer conn.Close()
		return conn.ConnectionState(), nil
	}
	for _, tt := range []struct {
		version   uint16
		protocols []string
		want      string
	}{
		{tls.VersionTLS13, []string{"h2", "http/1.1"}, "h2"},
		{tls.VersionTLS12, []string{"http/1.1"}, "http/1.1"},
	} {
		s, err := dial(tt.version, tt.protocols...)
		if err != nil || s.NegotiatedProtocol != tt.want || s.Version != tt.version {
			t.Errorf("%s: %+v, %v", tls.VersionName(tt.version), s.NegotiatedProtocol, err)
		}
	}
	if _, err := dial(tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 was taken")
	}

	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if _, err := dial(tls.VersionTLS13); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for serial := range int64(5) {
		f.write(f.good(10 + serial))
		f.pass(every)
	}
	wg.Wait()
	f.pass(every)
	if s, err := dial(tls.VersionTLS13); err != nil || s.PeerCertificates[0].SerialNumber.Int64() != 14 {
		t.Errorf("the last one is not in force: %v, %v", s.PeerCertificates, err)
	}
}
