package problem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/problem"
)

func TestSeconds(t *testing.T) {
	tests := map[time.Duration]int{
		-time.Second:                   1,
		0:                              1,
		time.Millisecond:               1,
		time.Second:                    1,
		time.Second + 1:                2,
		29*time.Second + 999*time.Hour: 999*3600 + 29,
	}
	for d, want := range tests {
		if got := problem.Seconds(d); got != want {
			t.Errorf("%s: %d, want %d", d, got, want)
		}
	}
}

func TestFailure(t *testing.T) {
	tests := []struct {
		err    error
		status int
		reason string
	}{
		{errors.New("connection refused"), http.StatusBadGateway, problem.Failed},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, problem.Timeout},
		{fmt.Errorf("dial: %w", os.ErrDeadlineExceeded), http.StatusGatewayTimeout, problem.Timeout},
	}
	for _, tt := range tests {
		p := problem.Failure("hotel-1", tt.err)
		if p.Status != tt.status || p.Reason != tt.reason || p.Dependency != "hotel-1" {
			t.Errorf("%v: %+v", tt.err, p)
		}
	}
}

func TestRefusalIsWrittenInBodyAndHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := recloser.New(recloser.Config{Name: "hotel-1"})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.TripFor(2500*time.Millisecond, "test", "test"); err != nil {
			t.Fatal(err)
		}
		_, err = b.Allow(t.Context())
		open := new(recloser.OpenError)
		if !errors.As(err, &open) {
			t.Fatalf("got %v", err)
		}
		w := httptest.NewRecorder()
		problem.Write(w, problem.Refusal("hotel-1", "", "", open))
		for key, want := range map[string]string{
			"Content-Type":        "application/problem+json",
			"Recloser-Dependency": "hotel-1",
			"Recloser-State":      "open",
			"Recloser-Reason":     "open",
			"Retry-After":         "3",
		} {
			if got := w.Header().Get(key); got != want {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
		}
		var got problem.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := problem.Problem{
			Title: "Service Unavailable", Status: 503, Detail: "hotel-1 is open (cut off): an operator decided so",
			Dependency: "hotel-1", State: "open", Reason: "open", RetryAfter: 3,
		}
		if got != want || w.Code != 503 {
			t.Errorf("%d %+v, want %+v", w.Code, got, want)
		}
	})
}

func TestRefusalSaysWhy(t *testing.T) {
	for _, c := range []struct {
		reason, trip recloser.Reason
		key, by      string
		want         string
	}{
		{recloser.ReasonOpen, recloser.ReasonRun, "", "", "hotel-1 is open (cut off): one call after the other failed or took too long"},
		{recloser.ReasonOpen, recloser.ReasonTrialFailed, "", "", "hotel-1 is open (cut off): it failed again when it was tried"},
		{recloser.ReasonOpen, recloser.ReasonTripped, "", "", "hotel-1 is open (cut off): an operator decided so"},
		{recloser.ReasonOpen, recloser.ReasonSuspected, "", "", "hotel-1 is open (cut off): its calls ran longer than usual"},
		{recloser.ReasonOpen, recloser.ReasonUs, "", "", "hotel-1 is open (cut off): many hang at once, so it may be the gateway's own network"},
		{recloser.ReasonOpen, recloser.ReasonProbe, "", "", "hotel-1 is open (cut off): its health checks failed"},
		{recloser.ReasonIsolated, recloser.ReasonRun, "", "", "hotel-1 is open (cut off): an operator decided so"},
		{recloser.ReasonIsolated, recloser.ReasonRun, "", "kim", "hotel-1 is open (cut off): an operator decided so"},
		{recloser.ReasonIsolated, recloser.ReasonRun, "", "maintenance new database", "hotel-1 is cut off: planned maintenance"},
		{recloser.ReasonOpen, recloser.ReasonRun, "X-Property", "", "hotel-1, for this X-Property, is open (cut off): one call after the other failed or took too long"},
		{recloser.ReasonReleased, recloser.ReasonRun, "X-Property", "", "hotel-1, for this X-Property, was cut off while this request waited for it; it may have been carried out all the same"},
		{recloser.ReasonToldToWait, recloser.ReasonToldToWait, "", "", "hotel-1 is open (cut off): it asked to be left alone for that long"},
		{recloser.ReasonTrialSlots, recloser.ReasonTime, "", "", "hotel-1 is open (cut off): another call is trying it just now"},
		{recloser.ReasonRamp, recloser.ReasonTrialsGood, "", "", "hotel-1 is open (cut off): it is just back and gets its calls a few at a time"},
	} {
		e := &recloser.OpenError{Name: "the key", State: recloser.Open, Reason: c.reason, Trip: c.trip, Cause: errors.New("dial tcp 10.0.0.7: refused")}
		if got := problem.Refusal("hotel-1", c.key, c.by, e).Detail; got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestRefusalsOfOurs(t *testing.T) {
	for name, c := range map[string]struct {
		p      problem.Problem
		status int
		reason string
		after  string
	}{
		"bulkhead":               {problem.Full("hotel-1", 100*time.Millisecond), 503, problem.Bulkhead, "1"},
		"rate of the dependency": {problem.OverLimit("hotel-1", 1001*time.Millisecond), 503, problem.TooOften, "2"},
		"rate of the client":     {problem.TooMany(0), 429, problem.TooOften, "1"},
		"too long":               {problem.TooLong(7), 413, "", ""},
		"stalled":                {problem.Stalled(time.Second), 408, "", ""},
	} {
		w := httptest.NewRecorder()
		problem.Write(w, c.p)
		h := w.Header()
		if w.Code != c.status || h.Get("Recloser-Reason") != c.reason || h.Get("Retry-After") != c.after || h.Get("Recloser-Dependency") != c.p.Dependency {
			t.Errorf("%s: %d, %v", name, w.Code, h)
		}
	}
}

func TestClose(t *testing.T) {
	for name, c := range map[string]struct {
		major int
		body  int64
		want  string
	}{"HTTP/1 with a body": {1, 4, "close"}, "of unknown length": {1, -1, "close"}, "without": {1, 0, ""}, "HTTP/2": {2, 4, ""}} {
		w := httptest.NewRecorder()
		if problem.Close(w, &http.Request{ProtoMajor: c.major, ContentLength: c.body}); w.Header().Get("Connection") != c.want {
			t.Errorf("%s: %q", name, w.Header().Get("Connection"))
		}
	}
}
