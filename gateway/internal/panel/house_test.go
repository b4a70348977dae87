package panel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/alert"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/browsertest"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/incident"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
	"github.com/recloser-go/recloser/gateway/internal/series"
	"github.com/recloser-go/recloser/internal/eventually"
)

const longest = browsertest.Longest

var errDown = errors.New("dial tcp 10.3.0.8:443: connect: connection refused")

// house is a gateway's listener for people, with a panel, over a real connection.
type house struct {
	t       testing.TB
	list    *dependency.List
	history *history.History
	plans   *maintenance.Runner
	series  *series.Series
	alerts  *alert.Alerts
	tokens  *auth.Tokens
	server  *httptest.Server
	config  *config.Config
	fleet   *fleet.Status // nil: it is alone
	agreed  map[string]*fleet.BreakerStatus
	reloads admin.Reloads
	stop    func()                        // the gateway goes away
	mute    atomic.Bool                   // streams hang
	breaks  atomic.Int64                  // so many pages break off
	slow    atomic.Pointer[chan struct{}] // pages come when it is closed
	log     lockedBuffer
}

// lockedBuffer takes the log of many requests.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// hotels are n dependencies of four groups.
func hotels(t testing.TB, n int) []config.Dependency {
	t.Helper()
	groups := []string{"Coast", "Alpine", "Metro", "Lakes"}
	names := []string{"Aurora Central", "Harbour Suites", "Opal Park", "Fontana Airport", "Meridian Resort", "Delphi Central", "Kestrel Suites", "Belmont Park", "Isola Airport", "Palazzo Resort"}
	var all []config.Dependency
	for i := range n {
		u, err := url.Parse(fmt.Sprintf("https://api.hotel-%d.example/v1", i+1))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, config.Dependency{
			ID: fmt.Sprintf("hotel-%d", i+1), Name: names[i%len(names)], Group: groups[i*len(groups)/n], URL: u,
			Settings: recloser.Config{MinCalls: 10, Consecutive: 5, SlowCall: 2 * time.Second, OpenFor: 5 * time.Minute, MaxOpenFor: 10 * time.Minute, Jitter: recloser.Off},
		})
	}
	return all
}

// settingsOf is a configuration with those dependencies, for what shows where
// settings come from.
func settingsOf(dependencies []config.Dependency) string {
	text := "dependencies:\n"
	for i := range dependencies {
		text += fmt.Sprintf("  hotel-%d: { url: 'https://api.hotel-%[1]d.example/v1', timeout: 4s }\n", i+1)
	}
	return text + "routes:\n  - path: /{dependency}/*\n"
}

// newHouse opens one. signIn has everybody need a token.
func newHouse(t testing.TB, signIn bool, dependencies ...config.Dependency) *house {
	t.Helper()
	return openHouse(t, "", signIn, dependencies...)
}

// openHouse opens one with its history in a file; "" is none.
func openHouse(t testing.TB, file string, signIn bool, dependencies ...config.Dependency) *house {
	t.Helper()
	list, err := dependency.Maker{}.NewList(dependencies)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, list: list, history: history.Open(history.Options{Path: file, Log: slog.New(slog.DiscardHandler)})}
	h.config, err = config.Parse("recloser.yaml", []byte(settingsOf(dependencies)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.history.Close(context.WithoutCancel(t.Context())) })
	for _, d := range list.All() {
		d.Breaker.Subscribe(func(tr recloser.Transition) {
			cause := ""
			if tr.Cause != nil {
				cause = tr.Cause.Error()
			}
			h.history.Record(history.Event{
				At: tr.At, Kind: history.KindTransition, Dependency: tr.Name, From: tr.From.String(), To: tr.To.String(),
				Reason: string(tr.Reason), By: tr.By, Note: tr.Note, Cause: cause, Run: tr.Counts.Run, Shadow: tr.Shadow, Text: tr.String(),
			})
			h.alerts.Listen(tr)
		})
	}
	h.history.Record(history.Event{At: time.Now().Add(-2 * time.Hour), Kind: history.KindGateway, Text: "started, version v0.1.0"})
	h.history.Record(history.Event{At: time.Now().Add(-2 * time.Hour), Kind: history.KindGateway, Text: "reloaded"})
	h.plans = maintenance.New(maintenance.Options{
		Breakers: list, Windows: h.history.Maintenance,
		Save: func(ctx context.Context, w maintenance.Window) error {
			return h.history.Commit(ctx, history.Act{}, history.PutMaintenance(w))
		},
	})
	h.alerts = h.newAlerts()
	h.series = series.New(series.Options{Dependencies: list.All, Store: h.history})
	h.tokens = auth.NewTokens(h.history, nil)
	log := slog.New(slog.NewTextHandler(&h.log, nil))
	callers := auth.New(auth.Options{
		SignIn: signIn, Authenticators: []auth.Authenticator{h.tokens}, Sessions: auth.NewSessions(h.tokens, false), Log: log,
		Stranger: http.HandlerFunc(Stranger),
	})
	pages, err := New(Options{Auth: callers, Log: log, Embedders: []string{"http://cms.localhost:*"}})
	if err != nil {
		t.Fatal(err)
	}
	quit := make(chan struct{})
	var alerts func() *alert.Alerts
	if h.alerts != nil {
		alerts = func() *alert.Alerts { return h.alerts }
	}
	people := admin.New(admin.Options{
		Dependencies: list, History: h.history, Maintenance: h.plans, Series: h.series, Alerts: alerts, Auth: callers, Tokens: h.tokens,
		Config: func() *config.Config { return h.config }, Node: "gateway-1", Version: "v0.1.0", Log: log,
		Reloads: func() admin.Reloads { return h.reloads },
		Pages:   pages.Register, Quit: quit, Fleet: func() (*fleet.Status, map[string]*fleet.BreakerStatus) { return h.fleet, h.agreed },
	})
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.mute.Load() && r.URL.Path == "/api/v1/stream" {
			<-r.Context().Done()
			return
		}
		if r.URL.Path == "/" && h.breaks.Add(-1) >= 0 {
			_, _ = w.Write([]byte("<!doctype html>"))
			_ = http.NewResponseController(w).Flush() // else a browser tries again by itself
			panic(http.ErrAbortHandler)
		}
		if slow := h.slow.Load(); slow != nil && r.URL.Path == "/" {
			select {
			case <-*slow:
			case <-r.Context().Done():
			}
		}
		people.ServeHTTP(w, r)
	}))
	h.stop = sync.OnceFunc(func() {
		close(quit)
		h.server.CloseClientConnections()
		h.server.Close()
	})
	t.Cleanup(h.stop)
	return h
}

