package alert

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/incident"
	"github.com/recloser-go/recloser/internal/eventually"
)

// victim is the environment variable that makes this test's program one that has
// incidents until it is killed; it holds the file, and victimHook where to send.
const (
	victim     = "RECLOSER_ALERT_VICTIM"
	victimHook = "RECLOSER_ALERT_HOOK"
	victims    = 12 // dependencies
)

func TestMain(m *testing.M) {
	if path := os.Getenv(victim); path != "" {
		haveIncidents(path, os.Getenv(victimHook))
	}
	os.Exit(m.Run())
}

// haveIncidents cuts off all dependencies, which stay so; until it is killed.
func haveIncidents(path, hook string) {
	h := history.Open(history.Options{Path: path})
	open := func(string) recloser.Stats { return recloser.Stats{State: recloser.Open} }
	a := New(Options{
		Config:       config.Alerts{Calm: time.Minute, Reminder: time.Hour, Channels: []config.Channel{{Kind: config.Webhook, Name: "hook", URL: config.Secret(hook)}}},
		Dependencies: watched, Stats: open, History: h,
	})
	a.Start()
	for _, d := range watched() {
		a.Listen(recloser.Transition{Name: d.ID, From: recloser.Closed, To: recloser.Open, At: time.Now(), Reason: recloser.ReasonRestored})
	}
	select {}
}

func watched() (all []incident.Dependency) {
	for i := range victims {
		id := strconv.Itoa(i)
		all = append(all, incident.Dependency{ID: id, Name: id, Group: "g" + id})
	}
	return all
}

// Killed at any moment, each incident is told at least once; and once its message was
// accepted and a moment has passed, never again.
func TestCrashTellsEachIncident(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	told := map[string]int{} // by key
	fails := 3               // the hook refuses at first
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e struct {
			Data struct {
				Kind  string
				Items []struct{ Key string }
			}
		}
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if fails--; fails >= 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if err := json.Unmarshal(body, &e); err != nil || e.Data.Kind != "started" {
			t.Errorf("%s: %v", body, err)
		}
		for _, i := range e.Data.Items {
			told[i.Key]++
		}
	}))
	defer hook.Close()
	path := filepath.Join(t.TempDir(), "recloser.db")
	run := func(until func() bool, what string) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), victim+"="+path, victimHook+"="+hook.URL)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		eventually.True(t, 60*time.Second, until, what)
	}
	for range 4 {
		end := time.Now().Add(time.Duration(random.IntN(4000)) * time.Millisecond)
		run(func() bool { return time.Now().After(end) }, "a moment")
	}
	all := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told) >= victims
	}
	run(func() bool { return all() && accepted(t, path) }, "all incidents to be told")

	mu.Lock()
	before := maps.Clone(told)
	mu.Unlock()
	if len(before) != victims {
		t.Errorf("%d keys for %d incidents: %v", len(before), victims, before)
	}
	// After a clean delivery: nothing more, however often it is started again.
	for range 1 {
		end := time.Now().Add(4500 * time.Millisecond) // longer than the quiet time
		run(func() bool { return time.Now().After(end) }, "a moment")
	}
	mu.Lock()
	defer mu.Unlock()
	for k, n := range told {
		if n != before[k] {
			t.Errorf("%s was told again after a clean delivery", k)
		}
	}
}

// accepted reports whether the file says so of all messages.
func accepted(t *testing.T, path string) bool {
	t.Helper()
	h := history.Open(history.Options{Path: path, Beside: true})
	defer func() { _ = h.Close(context.WithoutCancel(t.Context())) }()
	all, err := h.Deliveries(t.Context())
	done := err == nil && len(all) > 0
	for _, r := range all {
		var d struct{ Result string }
		done = done && json.Unmarshal(r.Value, &d) == nil && d.Result != "waiting"
	}
	return done
}
