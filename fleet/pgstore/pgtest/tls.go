//go:build unix

package pgtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const keyFile = "key.pem"

// Certificate is the file of the server's certificate, for sslrootcert.
func (s *Server) Certificate() string { return filepath.Join(s.dir, "certificate.pem") }

// certify makes a certificate for the loopback address and returns the file of its key.
func (s *Server) certify(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	certificate, certErr := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	secret, keyErr := x509.MarshalPKCS8PrivateKey(key)
	file := filepath.Join(s.dir, keyFile)
	err = errors.Join(certErr, keyErr,
		os.WriteFile(s.Certificate(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o644), //nolint:gosec // the server's user reads it
		os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return file
}
