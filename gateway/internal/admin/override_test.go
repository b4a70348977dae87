package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

const overrideOfHotel1 = "/api/v1/dependencies/hotel-1/override"

func TestIsolateAndRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var d Dependency
		b.want(http.StatusOK, &d, "PUT", overrideOfHotel1, `{"mode":"isolated","for":"1h","reason":" PMS upgrade ","by":"ines"}`)

		end := time.Now().Add(time.Hour).UTC()
		if d.State != "isolated" || d.Effect != "cut off by hand" || d.NextTrial != nil {
			t.Errorf("state %s (%s), next trial %v", d.State, d.Effect, d.NextTrial)
		}
		if d.Until == nil || !d.Until.Equal(end) {
			t.Errorf("until %v, want %v", d.Until, end)
		}
		want := Override{State: "isolated", By: "ines", Reason: "PMS upgrade", Since: time.Now().UTC(), Until: &end}
		if d.Override == nil || fmt.Sprint(*d.Override.Until, d.Override.Since) != fmt.Sprint(end, want.Since) ||
			d.Override.State != want.State || d.Override.By != want.By || d.Override.Reason != want.Reason {
			t.Errorf("override %+v, want %+v", d.Override, want)
		}
		if _, err := b.breaker("hotel-1").Allow(t.Context()); !errors.Is(err, recloser.ErrOpen) {
			t.Errorf("a call of an isolated dependency: %v, want a refusal", err)
		}
		if line := b.log.String(); !strings.Contains(line, `dependency=hotel-1 by=ines reason="PMS upgrade" from=127.0.0.1 until=`) {
			t.Errorf("log %q", line)
		}

		version := d.Version
		b.want(http.StatusOK, &d, "DELETE", fmt.Sprintf("%s?reason=done&by=ines&if_version=%d", overrideOfHotel1, version), "")
		if d.State != "half-open" || d.Override != nil || d.Version <= version {
			t.Errorf("released: state %s, override %+v, version %d after %d", d.State, d.Override, d.Version, version)
		}
	})
}

// On the machine's clock, whose two readings drift apart.
func TestUntilComesBackAsItWent(t *testing.T) {
	b := newBench(t)
	until := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	for _, mode := range []string{"isolated", "held-closed"} {
		w := b.send("PUT", overrideOfHotel1, `{"mode":"`+mode+`","until":"`+until+`","reason":"x"}`)
		if want := `"until":"` + until + `"`; strings.Count(w.Body.String(), want) != 2 {
			t.Errorf("%s: want %s of the dependency and of its override: %s", mode, want, w.Body)
		}
	}
}

func TestOverrideEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		until := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
		var d Dependency
		b.want(http.StatusOK, &d, "PUT", overrideOfHotel1, `{"mode":"isolated","until":"`+until+`","reason":"x"}`)
		<-time.After(time.Minute)
		b.want(http.StatusOK, &d, "GET", "/api/v1/dependencies/hotel-1", "")
		if d.State != "half-open" || d.Reason != "expired" {
			t.Errorf("after its end: %s, reason %q", d.State, d.Reason)
		}
	})
}

func TestHoldClosedShowsWhatTheRulesSay(t *testing.T) {
	b := newBench(t)
	b.trip("hotel-1")
	var d Dependency
	b.want(http.StatusOK, &d, "PUT", overrideOfHotel1, `{"mode":"held-closed","no_expiry":true,"reason":"we know"}`)
	if d.State != "held-closed" || d.Effect != "passing by hand" || d.Automatic != "open" {
		t.Errorf("state %s (%s), automatic %s", d.State, d.Effect, d.Automatic)
	}
	if d.Override == nil || d.Override.Until != nil || d.Until != nil {
		t.Errorf("override %+v, until %v; want one without an end", d.Override, d.Until)
	}
	if want := "operator (127.0.0.1)"; d.Override.By != want {
		t.Errorf("by %q, want %q", d.Override.By, want)
	}
}

func TestReleaseWithoutOverrideChangesNothing(t *testing.T) {
	b := newBench(t)
	var before, after Dependency
	b.want(http.StatusOK, &before, "GET", "/api/v1/dependencies/hotel-1", "")
	b.want(http.StatusOK, &after, "DELETE", overrideOfHotel1, "")
	if after.Version != before.Version || after.State != "closed" {
		t.Errorf("version %d -> %d, state %s", before.Version, after.Version, after.State)
	}
}

func TestVersionConflict(t *testing.T) {
	b := newBench(t)
	var d Dependency
	b.want(http.StatusOK, &d, "GET", "/api/v1/dependencies/hotel-1", "")
	old := d.Version
	b.trip("hotel-1")

	put := fmt.Sprintf(`{"mode":"held-closed","no_expiry":true,"reason":"x","if_version":%d}`, old)
	post := fmt.Sprintf(`{"if_version":%d}`, old)
	for _, act := range []struct{ method, path, body string }{
		{"PUT", "/override", put},
		{"DELETE", fmt.Sprintf("/override?if_version=%d", old), ""},
		{"POST", "/trial", post},
		{"POST", "/reset", post},
	} {
		f := b.wantProblem(http.StatusConflict, "has changed meanwhile", act.method, "/api/v1/dependencies/hotel-1"+act.path, act.body)
		if f.Current == nil || f.Current.State != "open" || f.Current.Version == old {
			t.Errorf("%s %s: the problem does not show the state as it is: %+v", act.method, act.path, f.Current)
		}
	}
	if s := b.breaker("hotel-1").State(); s != recloser.Open {
		t.Errorf("an act with an old version made it %s", s)
	}

	b.want(http.StatusOK, &d, "GET", "/api/v1/dependencies/hotel-1", "")
	b.want(http.StatusOK, &d, "PUT", overrideOfHotel1, fmt.Sprintf(`{"mode":"isolated","no_expiry":true,"reason":"x","if_version":%d}`, d.Version))
	if d.State != "isolated" {
		t.Errorf("with the version as it is: %s, want isolated", d.State)
	}
}

