package admin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// calls are one good request for each operation, by its least role.
func eachOperation() map[auth.Role][]operationCall {
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	return map[auth.Role][]operationCall{
		auth.Viewer: {
			{"GET", "/version", ""},
			{"GET", "/openapi.json", ""},
			{"GET", "/openapi.yaml", ""},
			{"GET", "/metrics", ""},
			{"GET", "/api/v1/me", ""},
			{"GET", "/api/v1/nodes", ""},
			{"GET", "/api/v1/dependencies", ""},
			{"GET", "/api/v1/dependencies/hotel-1", ""},
			{"GET", "/api/v1/dependencies/hotel-1/series", ""},
			{"GET", "/api/v1/events", ""},
			{"GET", "/api/v1/audit", ""},
			{"GET", "/api/v1/maintenance", ""},
		},
		auth.Operator: {
			{"PUT", overrideOfHotel1, isolate},
			{"DELETE", overrideOfHotel1, ""},
			{"POST", resetOfHotel1, "{}"},
			{"POST", "/api/v1/overrides/batch", `{"selector":{"group":"coast"},"mode":"release","reason":"x","dry_run":true}`},
			{"POST", "/api/v1/maintenance", `{"groups":["coast"],"from":"` + soon + `","to":"2100-01-01T00:00:00Z","reason":"x"}`},
		},
		auth.Admin: {
			{"POST", "/api/v1/dependencies", `{"id":"hotel-9","definition":{"url":"https://192.0.2.9","group":"coast"}}`},
			{"PATCH", "/api/v1/dependencies/hotel-9", `{"definition":{"name":"Nine"}}`},
			{"DELETE", "/api/v1/dependencies/hotel-9", ""},
		},
		"admin of all": {
			{"GET", "/api/v1/config", ""},
			{"GET", "/api/v1/tokens", ""},
			{"POST", "/api/v1/tokens", `{"name":"new","role":"viewer","for":"1d"}`},
			{"POST", "/api/v1/reload", "{}"},
		},
	}
}

type operationCall struct{ method, path, body string }

func TestWhoMayWhat(t *testing.T) {
	roles := []auth.Role{auth.Viewer, auth.Operator, auth.Admin, "admin of all"}
	for _, has := range roles {
		for _, group := range []string{"", "coast"} {
			if has == "admin of all" && group != "" {
				continue
			}
			t.Run(fmt.Sprintf("%s of %q", has, group), func(t *testing.T) {
				w := newWhole(t, signIn)
				is := min(slices.Index(roles, has), 2)
				as := w.token("cms", roles[is], group)
				for needs, calls := range eachOperation() {
					for _, c := range calls {
						may := is >= slices.Index(roles, needs) || needs == "admin of all" && is == 2 && group == ""
						got := w.send(c.method, c.path, c.body, as)
						switch {
						case may && got.Code/100 != 2:
							t.Errorf("%s %s: %d %s", c.method, c.path, got.Code, got.Body)
						case !may && got.Code != http.StatusForbidden:
							t.Errorf("%s %s: %d, want 403", c.method, c.path, got.Code)
						}
					}
				}
			})
		}
	}
}

