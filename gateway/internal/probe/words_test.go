package probe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
)

// Why a probe had no answer is told with what to do, in no library's words.
func TestNoAnswerInWords(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 443}
	for want, err := range map[string]error{
		"the name guests.beacon.example has no address (no such host); correct its url": &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "guests.beacon.example"}},
		"192.0.2.7:443 cannot be connected to (connection refused); see that it is up":  &url.Error{Op: "Get", URL: "x", Err: &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: errors.New("connection refused")}},
		"its certificate is not trusted (x509: ":                                        fmt.Errorf("proxy: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
		"EOF":                                                                           errors.New("EOF"),
	} {
		if got := inWords(err); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