func TestBadOverrides(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("x", 501)
	for _, tt := range []struct {
		name, body, location string
		status               int
	}{
		{"no mode", `{"no_expiry":true,"reason":"x"}`, "body", 422},
		{"unknown mode", `{"mode":"open","no_expiry":true,"reason":"x"}`, "body.mode", 422},
		{"no reason", `{"mode":"isolated","no_expiry":true}`, "body", 422},
		{"empty reason", `{"mode":"isolated","no_expiry":true,"reason":""}`, "body.reason", 422},
		{"blank reason", `{"mode":"isolated","no_expiry":true,"reason":" \n"}`, "body.reason", 422},
		{"long reason", `{"mode":"isolated","no_expiry":true,"reason":"` + long + `"}`, "body.reason", 422},
		{"no end", `{"mode":"isolated","reason":"x"}`, "body", 422},
		{"no end in so many words", `{"mode":"isolated","no_expiry":false,"reason":"x"}`, "body", 422},
		{"two ends", `{"mode":"isolated","for":"1h","no_expiry":true,"reason":"x"}`, "body", 422},
		{"no duration", `{"mode":"isolated","for":"an hour","reason":"x"}`, "body.for", 422},
		{"negative duration", `{"mode":"isolated","for":"-1h","reason":"x"}`, "body.for", 422},
		{"no time", `{"mode":"isolated","until":"tomorrow","reason":"x"}`, "body.until", 422},
		{"past", `{"mode":"isolated","until":"2001-01-01T00:00:00Z","reason":"x"}`, "body.until", 422},
		{"long past", `{"mode":"isolated","until":"0001-01-01T00:00:00Z","reason":"x"}`, "body.until", 422},
		{"past all years", `{"mode":"isolated","until":"9999-12-31T23:59:59-01:00","reason":"x"}`, "body.until", 422},
		{"two lines", `{"mode":"isolated","no_expiry":true,"reason":"x\ny"}`, "body.reason", 422},
		{"a terminal's escape", `{"mode":"isolated","no_expiry":true,"reason":"\u001b[2Jx"}`, "body.reason", 422},
		{"two lines of names", `{"mode":"isolated","no_expiry":true,"reason":"x","by":"a\nb"}`, "body.by", 422},
		{"unknown field", `{"mode":"isolated","no_expiry":true,"reason":"x","why":"y"}`, "body.why", 422},
		{"no JSON", `{"mode":`, "body", 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f failure
			b.want(tt.status, &f, "PUT", overrideOfHotel1, tt.body)
			var found bool
			for _, e := range f.Errors {
				found = found || e.Location == tt.location && e.Message != ""
			}
			if !found {
				t.Errorf("problem %+v, want an error at %s", f, tt.location)
			}
		})
	}
	b.want(http.StatusBadRequest, new(failure), "PUT", overrideOfHotel1, "", header("Content-Type", "application/json"))
	b.want(http.StatusUnprocessableEntity, new(failure), "DELETE", overrideOfHotel1+"?if_version=x", "")
	b.want(http.StatusUnprocessableEntity, new(failure), "DELETE", overrideOfHotel1+"?reasn=x", "")
	for _, query := range []string{"if_version=", "if_version=&reason=x", "if_version=0&if_version=", "reason=a%0Ab", "by=%1bx"} {
		f := b.wantProblem(http.StatusUnprocessableEntity, "validation failed", "DELETE", overrideOfHotel1+"?"+query, "")
		if len(f.Errors) != 1 || !strings.HasPrefix(f.Errors[0].Location, "query.") {
			t.Errorf("%s: %+v, want an error in the query", query, f)
		}
	}
	if w := b.send("POST", resetOfHotel1, `{"reason":"a\nb"}`); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a reset for a reason of two lines: %d", w.Code)
	}
	if s := b.breaker("hotel-1").Stats(); s.Seq != 0 || s.Override != nil {
		t.Errorf("a bad request changed the dependency: %+v", s)
	}
}

// A reason is text: quotes and markup come back as they went in.
func TestReasonComesBackAsItWent(t *testing.T) {
	b := newBench(t)
	reason := "<script>alert(\"1\")</script>, 500 % sure – ünïcode"
	body, err := json.Marshal(OverrideRequest{Mode: "isolated", Lasting: Lasting{NoExpiry: true}, Reason: reason})
	if err != nil {
		t.Fatal(err)
	}
	var d Dependency
	b.want(http.StatusOK, &d, "PUT", overrideOfHotel1, string(body))
	if d.Override == nil || d.Override.Reason != reason {
		t.Errorf("override %+v, want the reason %q", d.Override, reason)
	}
}

// The end may pass between the look at the request and the act.
func TestEndThatPassesMeanwhile(t *testing.T) {
	b := newBench(t)
	f := b.wantProblem(http.StatusUnprocessableEntity, "validation failed", "PUT", overrideOfHotel1, `{"mode":"isolated","for":"1ns","reason":"x"}`)
	if len(f.Errors) != 1 || f.Errors[0].Message != "the end has passed meanwhile; give a later one" {
		t.Errorf("%+v", f)
	}
}
