package admin

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
	"github.com/recloser-go/recloser/gateway/internal/series"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
	"github.com/recloser-go/recloser/internal/eventually"
	"github.com/recloser-go/recloser/internal/vtime"
)

const wholeConfig = `
listen: ":8080"
admin: { listen: "127.0.0.1:8081" }
defaults: { timeout: 4s, breaker: { consecutive: 4, min_calls: 10, jitter: off } }
dependencies:
  hotel-1: { url: "https://api.hotel-1.example/v1", name: Aurora Central, group: coast, labels: { region: north } }
  hotel-2: { url: "https://api.hotel-2.example", group: coast, labels: { region: south } }
  hotel-3: { url: "https://api.hotel-3.example", group: hills, labels: { region: north } }
  bank: { url: "https://bank.example" }
routes:
  - path: /{dependency}/*
`

// whole is a listener with everything behind it, history on a real disk.
type whole struct {
	*bench
	path    string
	options Options
	quit    chan struct{}
	reload  atomic.Pointer[error] // what the next reloads return
}

func newWhole(t *testing.T, change ...func(*Options)) *whole {
	t.Helper()
	return openWhole(t, filepath.Join(t.TempDir(), "recloser.db"), change...)
}

// trip is the bench's, and waits until it is in the history: each breaker tells its
// listeners for itself, so of two that trip at once either may come first.
func (w *whole) trip(id string) {
	w.t.Helper()
	began := time.Now().Truncate(time.Millisecond)
	w.bench.trip(id)
	eventually.True(w.t, 10*time.Second, func() bool {
		events, err := w.options.History.Events(w.t.Context(), history.EventQuery{Dependency: id, Kind: history.KindTransition, Since: began})
		return err == nil && slices.ContainsFunc(events, func(e history.Event) bool { return e.To == recloser.Open.String() })
	}, "the trip of "+id+" in the history")
}

// openWhole opens one on a file, as a start after another one's end does.
func openWhole(t *testing.T, path string, change ...func(*Options)) *whole {
	t.Helper()
	c, err := config.Parse("recloser.yaml", []byte(wholeConfig))
	if err != nil {
		t.Fatal(err)
	}
	list, err := dependency.Maker{}.NewList(c.Dependencies)
	if err != nil {
		t.Fatal(err)
	}
	w := &whole{bench: &bench{t: t, list: list, ready: true}, path: path, quit: make(chan struct{})}
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	h := history.Open(history.Options{Path: path, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = h.Close(context.WithoutCancel(t.Context())) })
	for _, d := range list.All() {
		d.Breaker.Subscribe(func(t recloser.Transition) {
			h.Record(history.Event{At: t.At, Kind: history.KindTransition, Dependency: t.Name, From: t.From.String(), To: t.To.String(), Text: t.String()})
		})
	}
	tokens := auth.NewTokens(h, nil)
	w.options = Options{
		Dependencies: list,
		History:      h,
		Maintenance: maintenance.New(maintenance.Options{
			Breakers: list, Windows: h.Maintenance,
			Save: func(ctx context.Context, w maintenance.Window) error {
				return h.Commit(ctx, history.Act{}, history.PutMaintenance(w))
			},
		}),
		Uplink: &suspect.Uplink{},
		Series: series.New(series.Options{Dependencies: list.All, Store: h}),
		Limit:  bulkhead.New(8192, vtime.Real{}),
		Auth:   auth.New(auth.Options{Authenticators: []auth.Authenticator{tokens}, Log: log}),
		Tokens: tokens,
		Config: func() *config.Config { return c },
		Reload: func(context.Context) (config.Changes, error) {
			if err := w.reload.Load(); err != nil {
				return config.Changes{}, *err
			}
			return config.Changes{Added: []string{"hotel-7"}, Restart: []string{"admin.tls"}}, nil
		},
		Reloads: func() Reloads { return Reloads{Good: 3, Failed: 1} },
		Node:    "gateway-1", Version: "v1.2.3", Ready: func() bool { return w.ready }, Log: log,
		Hosts: []string{"gateway.example"}, Quit: w.quit,
	}
	for _, c := range change {
		c(&w.options)
	}
	w.handler = New(w.options)
	return w
}

// signIn has everybody need a token.
func signIn(o *Options) {
	o.Auth = auth.New(auth.Options{SignIn: true, Authenticators: []auth.Authenticator{o.Tokens}, Log: o.Log})
}

// noHistory is a gateway that keeps nothing.
func noHistory(o *Options) { o.History, o.Tokens, o.Maintenance, o.Series = nil, nil, nil, nil }

// token makes a token and returns what sends it.
func (w *whole) token(name string, role auth.Role, group string) func(*http.Request) {
	w.t.Helper()
	secret, t := auth.Create(name, role, group, time.Time{})
	if err := w.options.History.Commit(w.t.Context(), history.Act{}, history.PutToken(t)); err != nil {
		w.t.Fatal(err)
	}
	return header("Authorization", "Bearer "+secret)
}

// acts returns the audit, newest first.
func (w *whole) acts() []history.Act {
	w.t.Helper()
	acts, err := w.options.History.Acts(w.t.Context(), history.ActQuery{})
	if err != nil {
		w.t.Fatal(err)
	}
	return acts
}

// said returns the texts of all events, in a line each.
func (w *whole) said() string {
	w.t.Helper()
	events, err := w.options.History.Events(w.t.Context(), history.EventQuery{})
	if err != nil {
		w.t.Fatal(err)
	}
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	return strings.Join(texts, "\n")
}

type dependencyOf = dependency.Dependency

// api returns what the handler is made of, for what no request can bring about.
func (w *whole) api() *api {
	a := newAPI(w.options)
	a.register(http.NewServeMux())
	return a
}
