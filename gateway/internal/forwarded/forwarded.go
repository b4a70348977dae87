// Package forwarded holds what is true of every request that goes on to a
// dependency, whichever way: its path is as its client wrote it, and its headers
// say where it comes from.
package forwarded

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// From says where the request comes from. Whatever the client has said about
// that itself is dropped: it could have said anything.
func From(pr *httputil.ProxyRequest) {
	for key := range pr.Out.Header {
		if claims(key) {
			delete(pr.Out.Header, key)
		}
	}
	pr.SetXForwarded()
}

// claims reports whether a header says where a request comes from, or something
// that only a gateway can know. To many programs "_" is as good as "-".
func claims(key string) bool {
	if key == "" || strings.IndexByte("FRVX", key[0]) < 0 { // the most are not
		return false
	}
	if strings.IndexByte(key, '_') >= 0 {
		key = http.CanonicalHeaderKey(strings.ReplaceAll(key, "_", "-"))
	}
	return key == "X-Real-Ip" || key == "Forwarded" || key == "Via" ||
		strings.HasPrefix(key, "X-Forwarded-") || strings.HasPrefix(key, ours)
}

// Trailer returns the trailers, without values yet, that a request has announced
// and that may go on: what may not be claimed before the body may not be after it.
func Trailer(in *http.Request) http.Header {
	if len(in.Trailer) == 0 {
		return nil
	}
	out := make(http.Header, len(in.Trailer))
	for key := range in.Trailer {
		if !claims(key) {
			out[key] = nil
		}
	}
	return out
}

// ours is how the headers begin by which the gateway itself speaks.
const ours = "Recloser-"

// DropOurs drops from a response what only the gateway may say.
func DropOurs(h http.Header) {
	for key := range h {
		if strings.HasPrefix(key, ours) {
			delete(h, key)
		}
	}
}

// Path returns a URL's path as it was written; only bytes that may not stand in
// a path are escaped. URL.EscapedPath escapes all anew if there is one such
// byte, which makes a "/" of every "%2F".
func Path(u *url.URL) string {
	if u.RawPath == "" {
		return u.EscapedPath() // it was written so
	}
	var path strings.Builder
	for i := range len(u.RawPath) {
		if c := u.RawPath[i]; mayStandInPath(c) {
			path.WriteByte(c)
		} else {
			fmt.Fprintf(&path, "%%%02X", c)
		}
	}
	return path.String()
}

// Query returns a URL's query as it was written. Only a space is escaped: HTTP/2
// lets it pass, and in the first line of HTTP/1 it would end the path.
func Query(u *url.URL) string { return strings.ReplaceAll(u.RawQuery, " ", "%20") }

// mayStandInPath also allows brackets, as browsers and net/url do. A "%" always
// begins an escape: net/url has seen to that.
func mayStandInPath(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("-._~!$&'()*+,;=:@/[]%", c) >= 0
}
