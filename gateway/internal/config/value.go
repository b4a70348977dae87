package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// setDuration reads a duration above zero.
func (r *reader) setDuration(to *time.Duration) func(ast.Node) {
	return func(n ast.Node) {
		if d, ok := r.duration(n); ok {
			*to = d
		}
	}
}

func (r *reader) duration(n ast.Node) (time.Duration, bool) {
	s, ok := r.text(n)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		r.fault(n, durationHint(s), "%q is not a duration", s)
	case d <= 0:
		r.fault(n, "", "the duration must be above 0, not %s", s)
	default:
		return d, true
	}
	return 0, false
}

var numberAndWord = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([\pL]*)\.?$`)

// durationHint turns what people write for a duration into what is read.
func durationHint(s string) string {
	const general = "write a number and a unit, such as 5s, 300ms or 1h30m"
	m := numberAndWord.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return general
	}
	number, word := m[1], strings.ToLower(m[2])
	switch {
	case word != "":
	case len(number) > 9:
		return general
	case len(number) >= 3 && !strings.Contains(number, "."): // milliseconds, more likely than not
		return fmt.Sprintf("write a unit, such as %sms or %ss", number, number)
	default:
		return fmt.Sprintf("write a unit, such as %ss", number)
	}
	words := []struct {
		unit  string
		names []string
	}{
		{"ms", []string{"ms", "msec", "msecs", "millisecond", "milliseconds", "millis"}},
		{"s", []string{"s", "sec", "secs", "second", "seconds"}},
		{"m", []string{"m", "min", "mins", "minute", "minutes"}},
		{"h", []string{"h", "hr", "hrs", "hour", "hours"}},
	}
	for _, w := range words {
		if slices.Contains(w.names, word) {
			meant := number + w.unit
			if _, err := time.ParseDuration(meant); err != nil {
				return "it is longer than can be counted: write less than 2562047h"
			}
			return "write " + meant
		}
	}
	if days, err := strconv.Atoi(number); err == nil && days <= 366 && slices.Contains([]string{"d", "day", "days"}, word) {
		return fmt.Sprintf("write %dh", 24*days)
	}
	return general
}

func (r *reader) setBool(to *bool) func(ast.Node) {
	return func(n ast.Node) {
		s, ok := r.text(n)
		switch {
		case !ok:
		case s == "true" || s == "false":
			*to = s == "true"
		default:
			r.fault(n, "", "write true or false, not %q", s)
		}
	}
}

// setInt reads a whole number of at least one.
func (r *reader) setInt(to *int) func(ast.Node) {
	return func(n ast.Node) {
		s, ok := r.text(n)
		if !ok {
			return
		}
		v, err := strconv.Atoi(s)
		if err != nil || v < 1 {
			r.fault(n, "", "here must be a whole number of at least 1, not %q", s)
			return
		}
		*to = v
	}
}

func (r *reader) setText(to *string) func(ast.Node) {
	return func(n ast.Node) {
		s, ok := r.text(n)
		switch {
		case !ok:
		case strings.TrimSpace(s) == "" || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' }):
			r.fault(n, "write a text of one line", "the text is empty or has control characters")
		default:
			*to = s
		}
	}
}

// httpURL reads the address of an HTTP server.
func (r *reader) httpURL(n ast.Node) (*url.URL, bool) {
	s, ok := r.text(n)
	if !ok {
		return nil, false
	}
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

// address reads where to listen. Port 0 lets the system choose.
func (r *reader) address(n ast.Node) (host string, ok bool) {
	s, ok := r.text(n)
	if !ok {
		return "", false
	}
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
		return host, true
	}
	return "", false
}

// IsLoopback reports whether a host, without a port, can only be this machine:
// localhost or a loopback address, without brackets.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
