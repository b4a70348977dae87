package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/message"
	"github.com/recloser-go/recloser/internal/eventually"
)

const patience = 30 * time.Second

// The alerts are what a real Alertmanager makes of them: one for each dependency,
// which begins with the incident and ends with it.
func TestRealAlertmanager(t *testing.T) {
	at := startAlertmanager(t)
	c := New(config.Channel{Kind: config.Alertmanager, Name: "ops", URL: config.Secret(at)}, nil)
	now := time.Now()
	m := goldenMessages()["together"]
	for i := range m.Items {
		m.Items[i].Since = now.Add(-time.Minute)
	}
	must(t, c.Send(t.Context(), m))
	want := []string{"hotel-1", "hotel-2", "hotel-3", "hotel-4", "hotel-5", "hotel-6", "hotel-7"}
	eventually.True(t, patience, func() bool { return slices.Equal(firing(t, at), want) }, "seven alerts")

	// A reminder and a refresh are about the same alerts.
	m.Kind = message.Reminder
	must(t, c.Send(t.Context(), m))
	must(t, c.(Refresher).Refresh(t.Context(), m))
	if got := firing(t, at); !slices.Equal(got, want) {
		t.Errorf("firing %v, want %v", got, want)
	}

	// G19: the end closes the same.
	over := m
	over.Kind, over.Items = message.Ended, slices.Clone(m.Items[2:3])
	over.Items[0].Over = now
	must(t, c.Send(t.Context(), over))
	eventually.True(t, patience, func() bool { return len(firing(t, at)) == 6 }, "one alert to be resolved")

	// By hand: an alert of its own, beside the incident's.
	act := goldenMessages()["isolated"]
	act.Items[0].Since = now
	must(t, c.Send(t.Context(), act))
	eventually.True(t, patience, func() bool { return slices.Contains(firing(t, at), "hotel-3") }, "the isolation to be shown")
	act.Kind = message.Released
	act.Items[0].Over = now.Add(time.Millisecond)
	must(t, c.Send(t.Context(), act))
	eventually.True(t, patience, func() bool { return !slices.Contains(firing(t, at), "hotel-3") }, "its end to be shown")

	// It refuses none of what there is, whatever others write.
	for _, m := range append(uglyMessages(), goldenMessages()["test"]) {
		if err := c.Send(t.Context(), m); err != nil {
			t.Errorf("%s: %v", m.Kind, err)
		}
	}
}

// startAlertmanager starts Debian's on ports of its own, and returns its address.
func startAlertmanager(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "alertmanager.yml")
	must(t, os.WriteFile(file, []byte("route: { receiver: nobody }\nreceivers: [ { name: nobody } ]\n"), 0o600))
	port := freePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "prometheus-alertmanager", "--config.file="+file, "--storage.path="+dir,
		"--web.listen-address="+port, "--cluster.listen-address=")
	log, err := os.Create(filepath.Join(dir, "log"))
	must(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: scripts/need prometheus-alertmanager installs it", err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // killed
		_ = log.Close()
	})
	at := "http://" + port
	eventually.True(t, patience, func() bool {
		resp, err := http.Get(at + "/-/ready")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, "Alertmanager to start")
	return at
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// firing returns the dependencies that it shows alerts of, each once.
func firing(t *testing.T, at string) []string {
	t.Helper()
	resp, err := http.Get(at + "/api/v2/alerts?active=true")
	must(t, err)
	defer resp.Body.Close()
	var all []struct {
		Labels map[string]string
		Status struct{ State string }
	}
	must(t, json.NewDecoder(resp.Body).Decode(&all))
	var ids []string
	for _, a := range all {
		if a.Labels["alertname"] != nameCutOff && a.Labels["alertname"] != nameByHand || a.Labels["severity"] == "" {
			t.Errorf("labels %v", a.Labels)
		}
		ids = append(ids, a.Labels["dependency"])
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What ended before it began, by a clock that was set, is no alert that it refuses.
func TestAlertsEndAfterTheyBegin(t *testing.T) {
	m := trip()
	m.Kind = message.Ended
	m.Items[0].Over = m.Items[0].Since.Add(-time.Hour)
	a := alertsOf(m, start)[0]
	if !a.EndsAt.After(a.StartsAt) {
		t.Error(fmt.Sprint(a.StartsAt, a.EndsAt))
	}
}

// What is no news to it is not posted: an empty list would be refused.
func TestAlertmanagerIsNotToldNothing(t *testing.T) {
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		t.Errorf("posted to %s", r.URL)
		return &http.Response{StatusCode: http.StatusBadRequest, Body: http.NoBody}, nil
	})}
	c := New(config.Channel{Kind: config.Alertmanager, Name: "ops", URL: "http://127.0.0.1"}, client)
	if err := c.Send(t.Context(), goldenMessages()["calm"]); err != nil {
		t.Error(err)
	}
}
