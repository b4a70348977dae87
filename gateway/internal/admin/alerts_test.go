package admin

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/alert"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/incident"
	"github.com/recloser-go/recloser/internal/eventually"
)

const hookSecret = "0123456789s3cr3t"

// withAlerts has one channel that takes messages, and one that does not.
func withAlerts(t *testing.T, got func(string)) func(*Options) {
	t.Helper()
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.WriteHeader(http.StatusGone)
			return
		}
		got(string(body))
	}))
	t.Cleanup(hooks.Close)
	return func(o *Options) {
		alerts := alert.New(alert.Options{
			Config: config.Alerts{Calm: time.Minute, Reminder: time.Hour, Channels: []config.Channel{
				{Kind: config.Teams, Name: "operators", URL: config.Secret(hooks.URL + "/good/" + hookSecret), Fallback: "mail"},
				{Kind: config.Webhook, Name: "mail", URL: config.Secret(hooks.URL + "/bad/" + hookSecret), Key: hookSecret, Groups: []string{"coast"}},
			}},
			Dependencies: func() []incident.Dependency { return nil },
			Stats:        func(string) recloser.Stats { return recloser.Stats{} },
			History:      o.History,
		})
		o.Alerts = func() *alert.Alerts { return alerts }
	}
}

func TestAlertsAreShownAndTried(t *testing.T) {
	got := make(chan string, 9)
	w := newWhole(t, withAlerts(t, func(body string) { got <- body }))
	var channels ChannelList
	w.want(http.StatusOK, &channels, "GET", "/api/v1/alerts/channels", "")
	if len(channels.Channels) != 2 {
		t.Fatalf("%+v", channels)
	}
	if c := channels.Channels[0]; c.Name != "operators" || c.Kind != "teams" || c.URL != "***" || !c.All || c.Fallback != "mail" || c.Last != nil {
		t.Errorf("%+v", c)
	}
	if c := channels.Channels[1]; c.All || len(c.Groups) != 1 || c.Groups[0] != "coast" {
		t.Errorf("%+v", c)
	}

	var tested DeliveryList
	w.want(http.StatusOK, &tested, "POST", "/api/v1/alerts/test", `{"reason":"a try","by":"ines"}`)
	if d := tested.Deliveries; len(d) != 2 || d[0].Result != "accepted" || d[0].Done == nil || d[1].Result != "refused" || !strings.Contains(d[1].Fault, "410 Gone") {
		t.Errorf("%+v", d)
	}
	if body := <-got; !strings.Contains(body, "A test of Recloser's alerts") && !strings.Contains(body, `A test of Recloser\u0027s alerts`) {
		t.Errorf("sent %s", body)
	}
	if acts := w.acts(); len(acts) != 1 || acts[0].Name != "test alerts" || acts[0].Reason != "a try" || !strings.Contains(acts[0].By, "ines") {
		t.Errorf("%+v", acts)
	}
	w.want(http.StatusOK, &tested, "POST", "/api/v1/alerts/test", `{"channel":"operators"}`)
	if len(tested.Deliveries) != 1 {
		t.Errorf("%+v", tested)
	}
	w.wantProblem(http.StatusNotFound, `there is no channel "nobody"`, "POST", "/api/v1/alerts/test", `{"channel":"nobody"}`)

	var page DeliveryList
	w.want(http.StatusOK, &page, "GET", "/api/v1/alerts/deliveries?limit=2", "")
	if len(page.Deliveries) != 2 || page.Next != page.Deliveries[1].ID || page.Deliveries[0].Channel != "operators" {
		t.Errorf("%+v", page)
	}
	var rest DeliveryList
	w.want(http.StatusOK, &rest, "GET", "/api/v1/alerts/deliveries?before="+page.Next, "")
	if len(rest.Deliveries) != 1 || rest.Next != "" {
		t.Errorf("%+v", rest)
	}
	for query, want := range map[string]int{"result=refused": 1, "result=accepted": 2, "result=waiting": 0, "channel=mail": 1, "channel=mail&result=accepted": 0, "dependency=hotel-1": 0} {
		w.want(http.StatusOK, &page, "GET", "/api/v1/alerts/deliveries?"+query, "")
		if len(page.Deliveries) != want || page.Next != "" {
			t.Errorf("%s: %+v", query, page)
		}
	}
	w.want(http.StatusOK, &page, "GET", "/api/v1/alerts/deliveries?result=accepted&limit=1", "")
	if len(page.Deliveries) != 1 || page.Next != page.Deliveries[0].ID {
		t.Errorf("%+v", page)
	}
	w.wantProblem(http.StatusUnprocessableEntity, "", "GET", "/api/v1/alerts/deliveries?result=lost", "")
	w.want(http.StatusOK, &channels, "GET", "/api/v1/alerts/channels", "")
	if channels.Channels[1].Last == nil || channels.Channels[1].Last.Result != "refused" {
		t.Errorf("%+v", channels.Channels[1])
	}
	for _, path := range []string{"channels", "deliveries"} {
		if body := w.send("GET", "/api/v1/alerts/"+path, "").Body.String(); strings.Contains(body, hookSecret) || strings.Contains(body, "127.0.0.1") {
			t.Errorf("the url is told: %s", body)
		}
	}
	if strings.Contains(w.log.String(), hookSecret) {
		t.Errorf("the url is in the log: %s", w.log.String())
	}
}

