package grpcbreaker

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recloser-go/recloser"
)

// judged returns what a breaker is told of a call that ended with err.
func judged(err error) error {
	st := status.Convert(err)
	switch st.Code() {
	case codes.Unknown, codes.Internal, codes.DataLoss:
		return err
	case codes.Unavailable, codes.ResourceExhausted:
		if after := retryDelay(st); after > 0 {
			return &recloser.WaitError{After: after, Throttled: st.Code() == codes.ResourceExhausted, Err: err}
		}
		return err
	case codes.DeadlineExceeded:
		return &deadline{err}
	case codes.Canceled:
		return &unrelated{err}
	default:
		return nil
	}
}

func retryDelay(st *status.Status) time.Duration {
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// deadline is a status DeadlineExceeded. A server may send it a moment before
// the caller's own timer, of the same deadline, fires.
type deadline struct{ error }

func (e *deadline) Unwrap() error        { return e.error }
func (e *deadline) Is(target error) bool { return target == context.DeadlineExceeded }

// unrelated is an error that says nothing about the dependency. To a breaker
// that is a cancellation.
type unrelated struct{ error }

func (e *unrelated) Unwrap() error        { return e.error }
func (e *unrelated) Is(target error) bool { return target == context.Canceled }
