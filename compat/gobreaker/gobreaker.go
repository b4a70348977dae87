// Package gobreaker has the API of github.com/sony/gobreaker/v2 without its
// distributed breaker, so that a program moves by changing one import. It counts
// and decides as documented there. What hangs, leaks or deadlocks there does
// not here; docs/guides/from-gobreaker.md lists every difference.
//
// Use it to move in one step. It knows only what gobreaker knows: a call that
// hangs says nothing until it ends. New code is better off with package
// recloser, which the guide shows the way to.
//
// A breaker starts no goroutine and no timer.
package gobreaker

import (
	"errors"
	"fmt"
	"time"

	"github.com/recloser-go/recloser"
)

// Settings is what a breaker is made from. The zero value is valid.
//
// No hook is called under a lock: each may use the breaker. IsSuccessful,
// IsExcluded and ReadyToTrip may be called by several goroutines at once. A
// hook that panics counts as not set.
type Settings struct {
	// Name tells breakers apart; it is handed to OnStateChange.
	Name string
	// MaxRequests is how many calls a half-open breaker lets through, and how
	// many successes close it. Default 1.
	MaxRequests uint32
	// Interval is the length of the window while closed: then Counts begin anew.
	// Default (0 or less): they last as long as the breaker is closed.
	Interval time.Duration
	// BucketPeriod makes the window slide by steps of this length; Interval is
	// rounded up to a multiple of it. Default (0 or less): no steps, all Counts
	// are cleared at once.
	BucketPeriod time.Duration
	// Timeout is how long the breaker stays open, and how long a call let
	// through while half-open may keep its place from others. Default (0 or
	// less) 60 s.
	Timeout time.Duration
	// ReadyToTrip is asked at every failure while closed, that failure counted,
	// and opens the breaker with true. Default: at the sixth failure in a row.
	ReadyToTrip func(counts Counts) bool
	// OnStateChange hears of every change of state, one at a time and in order.
	// It is called before the call returns that caused the change, unless the
	// hook is still busy with an earlier one; then that one's goroutine goes on
	// with it. If it falls more than 4096 changes behind, the oldest are dropped.
	OnStateChange func(name string, from State, to State)
	// IsSuccessful says whether a call that returned err was a success.
	// Default: if err is nil.
	IsSuccessful func(err error) bool
	// IsExcluded says that a call that returned err counts neither as a success
	// nor as a failure; asked before IsSuccessful. Default: none is.
	IsExcluded func(err error) bool
}

// State is what a breaker does with calls.
type State int

// The states of a breaker.
const (
	StateClosed   State = iota // calls pass
	StateHalfOpen              // MaxRequests of them do
	StateOpen                  // none does, until Timeout has passed
)

// String returns the state's name in lower case.
func (s State) String() string {
	switch s {
	case StateClosed:
		return "closed"
	case StateHalfOpen:
		return "half-open"
	case StateOpen:
		return "open"
	default:
		return fmt.Sprintf("unknown state: %d", s)
	}
}

// Why a call was refused. Both are recloser.ErrOpen to errors.Is as well, so
// code that knows only Recloser's refusals, such as its retries, knows them.
var (
	ErrOpenState       error = refusal{"circuit breaker is open"} // the state is open
	ErrTooManyRequests error = refusal{"too many requests"}       // half-open, and MaxRequests calls were let through
)

type refusal struct{ text string }

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return recloser.ErrOpen }

// CircuitBreaker stands in front of one dependency and refuses calls to it while
// they are likely to fail. Make one with NewCircuitBreaker; all methods are safe
// for concurrent use.
type CircuitBreaker[T any] struct{ b *breaker }

// NewCircuitBreaker returns a closed breaker.
func NewCircuitBreaker[T any](st Settings) *CircuitBreaker[T] {
	return &CircuitBreaker[T]{newBreaker(st)}
}

// errGoexit is the failure of a call that ended its goroutine.
var errGoexit = errors.New("runtime.Goexit in the request")

// Execute calls req if the breaker lets it, and returns what req returned;
// otherwise the error is ErrOpenState or ErrTooManyRequests. A panic in req, or
// runtime.Goexit, goes on and counts as an error; the hooks see one with the
// text of the panic.
func (cb *CircuitBreaker[T]) Execute(req func() (T, error)) (T, error) {
	c, err := cb.b.admit(false)
	if err != nil {
		var zero T
		return zero, err
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		if e := recover(); e != nil {
			cb.b.end(c, fmt.Errorf("%v", e))
			panic(e)
		}
		cb.b.end(c, errGoexit)
	}()
	result, err := req()
	returned = true
	cb.b.end(c, err)
	return result, err
}

// Name returns the name given in Settings.
func (cb *CircuitBreaker[T]) Name() string { return cb.b.Name }

// State returns the state at this moment.
func (cb *CircuitBreaker[T]) State() State { return cb.b.currentState() }

// Counts returns the counts at this moment.
func (cb *CircuitBreaker[T]) Counts() Counts { return cb.b.currentCounts() }

// TwoStepCircuitBreaker is a CircuitBreaker for calls that cannot be made in a
// function: one step asks, another tells how the call ended. Make one with
// NewTwoStepCircuitBreaker; all methods are safe for concurrent use.
type TwoStepCircuitBreaker[T any] struct{ b *breaker }

// NewTwoStepCircuitBreaker returns a closed breaker.
func NewTwoStepCircuitBreaker[T any](st Settings) *TwoStepCircuitBreaker[T] {
	return &TwoStepCircuitBreaker[T]{newBreaker(st)}
}

// Allow asks for one call. If it may be made, the caller must report its end by
// calling done, once; after that done does nothing. Otherwise done is nil and
// err is ErrOpenState or ErrTooManyRequests.
func (cb *TwoStepCircuitBreaker[T]) Allow() (done func(err error), err error) {
	return cb.b.allow()
}

// Name returns the name given in Settings.
func (cb *TwoStepCircuitBreaker[T]) Name() string { return cb.b.Name }

// State returns the state at this moment.
func (cb *TwoStepCircuitBreaker[T]) State() State { return cb.b.currentState() }

// Counts returns the counts at this moment.
func (cb *TwoStepCircuitBreaker[T]) Counts() Counts { return cb.b.currentCounts() }