// A dependency's messages are found, one that is tried again says when, and what is
// wrong is seen by those whom it concerns.
func TestIncidentsAndTheirMessages(t *testing.T) {
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	t.Cleanup(down.Close)
	var alerts *alert.Alerts
	w := newWhole(t, signIn, func(o *Options) {
		alerts = alert.New(alert.Options{
			Config: config.Alerts{Calm: time.Minute, Reminder: time.Hour, Channels: []config.Channel{{Kind: config.Webhook, Name: "cms", URL: config.Secret(down.URL), Key: hookSecret}}},
			Dependencies: func() []incident.Dependency {
				return []incident.Dependency{{ID: "hotel-1", Name: "Aurora Central", Group: "coast"}, {ID: "hotel-3", Name: "hotel-3", Group: "hills"}}
			},
			Stats:   func(string) recloser.Stats { return recloser.Stats{} },
			History: o.History,
		})
		o.Alerts = func() *alert.Alerts { return alerts }
	})
	alerts.Start()
	t.Cleanup(func() {
		now, cancel := context.WithCancel(t.Context())
		cancel()
		alerts.Stop(now)
	})
	for _, id := range []string{"hotel-1", "hotel-3"} {
		alerts.Listen(recloser.Transition{Name: id, From: recloser.Closed, To: recloser.Open, At: time.Now(), Reason: recloser.ReasonRun, Counts: recloser.Counts{Good: 7, Failed: 5, Run: 5}})
	}
	viewer, coast := w.token("v", auth.Viewer, ""), w.token("c", auth.Operator, "coast")
	var list IncidentList
	told := func(i Incident) bool { return i.Told }
	eventually.True(t, 20*time.Second, func() bool {
		w.want(http.StatusOK, &list, "GET", "/api/v1/alerts/incidents", "", viewer)
		return len(list.Incidents) == 2 && slices.ContainsFunc(list.Incidents, told)
	}, "both incidents, and a message")
	if i := list.Incidents[0]; i.Dependency != "hotel-1" || i.Name != "Aurora Central" || i.Group != "coast" || i.State != "open" || i.Trips != 1 || i.Closed != nil || i.Flapping ||
		i.Why != "5 bad calls in a row; of the last 12 calls: 7 good, 5 failed" {
		t.Errorf("%+v", i)
	}
	w.want(http.StatusOK, &list, "GET", "/api/v1/alerts/incidents", "", coast)
	if len(list.Incidents) != 1 || list.Incidents[0].Dependency != "hotel-1" {
		t.Errorf("who sees the coast sees %+v", list)
	}
	var page DeliveryList
	eventually.True(t, 20*time.Second, func() bool {
		w.want(http.StatusOK, &page, "GET", "/api/v1/alerts/deliveries?dependency=hotel-3", "", viewer)
		return len(page.Deliveries) == 1 && page.Deliveries[0].Tries > 0
	}, "a try")
	if d := page.Deliveries[0]; d.Result != "waiting" || d.Next == nil || d.Done != nil || !strings.Contains(d.Fault, "502") {
		t.Errorf("%+v", d)
	}
}

func TestAlertsAreForThoseWhoSeeAll(t *testing.T) {
	w := newWhole(t, signIn, withAlerts(t, func(string) {}))
	viewer, coast := w.token("v", auth.Viewer, ""), w.token("c", auth.Operator, "coast")
	for _, path := range []string{"/api/v1/alerts/channels", "/api/v1/alerts/deliveries"} {
		w.want(http.StatusOK, &struct{}{}, "GET", path, "", viewer)
		w.wantProblem(http.StatusForbidden, "concerns the whole gateway", "GET", path, "", coast)
		w.wantProblem(http.StatusUnauthorized, "token", "GET", path, "")
	}
	w.wantProblem(http.StatusForbidden, "takes the role operator", "POST", "/api/v1/alerts/test", "{}", viewer)
	w.wantProblem(http.StatusForbidden, "concerns the whole gateway", "POST", "/api/v1/alerts/test", "{}", coast)
	w.wantProblem(http.StatusUnauthorized, "token", "POST", "/api/v1/alerts/test", "{}")
}

func TestWithoutAlerts(t *testing.T) {
	w := newWhole(t)
	w.wantProblem(http.StatusNotImplemented, "no alerts", "GET", "/api/v1/alerts/channels", "")
	w.wantProblem(http.StatusNotImplemented, "no alerts", "GET", "/api/v1/alerts/deliveries", "")
	w.wantProblem(http.StatusNotImplemented, "no alerts", "GET", "/api/v1/alerts/incidents", "")
	w.wantProblem(http.StatusNotImplemented, "no alerts", "POST", "/api/v1/alerts/test", "{}")
}
