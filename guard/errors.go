package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recloser-go/recloser/internal/refusal"
	"github.com/recloser-go/recloser/internal/safely"
)

// What the errors of this package are, for errors.Is.
var (
	ErrLimited = errors.New("guard: over the rate limit")         // a *LimitError
	ErrFull    = errors.New("guard: too many calls at once")      // a *BulkheadError
	ErrBudget  = errors.New("guard: the retry budget is used up") // a *BudgetError
	ErrTimeout = errors.New("guard: timed out")                   // a *TimeoutError
)

// LimitError is a call that the rate limit refused. It says that you call too
// often, and nothing about the dependency.
type LimitError struct {
	Name  string        // the guard's name
	After time.Duration // when there will be a token, if nobody else takes it
}

// Error says who was refused and when to come back.
func (e *LimitError) Error() string {
	return fmt.Sprintf("guard: %q is over its rate limit, there is room in %s", e.Name, e.After)
}

// Is reports whether target is ErrLimited. To every breaker it is a refusal, which
// it ignores.
func (e *LimitError) Is(target error) bool { return target == ErrLimited || target == refusal.Err }

// RetryAfter returns After.
func (e *LimitError) RetryAfter() time.Duration { return e.After }

// BulkheadError is a call that found no room in the bulkhead, or none in time.
type BulkheadError struct {
	Name string // the guard's name
	Max  int    // how many calls may run at once
}

// Error says who was refused and why.
func (e *BulkheadError) Error() string {
	return fmt.Sprintf("guard: %q runs as many calls at once as it may (%d)", e.Name, e.Max)
}

// Is reports whether target is ErrFull. To every breaker it is a refusal, which it
// ignores.
func (e *BulkheadError) Is(target error) bool { return target == ErrFull || target == refusal.Err }

// BudgetError is a failed call that was not tried again, as too many were.
type BudgetError struct {
	Name string // the guard's name
	Err  error  // of the last attempt
}

// Error adds to the error of the last attempt why it was the last.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("%v (guard: the retry budget of %q is used up)", e.Err, e.Name)
}

// Is reports whether target is ErrBudget.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// Unwrap returns Err.
func (e *BudgetError) Unwrap() error { return e.Err }

// TimeoutError is a call or an attempt that a timeout of the guard ended. It is
// a failure of the dependency, and also a context.DeadlineExceeded.
type TimeoutError struct {
	Name    string        // the guard's name
	After   time.Duration // Config.Timeout or Config.AttemptTimeout
	Attempt bool          // it was AttemptTimeout
}

// Error says what timed out and when.
func (e *TimeoutError) Error() string {
	what := "call"
	if e.Attempt {
		what = "attempt"
	}
	return fmt.Sprintf("guard: %q: the %s timed out after %s", e.Name, what, e.After)
}

// Is reports whether target is ErrTimeout or context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}

// Timeout returns true: a TimeoutError is a net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary returns true, as that of context.DeadlineExceeded does.
func (e *TimeoutError) Temporary() bool { return true }

// isRefusal reports whether a guard refused, here or further inside.
func isRefusal(err error) bool { return safely.Is(err, refusal.Err) }