// newAlerts starts alerts with a channel that takes messages, one that does not just
// now, and one whose address is wrong.
func (h *house) newAlerts() *alert.Alerts {
	others := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			w.WriteHeader(http.StatusAccepted)
		case "/busy":
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusGone)
		}
	}))
	h.t.Cleanup(others.Close)
	channel := func(kind config.ChannelKind, name, path, fallback string, groups ...string) config.Channel {
		return config.Channel{Kind: kind, Name: name, URL: config.Secret(others.URL + path), Key: "0123456789abcdef", Fallback: fallback, Groups: groups}
	}
	a := alert.New(alert.Options{
		Config: config.Alerts{Calm: time.Minute, Reminder: time.Hour, Channels: []config.Channel{
			channel(config.Teams, "operators", "/good", ""),
			channel(config.Webhook, "cms", "/busy", "", "Coast", "Metro"),
			channel(config.Slack, "on-call", "/gone", "spare", "Coast"),
			channel(config.Slack, "spare", "/good", ""),
		}},
		Dependencies: func() (all []incident.Dependency) {
			for _, d := range h.list.All() {
				all = append(all, incident.Dependency{ID: d.ID, Name: d.Name, Group: d.Group})
			}
			return all
		},
		Stats:   func(id string) recloser.Stats { return h.breaker(id).Stats() },
		Covers:  h.plans.Covers,
		History: h.history,
	})
	a.Start()
	h.t.Cleanup(func() {
		now, cancel := context.WithCancel(h.t.Context())
		cancel()
		a.Stop(now)
	})
	return a
}

// told waits until people were told what is wrong, as far as the channels let it.
func (h *house) told() {
	h.t.Helper()
	eventually.True(h.t, longest, func() bool {
		ends := make(map[string]bool)
		for _, d := range h.alerts.Deliveries("", "", 99) {
			ends[d.Channel+" "+string(d.Result)] = d.Tries > 0
		}
		return ends["operators accepted"] && ends["cms waiting"] && ends["on-call handed over"] && ends["spare accepted"]
	}, "messages about what is wrong")
}

func (h *house) breaker(id string) *recloser.Breaker {
	h.t.Helper()
	d, ok := h.list.Get(id)
	if !ok {
		h.t.Fatalf("no dependency %s", id)
	}
	return d.Breaker
}

// calls makes n calls that end with end.
func (h *house) calls(id string, n int, end error) {
	h.t.Helper()
	for range n {
		if err := h.breaker(id).Do(h.t.Context(), func(context.Context) error { return end }); !errors.Is(err, end) {
			h.t.Fatalf("call of %s: %v, want %v", id, err, end)
		}
	}
}

// refused makes n calls of a dependency that is cut off.
func (h *house) refused(id string, n int) {
	h.t.Helper()
	for range n {
		if err := h.breaker(id).Do(h.t.Context(), func(context.Context) error { return nil }); !errors.Is(err, recloser.ErrOpen) {
			h.t.Fatalf("call of %s: %v, want it refused", id, err)
		}
	}
}

// trip opens a breaker by the rule for rows.
func (h *house) trip(id string) {
	h.t.Helper()
	h.calls(id, 5, errDown)
	if s := h.breaker(id).State(); s != recloser.Open {
		h.t.Fatalf("%s is %s after five failures, want open", id, s)
	}
}

