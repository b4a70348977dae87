package admin

import (
	"net/http"
	"strings"
	"testing"
)

// What is looked at is what is acted on: encoding/json takes the last of several names,
// in whatever case.
func TestNamedTwice(t *testing.T) {
	const override = "/api/v1/dependencies/hotel-1/override"
	long := strings.Repeat("x", 5000)
	for _, body := range []string{
		`{"mode":"isolated","for":"1h","reason":"r","Mode":"bogus"}`,
		`{"mode":"isolated","for":"1h","reason":"r","REASON":"` + long + `"}`,
		`{"mode":"isolated","for":"1h","reason":"r","rea\u017fon":"` + long + `"}`,
		`{"mode":"isolated","mode":"held-closed","for":"1h","reason":"r"}`,
	} {
		b := newBench(t)
		b.wantProblem(http.StatusBadRequest, "validation failed", "PUT", override, body)
		if o := b.breaker("hotel-1").Brief().Override; o != nil {
			t.Errorf("%.80s: %s is in force", body, o.State)
		}
	}
	b := newBench(t)
	b.wantProblem(http.StatusBadRequest, "validation failed", "POST", "/api/v1/overrides/batch",
		`{"selector":{"ids":["hotel-1"],"IDs":["hotel-2"]},"mode":"isolated","for":"1h","reason":"r"}`)
	b.want(http.StatusOK, &struct{}{}, "POST", "/api/v1/overrides/batch",
		`{"selector":{"labels":{"a":"mode"}},"mode":"isolated","for":"1h","reason":"mode","dry_run":true}`)
}