// G22: with sign-in everything but the health checks asks who it is.
func TestSignInIsAskedFor(t *testing.T) {
	w := newWhole(t, signIn)
	for _, calls := range eachOperation() {
		for _, c := range calls {
			if c.path != "/metrics" { // this machine may look at them
				w.wantProblem(http.StatusUnauthorized, "token", c.method, c.path, c.body)
			}
			elsewhere := func(r *http.Request) { r.RemoteAddr = "192.0.2.1:1" }
			w.wantProblem(http.StatusUnauthorized, "token", c.method, c.path, c.body, elsewhere)
			w.wantProblem(http.StatusUnauthorized, "not known", c.method, c.path, c.body, elsewhere, header("Authorization", "Bearer x"))
			if w.handler = New(w.options); t.Failed() { // else it locks out who guesses so often
				return
			}
			signIn(&w.options)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := w.send("GET", path, "", func(r *http.Request) { r.RemoteAddr = "192.0.2.1:1" }); got.Code != http.StatusOK {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	if s := w.breaker("hotel-1").Stats(); s.Seq != 0 || len(w.acts()) != 0 {
		t.Errorf("somebody who did not sign in did something: %+v, %+v", s, w.acts())
	}
	// The page of another site cannot even ask.
	w.wantProblem(http.StatusForbidden, "another site", "POST", resetOfHotel1, "{}", w.token("cms", auth.Operator, ""), header("Sec-Fetch-Site", "cross-site"))
}

// What is not of his group is not there for him, wherever he looks.
func TestGroupLimit(t *testing.T) {
	w := newWhole(t, signIn)
	coast, all := w.token("coast", auth.Admin, "coast"), w.token("all", auth.Admin, "")
	w.trip("hotel-1")
	w.trip("hotel-3")
	w.want(http.StatusOK, new(Dependency), "POST", "/api/v1/dependencies/hotel-3/reset", "{}", all)
	w.want(http.StatusOK, new(Dependency), "POST", "/api/v1/dependencies/hotel-2/reset", "{}", all)
	w.want(http.StatusOK, new(BatchAnswer), "POST", "/api/v1/overrides/batch", `{"selector":{"labels":{"region":"north"}},"mode":"isolated","no_expiry":true,"reason":"both"}`, all)
	w.options.History.Record(history.Event{Kind: history.KindGateway, Text: "the gateway started"})
	for _, body := range []string{
		`{"groups":["hills"],"to":"2100-01-01T00:00:00Z","from":"2099-01-01T00:00:00Z","reason":"in the hills"}`,
		`{"labels":{"region":"north"},"to":"2100-01-01T00:00:00Z","from":"2099-01-01T00:00:00Z","reason":"in the north"}`,
		`{"dependencies":["hotel-1"],"to":"2100-01-01T00:00:00Z","from":"2099-01-01T00:00:00Z","reason":"at the coast"}`,
	} {
		w.want(http.StatusCreated, new(Maintenance), "POST", maintenancePath, body, all)
	}

	// No look shows a word of the others.
	for _, path := range []string{
		"/metrics", "/api/v1/dependencies", "/api/v1/events", "/api/v1/audit", "/api/v1/maintenance", "/api/v1/events?dependency=hotel-3",
		"/api/v1/audit?target=hotel-3", "/api/v1/dependencies?group=hills", "/api/v1/dependencies/hotel-3", "/api/v1/dependencies?label=region%3Dnorth",
	} {
		body := w.send("GET", path, "", coast).Body.String()
		asked := strings.Contains(path, "hotel-3") && strings.Count(body, "hotel-3") == 1 // what he asked for himself
		for _, foreign := range []string{"hotel-3", "bank", "the gateway started", "hills", "in the north"} {
			if strings.Contains(body, foreign) && (foreign != "hotel-3" || !asked) {
				t.Errorf("GET %s shows %q: %s", path, foreign, body)
			}
		}
		if own := w.send("GET", path, "", all).Body.String(); len(own) <= len(body) && !strings.Contains(path, "?") {
			t.Errorf("GET %s shows others no more", path)
		}
	}
	if body := w.send("GET", "/api/v1/audit", "", coast).Body.String(); !strings.Contains(body, "hotel-2") || strings.Contains(body, "batch") {
		t.Errorf("audit %s, want what is of the group, and no act that is of others too", body)
	}

	// No act reaches the others, and what refuses it is what refuses one that is not there.
	for _, c := range []operationCall{
		{"PUT", "/api/v1/dependencies/ID/override", isolate},
		{"DELETE", "/api/v1/dependencies/ID/override", ""},
		{"POST", "/api/v1/dependencies/ID/trial", "{}"},
		{"POST", "/api/v1/dependencies/ID/reset", "{}"},
		{"GET", "/api/v1/dependencies/ID", ""},
		{"GET", "/api/v1/dependencies/ID/series", ""},
		{"GET", "/api/v1/dependencies/ID/definition", ""},
		{"PATCH", "/api/v1/dependencies/ID", `{"definition":{}}`},
		{"DELETE", "/api/v1/dependencies/ID", ""},
		{"POST", "/api/v1/overrides/batch", `{"selector":{"ids":["hotel-1","ID"]},"mode":"isolated","no_expiry":true,"reason":"x"}`},
	} {
		send := func(id string) string {
			got := w.send(c.method, strings.Replace(c.path, "ID", id, 1), strings.Replace(c.body, "ID", id, 1), coast)
			if got.Code != http.StatusNotFound {
				t.Errorf("%s %s of %s: %d %s", c.method, c.path, id, got.Code, got.Body)
			}
			return strings.ReplaceAll(got.Body.String(), id, "ID")
		}
		if foreign, none := send("hotel-3"), send("hotel-7"); foreign != none {
			t.Errorf("%s %s: %s\nof none: %s", c.method, c.path, foreign, none)
		}
	}
	before := w.breaker("hotel-3").Stats()
	var answer BatchAnswer
	w.want(http.StatusOK, &answer, "POST", "/api/v1/overrides/batch", `{"selector":{"group":"*"},"mode":"isolated","no_expiry":true,"reason":"x"}`, coast)
	if len(answer.Dependencies) != 2 {
		t.Errorf("group * of one who sees two: %+v", answer)
	}
	w.wantProblem(http.StatusConflict, "taken", "POST", "/api/v1/dependencies", `{"id":"hotel-3","definition":{"url":"https://192.0.2.9","group":"coast"}}`, coast)
	for _, group := range []string{"hills", ""} {
		w.want(http.StatusUnprocessableEntity, new(failure), "POST", "/api/v1/dependencies", `{"id":"hotel-9","definition":{"url":"https://192.0.2.9","group":"`+group+`"}}`, coast)
	}
	for _, body := range []string{
		`{"groups":["hills"],"to":"2100-01-01T00:00:00Z","reason":"x"}`,
		`{"groups":["*"],"to":"2100-01-01T00:00:00Z","reason":"x"}`,
		`{"labels":{"region":"north"},"to":"2100-01-01T00:00:00Z","reason":"x"}`,
		`{"dependencies":["hotel-3"],"to":"2100-01-01T00:00:00Z","reason":"x"}`,
	} {
		w.want(http.StatusUnprocessableEntity, new(failure), "POST", maintenancePath, body, coast)
	}
	var windows MaintenanceList
	w.want(http.StatusOK, &windows, "GET", maintenancePath, "", all)
	for _, m := range windows.Maintenance {
		if got := w.send("DELETE", maintenancePath+"/"+m.ID, "", coast).Code; (got == http.StatusNoContent) != (m.Reason == "at the coast") {
			t.Errorf("ending %q: %d", m.Reason, got)
		}
	}
	after := w.breaker("hotel-3").Stats()
	if after.Seq != before.Seq || w.breaker("bank").State() != recloser.Closed {
		t.Errorf("hotel-3 %+v, bank %s", after, w.breaker("bank").State())
	}
}

// by names a person beside the token, and cannot name another token.
func TestByOfAToken(t *testing.T) {
	w := newWhole(t, signIn)
	cms := w.token("cms", auth.Operator, "")
	for by, want := range map[string]string{"": "cms", "ines": "ines (cms)", "cms": "cms", " admin ": "admin (cms)"} {
		w.want(http.StatusOK, new(Dependency), "PUT", overrideOfHotel1, `{"mode":"isolated","no_expiry":true,"reason":"x","by":"`+by+`"}`, cms)
		if got := w.acts()[0]; got.By != want || got.Role != "operator" || w.breaker("hotel-1").Stats().Override.By != want {
			t.Errorf("by %q: %+v, want %q", by, got, want)
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	w := newWhole(t)
	for _, path := range []string{"/api/v1/dependencies", "/metrics", "/healthz", "/nowhere", "/openapi.json"} {
		h := w.send("GET", path, "").Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s %q, want %q", path, name, h.Get(name), want)
			}
		}
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: Content-Security-Policy %q", path, csp)
		}
		if h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may be read by other sites", path)
		}
	}
}
