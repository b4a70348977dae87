package grpcbreaker

import (
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/recloser-go/recloser"
)

// refusal is an OpenError as gRPC sees it.
type refusal struct{ open *recloser.OpenError }

func (r *refusal) Error() string { return r.open.Error() }
func (r *refusal) Unwrap() error { return r.open }

// GRPCStatus makes it a status to package status, and to a server whose handler
// returns it. It does not show the last failure: its text may name what remote
// callers should not know.
func (r *refusal) GRPCStatus() *status.Status {
	// A status that is not UTF-8 loses its details on the way.
	name := strings.ToValidUTF8(r.open.Name, "\uFFFD")
	st := status.New(codes.Unavailable, fmt.Sprintf("%s is %s: %s", name, r.open.State, r.open.Reason))
	if after := r.open.RetryAfter(); after > 0 {
		if with, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
			return with
		}
	}
	return st
}
