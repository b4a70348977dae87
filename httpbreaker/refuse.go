package httpbreaker

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Refuse answers a request that cannot be served as err is a refusal, of a
// breaker or of a guard: with 503, a Retry-After if err has a method
// RetryAfter() time.Duration, of at least one second, also where that does not
// know the time (0), and a short body of problem+json that says no more than that.
// Middleware does so by itself; a handler calls it if one of its dependencies was
// refused to it. A Middleware in front of that handler then ignores the call: a
// refusal is no failure.
func Refuse(w http.ResponseWriter, _ *http.Request, err error) {
	markRefused(w)
	h := w.Header()
	for _, ofAnother := range []string{"Content-Length", "Content-Encoding", "Content-Range", "Etag", "Last-Modified", "Retry-After"} {
		h.Del(ofAnother)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	more := ""
	if seconds := secondsLeft(err); seconds > 0 {
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
		more = fmt.Sprintf(`,"retry_after_s":%d`, seconds)
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `{"title":"Service Unavailable","status":503`+more+"}\n") // a client that is gone needs no answer
}

// secondsLeft is the time that a refusal names, rounded up; 0 if it names none.
func secondsLeft(err error) int64 {
	var timed interface{ RetryAfter() time.Duration }
	if !errors.As(err, &timed) {
		return 0
	}
	return int64((max(timed.RetryAfter(), 1)-1)/time.Second) + 1
}

// markRefused tells every Middleware around w that what follows is a refusal.
func markRefused(w http.ResponseWriter) {
	for w != nil {
		if a, ok := w.(interface{ refused() }); ok {
			a.refused()
		}
		w = unwrap(w)
	}
}

// unwrap returns what is inside of w, nil if that is not known.
func unwrap(w http.ResponseWriter) http.ResponseWriter {
	if u, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		return u.Unwrap()
	}
	return nil
}
