package admin

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/alert"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/incident"
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
	w.wantProblem(http.StatusNotImplemented, "no alerts", "POST", "/api/v1/alerts/test", "{}")
}
