package httpbreaker

import (
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/recloser-go/recloser/internal/safely"
)

// ShortageError says that this program or its machine is short of what a
// connection is made of: file descriptors, ports or buffers. It is not the
// dependency's failure, so the call is ignored.
type ShortageError struct{ Err error }

// Error says what is short.
func (e *ShortageError) Error() string {
	return "httpbreaker: this machine is short of sockets: " + e.Err.Error()
}

// Unwrap returns Err.
func (e *ShortageError) Unwrap() error { return e.Err }

// short reports whether err is for want of sockets. Asking for a host's address
// needs one too, and of what went wrong there only the text is left.
func short(err error) bool {
	text := ""
	if dns, ok := safely.As[*net.DNSError](err); ok && dns != nil {
		text = dns.Err
	}
	return slices.ContainsFunc(shortages(), func(no syscall.Errno) bool {
		return safely.Is(err, no) || text != "" && strings.Contains(text, no.Error())
	})
}
