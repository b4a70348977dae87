package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// httpURL reads the address of an HTTP server.
func (r *reader) httpURL(n ast.Node, s string) (*url.URL, bool) {
	u, err := url.Parse(s)
	scheme, _, hasScheme := strings.Cut(s, "://")
	switch {
	// A password may be what keeps a url from being one, so whatever has an @ and
	// cannot be read is taken for a url with one.
	case strings.Contains(s, "@") && (err != nil || !hasScheme || u.User != nil || u.Hostname() == "" || u.Port() != "" && !validPort(u.Port(), 1)):
		r.fault(n, "remove the user and password", "credentials in a url are not sent")
	case !hasScheme:
		r.fault(n, fmt.Sprintf("write it with its scheme, such as https://%s", s), "%q is not a url", s)
	case scheme != "http" && scheme != "https":
		r.fault(n, "write http:// or https://", "a url begins with http:// or https://, not %q", scheme+"://")
	case err != nil:
		r.fault(n, "write it like https://api.example.com/v1", "%q is not a url: %v", s, reason(err))
	case u.Hostname() == "" || strings.Contains(u.Hostname(), " "):
		r.fault(n, "write it like https://api.example.com/v1", "%q names no host", s)
	case u.Port() != "" && !validPort(u.Port(), 1):
		r.fault(n, "", "port %s is not from 1 to 65535", u.Port())
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		r.fault(n, "end the url with its path", "query and fragment of a url are not sent")
	default:
		return u, true
	}
	return nil, false
}

// reason drops the part of a url.Error that repeats the url.
func reason(err error) error {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // url.Parse returns nothing else
		return e.Err
	}
	return err
}

func validPort(s string, least int) bool {
	p, err := strconv.Atoi(s)
	return err == nil && p >= least && p <= 65535
}

// address is where to listen. Port 0 lets the system choose.
func address(to *string) value {
	return scalar("address", object{"type": "string", "pattern": ":[0-9]+$"}, func(r *reader, n ast.Node, s string) {
		host, port, err := net.SplitHostPort(s)
		switch {
		case validPort(s, 0):
			r.fault(n, fmt.Sprintf(`write ":%s"`, s), "%q is a port without an address", s)
		case err != nil:
			r.fault(n, `write it like ":8080" or "127.0.0.1:8080"`, "%q is not an address to listen on", s)
		case !validPort(port, 0):
			r.fault(n, "write a number from 1 to 65535", "port %q of %q is not a port", port, s)
		case strings.ContainsAny(host, "/ "):
			r.fault(n, `write it like ":8080" or "127.0.0.1:8080"`, "%q is not an address to listen on", s)
		default:
			*to = s
		}
	}, func() string { return *to })
}

// IsLoopback reports whether a host, without a port, can only be this machine:
// localhost or a loopback address, without brackets.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// prefix reads a range of addresses: "169.254.10.0/24", or one address.
func prefix(r *reader, n ast.Node, s string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		r.fault(n, "write it like 169.254.10.0/24 or 169.254.10.7", "%q is not a range of addresses", s)
	}
	return p.Masked(), err == nil
}

// origin reads what a browser calls one: scheme, host and port.
func origin(r *reader, n ast.Node, s string) (string, bool) {
	u, ok := r.httpURL(n, s)
	if ok && strings.Trim(u.Path, "/") != "" {
		r.fault(n, "end it with the host or its port, such as https://cms.example", "an origin has no path")
		return "", false
	}
	if !ok {
		return "", false
	}
	if strings.ContainsAny(u.Host, " ;,'*") {
		r.fault(n, "write it like https://cms.example", "%q is no origin", s)
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}

// baseURL is where a dependency is. One at an address of the gateway itself
// would have it call itself for ever.
func baseURL(to **url.URL) value {
	return scalar("url", object{"type": "string", "pattern": "^https?://"}, func(r *reader, n ast.Node, s string) {
		if u, ok := r.httpURL(n, s); ok && r.elsewhere(n, u) {
			*to = u
		}
	}, func() string {
		if *to == nil {
			return ""
		}
		return (*to).String()
	})
}

func (r *reader) elsewhere(n ast.Node, u *url.URL) bool {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	for _, own := range r.own {
		host, ownPort, err := net.SplitHostPort(own.address)
		if err == nil && port == ownPort && sameMachine(host, u.Hostname()) {
			r.fault(n, "write where the dependency itself is", "%s is the gateway's own %s address %s, so it would call itself for ever", u.Redacted(), own.setting, own.address)
			return false
		}
	}
	return true
}

// sameMachine reports whether a call of host reaches who listens on listen.
// Other names and addresses of this machine are not known.
func sameMachine(listen, host string) bool {
	a, aErr := netip.ParseAddr(listen)
	b, bErr := netip.ParseAddr(host)
	everywhere := listen == "" || aErr == nil && a.IsUnspecified()
	here := bErr == nil && b.IsUnspecified() // which, called, is a loopback address
	switch {
	case everywhere && (here || IsLoopback(host)), here && IsLoopback(listen):
		return true
	case aErr == nil && bErr == nil:
		return a.Unmap() == b.Unmap()
	case IsLoopback(listen) && IsLoopback(host): // one of them is localhost
		return true
	}
	return strings.EqualFold(listen, host)
}
