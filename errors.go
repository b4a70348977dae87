package recloser

import (
	"errors"
	"fmt"
	"time"
)

// ErrOpen is what every refusal is: errors.Is(err, ErrOpen) holds for calls
// that the breaker did not let through and for calls it released on a trip.
// A retry loop must not retry it.
var ErrOpen = errors.New("recloser: not let through")

// OpenError is a refusal. One value serves all callers of a period, so it must
// not be changed.
type OpenError struct {
	Name   string    // the breaker's name
	State  State     // what the breaker was: Open, HalfOpen, Isolated, or Closed during the slow start
	Reason Reason    // why this call was refused: one of RefusalReasons
	Trip   Reason    // what opened the breaker last: one of the reasons of a Transition; "" if nothing did
	Since  time.Time // when that period began
	Until  time.Time // when calls may pass again; zero if nobody knows
	Cause  error     // the dependency's last failure seen; may be nil

	left func() time.Duration
}

// Error says who was refused and why.
func (e *OpenError) Error() string {
	msg := fmt.Sprintf("recloser: %q is %s (%s)", e.Name, e.State, e.State.Effect())
	switch e.Reason {
	case ReasonOpen:
	case ReasonRamp:
		msg = fmt.Sprintf("recloser: %q has just reclosed and takes few calls at once yet (%s)", e.Name, e.Reason)
	default:
		msg += ": " + string(e.Reason)
	}
	if e.Cause != nil {
		msg += ": last failure: " + fmt.Sprint(e.Cause)
	}
	return msg
}

// Is reports whether target is ErrOpen.
func (e *OpenError) Is(target error) bool { return target == ErrOpen }

// RetryAfter returns the time left until calls may pass again: never
// negative, and 0 if it is not known. Send at least one second over HTTP.
func (e *OpenError) RetryAfter() time.Duration {
	switch {
	case e.left != nil:
		return max(0, e.left())
	case e.Until.IsZero():
		return 0
	default: // made by hand, as tests do
		return max(0, time.Until(e.Until))
	}
}

// WaitError wraps the error of a call whose answer named a time to wait, such
// as HTTP's Retry-After. Return it from a function given to Do, or pass it to
// Permit.Done. The breaker then opens for that time, at most RetryAfterMax:
// at once, or from the second one in a row if Throttled is set.
type WaitError struct {
	After     time.Duration // as the dependency said; zero or less is no wait
	Throttled bool          // the dependency limits our rate (HTTP 429); such a call is ignored, not failed
	Err       error         // the call's own error; may be nil
}

// Error says what the dependency asked for.
func (e *WaitError) Error() string {
	msg := fmt.Sprintf("told to wait %s", e.After)
	if e.Err != nil {
		msg = fmt.Sprint(e.Err) + " (" + msg + ")"
	}
	return msg
}

// Unwrap returns Err.
func (e *WaitError) Unwrap() error { return e.Err }
