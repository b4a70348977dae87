package lastknown

import (
	"net/http"
	"slices"
	"strings"
)

// What an answer means for what is kept.
type verdict uint8

const (
	leave  verdict = iota // it says nothing about that
	keep                  // it takes the place of what there was
	forget                // what there was is not so any more
)

// judge says what the answer to a request means. Only what may be shown again
// takes the place of the last one; but whoever is told that he may not see it any
// more is not to see the last one either.
func judge(r *http.Request, status int, h http.Header) verdict {
	switch {
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusNotModified || status == http.StatusPartialContent || status < 200:
		return leave
	case !mayBeKept(r, h):
		return forget
	}
	switch status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo, http.StatusNoContent, http.StatusNotFound, http.StatusGone:
		return keep
	}
	return forget
}

// mayBeKept reports whether the headers allow an answer to be shown again when
// it is old. One for a single client may be if that client has said who it is, as
// no other gets it then.
func mayBeKept(r *http.Request, h http.Header) bool {
	vary := namesIn(h["Vary"]) // X-Forwarded-For is ours, and no part of a request that comes
	if slices.Contains(vary, "*") || slices.Contains(vary, "X-Forwarded-For") || len(h["Content-Range"]) > 0 {
		return false
	}
	if slices.ContainsFunc(directives(r.Header), func(d string) bool { return d == "no-store" }) {
		return false
	}
	return !slices.ContainsFunc(directives(h), func(d string) bool {
		switch d {
		case "no-store", "no-cache", "must-revalidate", "proxy-revalidate":
			return true
		case "private":
			return !hasCredentials(r)
		}
		return false
	})
}

// directives returns those of Cache-Control, in lower case, without values.
func directives(h http.Header) []string {
	var all []string
	for _, line := range h["Cache-Control"] {
		for d := range strings.SplitSeq(line, ",") {
			d, _, _ = strings.Cut(d, "=")
			all = append(all, strings.ToLower(strings.TrimSpace(d)))
		}
	}
	return all
}

// namesIn returns the names in the lines of a header, as http.Header has them.
func namesIn(lines []string) []string {
	var all []string
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				all = append(all, http.CanonicalHeaderKey(name))
			}
		}
	}
	return all
}
