package httpbreaker

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
)

// statusError is the cause that a breaker shows for a status that is bad. It
// wraps the wait, so that its own words come first.
type statusError struct {
	status int
	wait   recloser.WaitError
}

func (e *statusError) Error() string {
	msg := strings.TrimSpace(fmt.Sprintf("answered %d %s", e.status, http.StatusText(e.status)))
	if e.wait.After > 0 {
		msg += ": " + e.wait.Error()
	}
	return msg
}

func (e *statusError) Unwrap() error { return &e.wait }

// judge ends the call if the headers alone say that it did not end well. A good
// status has its body yet to come. The outcome is what the user's hook says, h may
// hold a Retry-After.
func judge(permit reporter, o recloser.Outcome, status int, h http.Header) {
	throttled := false
	switch o {
	case recloser.Success:
		return
	case recloser.Ignored:
		permit.End(recloser.Ignored)
		return
	case recloser.Failure:
	case recloser.Default:
		throttled = status == http.StatusTooManyRequests
		if !throttled && !serverFailed(status) {
			return
		}
	}
	bad := &statusError{status: status}
	bad.wait.Throttled = throttled
	if throttled || status == http.StatusServiceUnavailable {
		bad.wait.After, _ = RetryAfter(h, time.Now())
	}
	// A WaitError even without a wait: it is a plain failure then (ignored, if
	// throttled), but one that recloser.Config.Classify is not asked about. A hook
	// that finds all errors good is not to turn a 5xx into a success.
	permit.Done(bad)
}

// serverFailed reports whether a status says that the server failed. 501 and 505
// say that it does not know what the request asks for: a client that sends
// nonsense must not cut it off for all others.
func serverFailed(status int) bool {
	return status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported
}

// ask asks the user's hook; Default if there is none, or it panics.
func ask(resp *http.Response, hook func(*http.Response) recloser.Outcome) (o recloser.Outcome) {
	if hook == nil {
		return recloser.Default
	}
	defer func() {
		if recover() != nil {
			o = recloser.Default
		}
	}()
	return hook(resp)
}

// RetryAfter returns how long the Retry-After header asks to wait from now,
// given in seconds or as a date: 0 if the date is past, and false if the header
// is missing or makes no sense.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	seconds, err := strconv.ParseUint(value, 10, 64)
	switch {
	case err == nil:
		return time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second, true
	case errors.Is(err, strconv.ErrRange):
		return math.MaxInt64 / time.Second * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}
