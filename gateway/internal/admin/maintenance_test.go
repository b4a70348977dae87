package admin

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
)

func TestMaintenance(t *testing.T) {
	w := newWhole(t)
	to := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	var m Maintenance
	w.want(http.StatusCreated, &m, "POST", maintenancePath,
		fmt.Sprintf(`{"groups":["coast"],"to":%q,"reason":"new line","by":"ines"}`, to.Format(time.RFC3339)))
	if m.ID == "" || m.Name != "new line" || m.Effect != "cut-off" || !m.Active || m.NextTo == nil || !m.NextTo.Equal(to) || strings.Join(m.Covers, " ") != "hotel-1 hotel-2" || m.By != "ines" {
		t.Errorf("%+v", m)
	}
	var d Dependency
	w.want(http.StatusOK, &d, "GET", dependenciesPath+"/hotel-1", "")
	if d.State != "maintenance" || d.Effect != "cut off as planned" || d.Maintenance == nil || d.Maintenance.ID != m.ID ||
		d.Maintenance.Until == nil || !d.Maintenance.Until.Equal(to) || d.Nodes[0].State != "maintenance" {
		t.Errorf("%+v, maintenance %+v", d, d.Maintenance)
	}
	if s := w.breaker("hotel-2").State(); s != recloser.Isolated {
		t.Errorf("hotel-2 is %s", s)
	}
	var list DependencyList
	if w.want(http.StatusOK, &list, "GET", dependenciesPath+"?state=maintenance", ""); len(list.Dependencies) != 2 {
		t.Errorf("%d in maintenance, want 2", len(list.Dependencies))
	}

	if got := w.send("DELETE", maintenancePath+"/"+m.ID+"?reason=early&by=kim", ""); got.Code != http.StatusNoContent {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if s := w.breaker("hotel-1").State(); s == recloser.Isolated {
		t.Error("hotel-1 is still isolated")
	}
	w.wantProblem(http.StatusNotFound, "no maintenance", "GET", maintenancePath+"/"+m.ID, "")
	acts := w.acts()
	if len(acts) != 2 || acts[1].Name != "plan maintenance" || !acts[1].Until.Equal(to) || acts[0].Name != "end maintenance" || acts[0].By != "kim" || acts[0].Target != m.ID {
		t.Errorf("audit %+v", acts)
	}
}

// What an operator sets by hand is his, and shows as that.
func TestIsolatedByHandInMaintenance(t *testing.T) {
	w := newWhole(t)
	w.want(http.StatusOK, new(Dependency), "PUT", overrideOfHotel1, isolate)
	w.want(http.StatusCreated, new(Maintenance), "POST", maintenancePath, `{"dependencies":["hotel-1"],"to":"2100-01-01T00:00:00Z","reason":"x"}`)
	var d Dependency
	w.want(http.StatusOK, &d, "GET", dependenciesPath+"/hotel-1", "")
	if d.State != "isolated" || d.Effect != "cut off by hand" || d.Maintenance == nil {
		t.Errorf("%+v", d)
	}
}

func TestMaintenanceByCalendar(t *testing.T) {
	w := newWhole(t)
	const body = `{"name":"backup","labels":{"region":"north"},"reason":"weekly","effect":"no-messages",
		"calendar":{"days":["sat","sun"],"from":"03:00","for":"90m","zone":"Europe/Berlin"}}`
	var m Maintenance
	w.want(http.StatusCreated, &m, "POST", maintenancePath, body)
	if m.Calendar == nil || m.Calendar.For != "1h30m0s" || m.Calendar.Zone != "Europe/Berlin" || m.From != nil || m.NextFrom == nil || m.Effect != "no-messages" {
		t.Errorf("%+v", m)
	}
	if from := m.NextFrom.In(time.FixedZone("", 0)).Weekday(); from != time.Saturday && from != time.Sunday {
		t.Errorf("next on a %s", from)
	}
	var changed Maintenance
	w.want(http.StatusOK, &changed, "PUT", maintenancePath+"/"+m.ID, strings.Replace(body, "90m", "2h", 1))
	if changed.ID != m.ID || changed.Calendar.For != "2h0m0s" || !changed.Created.Equal(m.Created) {
		t.Errorf("%+v", changed)
	}
	var list MaintenanceList
	w.want(http.StatusOK, &list, "GET", maintenancePath, "")
	if len(list.Maintenance) != 1 || list.Maintenance[0].Calendar.For != "2h0m0s" {
		t.Errorf("%+v", list)
	}
	w.wantProblem(http.StatusNotFound, "no maintenance", "PUT", maintenancePath+"/none", body)
	w.wantProblem(http.StatusNotFound, "no maintenance", "DELETE", maintenancePath+"/none", "")
}

func TestBadMaintenance(t *testing.T) {
	w := newWhole(t)
	for name, body := range map[string]string{
		"of nothing":         `{"to":"2100-01-01T00:00:00Z","reason":"x"}`,
		"without end":        `{"groups":["coast"],"reason":"x"}`,
		"past":               `{"groups":["coast"],"from":"2001-01-01T00:00:00Z","to":"2000-01-01T00:00:00Z","reason":"x"}`,
		"over":               `{"groups":["coast"],"from":"2001-01-01T00:00:00Z","to":"2001-01-02T00:00:00Z","reason":"x"}`,
		"over, of a rule":    `{"groups":["coast"],"to":"2001-01-02T00:00:00Z","reason":"x","calendar":{"days":["sat"],"from":"03:00","for":"1h"}}`,
		"past all years":     `{"groups":["coast"],"to":"9999-12-31T23:59:59-01:00","reason":"x"}`,
		"before all years":   `{"groups":["coast"],"from":"0000-01-01T00:00:00+01:00","to":"2100-01-01T00:00:00Z","reason":"x"}`,
		"next past them":     `{"groups":["coast"],"from":"9999-12-31T23:00:00Z","reason":"x","calendar":{"days":["sat"],"from":"03:00","for":"1h"}}`,
		"without reason":     `{"groups":["coast"],"to":"2100-01-01T00:00:00Z"}`,
		"two lines":          `{"groups":["coast"],"to":"2100-01-01T00:00:00Z","reason":"a\nb"}`,
		"unknown dependency": `{"dependencies":["hotl-1"],"to":"2100-01-01T00:00:00Z","reason":"x"}`,
		"unknown effect":     `{"groups":["coast"],"to":"2100-01-01T00:00:00Z","reason":"x","effect":"slow"}`,
		"unknown day":        `{"groups":["coast"],"reason":"x","calendar":{"days":["someday"],"from":"03:00","for":"1h"}}`,
		"unknown zone":       `{"groups":["coast"],"reason":"x","calendar":{"days":["sat"],"from":"03:00","for":"1h","zone":"Mars"}}`,
		"no time of day":     `{"groups":["coast"],"reason":"x","calendar":{"days":["sat"],"from":"25:00","for":"1h"}}`,
		"no duration":        `{"groups":["coast"],"reason":"x","calendar":{"days":["sat"],"from":"03:00","for":"long"}}`,
		"an unknown field":   `{"groups":["coast"],"to":"2100-01-01T00:00:00Z","reason":"x","colour":"red"}`,
	} {
		if got := w.send("POST", maintenancePath, body); got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	if n := len(w.acts()); n != 0 {
		t.Errorf("%d acts", n)
	}
	w = newWhole(t, noHistory)
	w.wantProblem(http.StatusNotImplemented, "no maintenance", "GET", maintenancePath, "")
	w.wantProblem(http.StatusNotImplemented, "no maintenance", "POST", maintenancePath, `{"groups":["coast"],"to":"2100-01-01T00:00:00Z","reason":"x"}`)
}

func TestTokens(t *testing.T) {
	w := newWhole(t, signIn)
	root := w.token("root", auth.Admin, "")
	var made Token
	w.want(http.StatusCreated, &made, "POST", tokensPath, `{"name":" cms ","role":"operator","group":"coast","for":"90d","by":"ines","reason":"the CMS button"}`, root)
	if made.Name != "cms" || made.Role != "operator" || made.Group != "coast" || made.By != "ines (root)" ||
		made.Expires == nil || made.Expires.Sub(made.Created).Round(time.Hour) != 90*24*time.Hour || !strings.HasPrefix(made.Secret, "rcl_"+made.ID+"_") {
		t.Errorf("%+v", made)
	}
	cms := header("Authorization", "Bearer "+made.Secret)
	var me Me
	w.want(http.StatusOK, &me, "GET", "/api/v1/me", "", cms)
	if want := (Me{Name: "cms", Role: "operator", Group: "coast", From: "127.0.0.1", Token: made.ID, SignIn: true, Version: "v1.2.3"}); me != want {
		t.Errorf("%+v, want %+v", me, want)
	}
	w.want(http.StatusOK, new(Dependency), "PUT", overrideOfHotel1, isolate, cms)

	var list TokenList
	w.want(http.StatusOK, &list, "GET", tokensPath, "", root)
	for _, l := range list.Tokens {
		if l.Secret != "" || l.ID == made.ID && (l.LastUsed == nil || l.Name != "cms") {
			t.Errorf("%+v", l)
		}
	}
	if len(list.Tokens) != 2 {
		t.Errorf("%d tokens, want 2", len(list.Tokens))
	}
	w.wantProblem(http.StatusConflict, "there already", "POST", tokensPath, `{"name":"cms","role":"viewer","no_expiry":true}`, root)

	if got := w.send("DELETE", tokensPath+"/"+made.ID+"?reason=lost", "", root); got.Code != http.StatusNoContent {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	w.wantProblem(http.StatusUnauthorized, "not known", "GET", "/api/v1/me", "", cms)
	w.wantProblem(http.StatusNotFound, "no token", "DELETE", tokensPath+"/"+made.ID, "", root)
	acts := w.acts()
	if len(acts) != 3 || acts[0].Name != "revoke token" || acts[0].Target != made.ID || acts[2].Name != "create token" || acts[1].By != "cms" {
		t.Errorf("audit %+v", acts)
	}

	// Its secret is nowhere.
	secret := strings.TrimPrefix(made.Secret, "rcl_"+made.ID+"_")
	for name, text := range map[string]string{
		"log": w.log.String(), "audit": w.send("GET", "/api/v1/audit", "", root).Body.String(), "events": w.said(),
		"list": w.send("GET", tokensPath, "", root).Body.String(), "metrics": w.send("GET", "/metrics", "").Body.String(),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("the %s has the secret", name)
		}
	}
}

func TestBadTokens(t *testing.T) {
	w := newWhole(t)
	for name, body := range map[string]string{
		"no name":      `{"role":"viewer","no_expiry":true}`,
		"blank name":   `{"name":" ","role":"viewer","no_expiry":true}`,
		"two lines":    `{"name":"a\nb","role":"viewer","no_expiry":true}`,
		"no role":      `{"name":"x","no_expiry":true}`,
		"unknown role": `{"name":"x","role":"root","no_expiry":true}`,
		"no end":       `{"name":"x","role":"viewer"}`,
		"two ends":     `{"name":"x","role":"viewer","for":"1d","no_expiry":true}`,
		"past":         `{"name":"x","role":"viewer","until":"2001-01-01T00:00:00Z"}`,
		"past years":   `{"name":"x","role":"viewer","until":"9999-12-31T23:59:59-01:00"}`,
		"odd days":     `{"name":"x","role":"viewer","for":"-1d"}`,
		"every group":  `{"name":"x","role":"viewer","group":"*","no_expiry":true}`,
	} {
		if got := w.send("POST", tokensPath, body); got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	var list TokenList
	if w.want(http.StatusOK, &list, "GET", tokensPath, ""); len(list.Tokens) != 0 || len(w.acts()) != 0 {
		t.Errorf("%+v", list)
	}
	w = newWhole(t, noHistory)
	for _, c := range []operationCall{{"GET", tokensPath, ""}, {"POST", tokensPath, `{"name":"x","role":"viewer","for":"1d"}`}, {"DELETE", tokensPath + "/x", ""}} {
		w.wantProblem(http.StatusNotImplemented, "no tokens", c.method, c.path, c.body)
	}
}
