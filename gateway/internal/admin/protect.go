package admin

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"strings"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// protect refuses what a foreign web page could make an operator's browser
// send here. Whoever runs on this machine may do everything; a page that the
// operator happens to look at may not.
//
//   - A request for a foreign host: a page can let its own name point to
//     127.0.0.1 (DNS rebinding) and would then count as same-origin.
//   - An act from another origin, as the browser's own headers say.
//   - An act whose body is no JSON: that is all a plain form can send, even
//     from a browser too old for such headers. An empty body needs no kind: a
//     form names one all the same, and a script, which need not, runs only in
//     browsers that send those headers.
func protect(hosts []string, next http.Handler) http.Handler {
	own := make(map[string]bool)
	for _, host := range hosts {
		own[hostName(host)] = true
	}
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, http.StatusForbidden, "refused: this act comes from a page of another site")
	}))
	sameOrigin := crossOrigin.Handler(jsonOnly(next))

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if name := hostName(r.Host); !own[name] && !config.IsLoopback(name) {
			writeProblem(w, http.StatusForbidden, fmt.Sprintf(
				"refused: host %q is not a name of this listener; use localhost, a loopback address, or the host of admin.listen or admin.url", r.Host))
			return
		}
		sameOrigin.ServeHTTP(w, r)
	})
}

// secure sets what holds for all answers. The page sets a policy of its own; data
// needs to load nothing.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
}

// jsonOnly lets acts through only if their body is JSON, or not there and of no
// kind, or a form that signs in or out. DELETE has its parameters in the query, and a body would be overlooked.
func jsonOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodOptions:
		case http.MethodDelete:
			if r.ContentLength != 0 {
				writeProblem(w, http.StatusBadRequest, "DELETE takes no body: put reason, by and if_version into the query")
				return
			}
		default:
			header := r.Header.Get("Content-Type")
			if header == "" && r.ContentLength == 0 {
				break
			}
			kind, _, err := mime.ParseMediaType(header)
			if err == nil && kind == formKind && takesForm(r) {
				break
			}
			if err != nil || kind != "application/json" {
				writeProblem(w, http.StatusUnsupportedMediaType, "send JSON, with the header Content-Type: application/json")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

const formKind = "application/x-www-form-urlencoded"

// takesForm reports whether a plain form is taken: to sign in and out without a
// script, from a browser that says where the form stands.
func takesForm(r *http.Request) bool {
	told := r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != ""
	return told && (r.URL.Path == "/sign-in" || r.URL.Path == "/sign-out")
}

// hostName strips the port, the brackets of IPv6 and the dot of an absolute name.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
