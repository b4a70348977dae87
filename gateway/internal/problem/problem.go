// Package problem writes what went wrong as application/problem+json (RFC 9457),
// with headers that say the same to programs which do not read bodies.
package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
)

// Reasons besides those of a refusal, see recloser.RefusalReasons.
const (
	Failed   = "failed"     // the dependency could not be reached, or broke off
	Timeout  = "timeout"    // it did not answer in time
	NoSocket = "no socket"  // it was not called, for want of sockets here
	Bulkhead = "bulkhead"   // it was not called: as many calls run at once as may
	TooOften = "rate limit" // it was not called: too many calls in a second
)

// Problem is one answer that is not the one that was hoped for.
type Problem struct {
	Title      string `json:"title"` // filled in by Write
	Status     int    `json:"status"`
	Detail     string `json:"detail,omitempty"`
	Dependency string `json:"dependency,omitempty"`    // its ID
	State      string `json:"state,omitempty"`         // of its breaker
	Reason     string `json:"reason,omitempty"`        // one of the above, or why a breaker refused it
	RetryAfter int    `json:"retry_after_s,omitempty"` // whole seconds; 0: not known
}

// Refusal is the problem of a call that a breaker of the dependency's did not let
// through, or released on a trip. key is the header by whose value that breaker was
// chosen, "" if it is that of all; by is who isolated it, "" if that is not known.
func Refusal(dependency, key, by string, e *recloser.OpenError) Problem {
	who := dependency
	if key != "" {
		who += ", for this " + key + ","
	}
	detail := fmt.Sprintf("%s is %s (%s)", who, e.State, e.State.Effect())
	switch e.Reason {
	case recloser.ReasonReleased:
		detail = who + " was cut off while this request waited for it; it may have been carried out all the same"
	case recloser.ReasonIsolated:
		detail += ": an operator decided so"
		if strings.HasPrefix(by, "maintenance ") {
			detail = who + " is cut off: planned maintenance"
		}
	case recloser.ReasonTrialSlots:
		detail += ": another call is trying it just now"
	case recloser.ReasonRamp:
		detail += ": it is just back and gets its calls a few at a time"
	default:
		if why := whyOpen(e.Trip); why != "" {
			detail += ": " + why
		}
	}
	return Problem{
		Status:     http.StatusServiceUnavailable,
		Detail:     detail,
		Dependency: dependency,
		State:      e.State.String(),
		Reason:     string(e.Reason),
		RetryAfter: Seconds(e.RetryAfter()),
	}
}

// whyOpen says in plain words what cut a dependency off. The last failure itself
// is not for clients: see Failure.
func whyOpen(trip recloser.Reason) string {
	switch trip {
	case recloser.ReasonRate:
		return "too many of its calls failed or took too long"
	case recloser.ReasonRun:
		return "one call after the other failed or took too long"
	case recloser.ReasonSuspected:
		return "its calls ran longer than usual"
	case recloser.ReasonUs:
		return "many hang at once, so it may be the gateway's own network"
	case recloser.ReasonProbe:
		return "its health checks failed"
	case recloser.ReasonFleet:
		return "calls of several nodes failed or took too long"
	case recloser.ReasonTrialFailed:
		return "it failed again when it was tried"
	case recloser.ReasonToldToWait:
		return "it asked to be left alone for that long"
	case recloser.ReasonTripped:
		return "an operator decided so"
	default:
		return ""
	}
}

// Failure is the problem of a call that was made and gave no response: 504 if
// the time ran out, else 502. What exactly went wrong is for the log, as it may
// name addresses that are no client's business.
func Failure(dependency string, err error) Problem {
	var t interface{ Timeout() bool }
	if errors.As(err, &t) && t.Timeout() {
		return Problem{
			Status:     http.StatusGatewayTimeout,
			Detail:     dependency + " did not answer in time",
			Dependency: dependency,
			Reason:     Timeout,
		}
	}
	return Problem{
		Status:     http.StatusBadGateway,
		Detail:     dependency + " could not be reached or broke off",
		Dependency: dependency,
		Reason:     Failed,
	}
}

// Shortage is the problem of a call that could not be made for want of sockets
// on the gateway's own side.
func Shortage(dependency string) Problem {
	return Problem{
		Status:     http.StatusServiceUnavailable,
		Detail:     "the gateway is short of sockets: " + dependency + " was not called",
		Dependency: dependency,
		Reason:     NoSocket,
	}
}

// Full is the problem of a call that found no room in a bulkhead: dependency's, or
// of the whole process.
func Full(dependency string, after time.Duration) Problem {
	return Problem{
		Status:     http.StatusServiceUnavailable,
		Detail:     "as many calls run at once as may: " + dependency + " was not called",
		Dependency: dependency,
		Reason:     Bulkhead,
		RetryAfter: Seconds(after),
	}
}

// OverLimit is the problem of a call beyond the rate at which a dependency may be
// called, by all clients together.
func OverLimit(dependency string, after time.Duration) Problem {
	return Problem{
		Status:     http.StatusServiceUnavailable,
		Detail:     dependency + " is called as often as it may be, and was not called",
		Dependency: dependency,
		Reason:     TooOften,
		RetryAfter: Seconds(after),
	}
}

// TooMany is the problem of a client that calls more often than it may.
func TooMany(after time.Duration) Problem {
	return Problem{
		Status:     http.StatusTooManyRequests,
		Detail:     "more requests than this route takes from one client",
		Reason:     TooOften,
		RetryAfter: Seconds(after),
	}
}

// TooLong is the problem of a request with a body of more than most bytes.
func TooLong(most int64) Problem {
	return Problem{
		Status: http.StatusRequestEntityTooLarge,
		Detail: fmt.Sprintf("the request's body is longer than %d bytes", most),
	}
}

// Stalled is the problem of a request whose body did not go on for that long.
func Stalled(idle time.Duration) Problem {
	return Problem{Status: http.StatusRequestTimeout, Detail: "the request's body did not go on for " + idle.String()}
}

// Close has the server close the connection if the request's body was not read:
// it cannot use it again, and unsaid the client would send its next request there.
func Close(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// Seconds is d for a Retry-After header: rounded up, and at least 1.
func Seconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}

// Headers says in headers what p is, and not how long it may last.
func Headers(w http.ResponseWriter, p Problem) {
	set := func(key, value string) {
		if value != "" {
			w.Header().Set(key, value)
		}
	}
	set("Recloser-Dependency", p.Dependency)
	set("Recloser-State", p.State)
	set("Recloser-Reason", p.Reason)
}

// Write answers with p.
func Write(w http.ResponseWriter, p Problem) {
	p.Title = http.StatusText(p.Status)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	Headers(w, p)
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that is gone needs no answer
}
