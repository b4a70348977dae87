package scenario

import (
	"context"
	"errors"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

var (
	errDown    = errors.New("down")
	errIgnored = errors.New("not the dependency's fault")
)

// results are what can become of a call for its caller.
var results = []string{
	"ok", "fail", "ignore", "panic", "goexit", "wait", "throttled", // as the dependency had it
	"cancelled", "deadline", // he gave up; his deadline passed
	"timeout", "budget", // the guard's doing
	"released",                   // by a trip
	"refused", "limited", "full", // by the breaker, the rate limit, the bulkhead
	withdrawn,
	"nothing", // it runs
}

const withdrawn = "withdrawn"

// resultOf says what an error means to the caller.
func resultOf(err error, reached bool) string {
	var told *recloser.WaitError
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, recloser.ErrOpen) && reached:
		return "released"
	case errors.Is(err, recloser.ErrOpen):
		return "refused"
	case errors.Is(err, guard.ErrLimited):
		return "limited"
	case errors.Is(err, guard.ErrFull):
		return "full"
	case errors.Is(err, guard.ErrBudget):
		return "budget"
	case errors.Is(err, guard.ErrTimeout):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	case errors.As(err, &told) && told.Throttled:
		return "throttled"
	case errors.As(err, &told):
		return "wait"
	case errors.Is(err, errIgnored):
		return "ignore"
	default:
		return "fail"
	}
}