// busy gives every dependency calls, second by second, as far as it lets them pass.
func (h *house) busy() {
	h.t.Helper()
	now := time.Now()
	for back := 300; back >= 30; back-- {
		for i, d := range h.list.All() {
			for range 1 + (i*7+back*3)%5 {
				_ = d.Breaker.Do(h.t.Context(), func(context.Context) error { return nil })
			}
		}
		h.series.Sample(h.t.Context(), now.Add(-time.Duration(back)*time.Second))
	}
}

// many is a house in which much is wrong, in every state there is.
func many(t *testing.T, signIn bool) *house {
	t.Helper()
	h := newHouse(t, signIn, hotels(t, 40)...)
	h.record("hotel-22", -46*time.Minute, closed, open, "5 bad calls in a row")
	h.record("hotel-22", -41*time.Minute, open, halfOpen, "")
	h.record("hotel-22", -40*time.Minute, halfOpen, closed, "")
	h.busy()
	for _, id := range []string{"hotel-3", "hotel-6", "hotel-8"} {
		h.trip(id)
		h.refused(id, 240)
	}
	h.breaker("hotel-8").TryNow("ines", "they say it is mended")
	h.calls("hotel-8", 1, errDown)
	h.refused("hotel-8", 3)
	h.trip("hotel-14")
	h.refused("hotel-14", 18)
	h.breaker("hotel-14").TryNow("ines", "they say it is mended")
	h.calls("hotel-18", 4, errDown)
	if err := h.breaker("hotel-34").Isolate("duty.manager", "PMS upgrade on site, vendor asked us to stay away until it is over", time.Now().Add(41*time.Minute)); err != nil {
		t.Fatal(err)
	}
	h.refused("hotel-34", 1894)
	if err := h.breaker("hotel-36").HoldClosed("duty.manager", "we know", time.Time{}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	err := h.history.Commit(t.Context(), history.Act{At: now, Name: "override isolated", Target: "hotel-34", By: "duty.manager", Role: "operator", From: "10.0.0.7", Reason: "PMS upgrade on site", Until: now.Add(41 * time.Minute), Result: "done"},
		history.PutMaintenance(maintenance.Window{ID: "k3v7q2ab", Name: "monthly patching", Groups: []string{"Lakes"}, From: now.Add(-time.Minute), To: now.Add(time.Hour), Effect: maintenance.NoMessages, Reason: "monthly patching", By: "ines", Created: now}),
		history.PutMaintenance(maintenance.Window{ID: "k3v7q2ad", Name: "new rooms", Dependencies: []string{"hotel-39"}, From: now.Add(-time.Minute), To: now.Add(30 * time.Minute), Effect: maintenance.CutOff, Reason: "they add rooms to their system", By: "ines", Created: now}),
		history.PutMaintenance(maintenance.Window{
			ID: "k3v7q2ac", Name: "backup", Dependencies: []string{"hotel-1", "hotel-2"}, Effect: maintenance.CutOff, Reason: "backup of their database", By: "ines", Created: now,
			Calendar: &maintenance.Calendar{Days: []string{"sat", "sun"}, From: "03:00", For: 90 * time.Minute, Zone: "Europe/Berlin"},
		}))
	if err != nil {
		t.Fatal(err)
	}
	h.plans.Look(t.Context())
	for back := 30; back >= 0; back-- {
		for _, id := range []string{"hotel-1", "hotel-2", "hotel-4", "hotel-5", "hotel-7", "hotel-9", "hotel-10"} {
			h.calls(id, 1+back%3, nil)
		}
		for _, id := range []string{"hotel-3", "hotel-6", "hotel-8", "hotel-34"} {
			h.refused(id, 2+back%2)
		}
		h.series.Sample(t.Context(), time.Now().Add(-time.Duration(back)*time.Second))
	}
	return h
}

// record notes a change of state in the past.
func (h *house) record(id string, ago time.Duration, from, to, why string) {
	h.history.Record(history.Event{
		At: time.Now().Add(ago), Kind: history.KindTransition, Dependency: id, From: from, To: to, Reason: "run",
		Text: fmt.Sprintf("%s: %s -> %s (run): %s", id, from, to, why),
	})
}

// get returns a page's text.
func (h *house) get(path string, status int, change ...func(*http.Request)) string {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.server.URL+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, c := range change {
		c(r)
	}
	resp, err := h.server.Client().Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		h.t.Fatal(err)
	}
	if resp.StatusCode != status {
		h.t.Fatalf("%s: status %d, want %d: %s; log: %s", path, resp.StatusCode, status, body.String(), h.log.text.String())
	}
	return body.String()
}

// token makes a token and returns what it is.
func (h *house) token(name string, role auth.Role, group string) string {
	h.t.Helper()
	secret, t := auth.Create(name, role, group, time.Time{})
	if err := h.history.Commit(h.t.Context(), history.Act{}, history.PutToken(t)); err != nil {
		h.t.Fatal(err)
	}
	return secret
}
