package gateway

import (
	"errors"
	"strings"
	"testing"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// An event tells in its line how the call failed, and in a field which key it is of:
// what one key is says nothing of the others.
func TestTransitionsAreToldWhole(t *testing.T) {
	g := &Gateway{history: history.Open(history.Options{})}
	t.Cleanup(func() { _ = g.history.Close(t.Context()) })
	page := errors.New("answered 503: " + strings.Repeat("x", 3*maxCause))
	g.recordTransition("aurora", "", recloser.Transition{Name: "aurora", From: recloser.HalfOpen, To: recloser.Open, Reason: recloser.ReasonTrialFailed, Cause: page})
	g.recordTransition("aurora", "p7", recloser.Transition{Name: "p7", From: recloser.HalfOpen, To: recloser.Closed, Reason: recloser.ReasonTrialsGood})
	events, err := g.history.Events(t.Context(), history.EventQuery{})
	if err != nil || len(events) != 2 {
		t.Fatal(events, err)
	}
	if e := events[0]; e.Key != "p7" || !strings.HasPrefix(e.Text, "aurora, key p7: ") {
		t.Errorf("of a key: %+v", e)
	}
	if e := events[1]; e.Key != "" || !strings.Contains(e.Text, "(trial failed); last failure: answered 503: x") || len(e.Text) > 300 {
		t.Errorf("of a failure: %+v", e)
	}
}
