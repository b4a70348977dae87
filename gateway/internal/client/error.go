package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Kind is what went wrong, as far as a script can do something about it.
type Kind string

// The kinds of errors.
const (
	Failed      Kind = "failed"      // the gateway could not do it
	Usage       Kind = "usage"       // it was asked for something that makes no sense
	NotFound    Kind = "not found"   // there is no such thing
	NotAllowed  Kind = "not allowed" // without this token, or with it
	Unreachable Kind = "unreachable" // there is no gateway, or none that can be heard
	Changed     Kind = "changed"     // it is not any more what it was when it was looked at
)

// Error is why a request did not do what it was for.
type Error struct {
	Kind    Kind
	Status  int             // of the HTTP answer; 0: there was none
	Detail  string          // one or more lines for people: what, and what to do next
	Current json.RawMessage // of kind Changed: the dependency as it is now, if the gateway says so
	Err     error           // what it was caused by, may be nil

	broken bool // it is not known whether the gateway got the request
}

func (e *Error) Error() string { return e.Detail }
func (e *Error) Unwrap() error { return e.Err }

func usage(format string, args ...any) *Error {
	return &Error{Kind: Usage, Detail: fmt.Sprintf(format, args...)}
}

// problem reads an application/problem+json (RFC 9457).
func problem(resp *http.Response, content []byte) *Error {
	var p struct {
		Detail string `json:"detail"`
		Errors []struct {
			Message  string `json:"message"`
			Location string `json:"location"`
		} `json:"errors"`
		Current json.RawMessage `json:"current"`
	}
	_ = json.Unmarshal(content, &p) // what cannot be read is not there
	e := &Error{Kind: kindOf(resp.StatusCode), Status: resp.StatusCode, Detail: p.Detail, Current: p.Current}
	var faults []string
	for _, f := range p.Errors {
		place := strings.TrimPrefix(strings.TrimPrefix(f.Location, "body."), "query.")
		if place == "" || place == "body" {
			faults = append(faults, f.Message)
		} else {
			faults = append(faults, place+": "+f.Message)
		}
	}
	switch {
	case len(faults) > 0 && (e.Detail == "" || strings.EqualFold(e.Detail, "validation failed")):
		e.Detail = strings.Join(faults, "\n")
	case len(faults) > 0:
		e.Detail += "\n" + strings.Join(faults, "\n")
	case e.Detail == "":
		e.Detail = "the gateway answers " + resp.Status
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		e.Detail += "\nGive a token with --token-file or RECLOSER_TOKEN; an admin makes one with recloser token create."
	case resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "":
		e.Detail += fmt.Sprintf("\nTry again in %s s.", resp.Header.Get("Retry-After"))
	}
	return e
}

func kindOf(status int) Kind {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return Usage
	case http.StatusUnauthorized, http.StatusForbidden:
		return NotAllowed
	case http.StatusNotFound, http.StatusGone:
		return NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return Changed
	case http.StatusBadGateway, http.StatusGatewayTimeout: // of something between us and the gateway
		return Unreachable
	}
	return Failed
}
