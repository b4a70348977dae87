package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// way is a node's way to the store that all share. It may be cut.
type way struct {
	fleet.Store
	cut atomic.Bool
}

var errCut = errors.New("the network is cut")

func (w *way) Close() error { return nil } // it is the others' as well

func (w *way) Load(ctx context.Context) ([]fleet.Doc, uint64, error) {
	if w.cut.Load() {
		return nil, 0, errCut
	}
	return w.Store.Load(ctx)
}

func (w *way) Watch(ctx context.Context, after uint64, f func(fleet.Doc)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			<-ticker.C
			if w.cut.Load() {
				cancel(errCut)
			}
		}
	}()
	err := w.Store.Watch(ctx, after, f)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (w *way) Put(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
	if w.cut.Load() {
		return fleet.Doc{}, errCut
	}
	return w.Store.Put(ctx, expect, next)
}

func (w *way) Say(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
	if w.cut.Load() {
		return errCut
	}
	return w.Store.Say(ctx, rows, ttl)
}

func (w *way) Said(ctx context.Context, key string) ([]fleet.Row, error) {
	if w.cut.Load() {
		return nil, errCut
	}
	return w.Store.Said(ctx, key)
}

func (w *way) Acquire(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
	if w.cut.Load() {
		return fleet.Lease{}, fleet.Tally{}, errCut
	}
	return w.Store.Acquire(ctx, key, rev, node, ttl)
}

func (w *way) Elect(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
	if w.cut.Load() {
		return "", errCut
	}
	return w.Store.Elect(ctx, role, node, ttl)
}

// site is three gateways that share a store, in front of four hotels, which are one server.
type site struct {
	nodes []*Gateway
	ways  []*way
	logs  []*gatewaytest.Log
	down  atomic.Bool
	lies  atomic.Bool  // its health check is well, whatever calls are
	calls atomic.Int64 // that reached the hotel
	pings atomic.Int64
	cards chan string // as they were sent
}

func newSite(t *testing.T) *site {
	t.Helper()
	store := fleet.NewMemory()
	return newSiteOn(t, "", func() *way { return &way{Store: store} })
}

// newSiteOn has the nodes share what the config says, or else what of returns.
func newSiteOn(t *testing.T, yaml string, of func() *way) *site {
	t.Helper()
	s := &site{cards: make(chan string, 100)}
	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ping" {
			s.pings.Add(1)
		} else {
			s.calls.Add(1)
		}
		if s.down.Load() && (r.URL.Path != "/ping" || !s.lies.Load()) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(hotel.Close)
	teams := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.cards <- string(body)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(teams.Close)
	t.Cleanup(func() {
		if t.Failed() {
			for i, log := range s.logs {
				t.Logf("node %d:\n%s\n%+v", i, log, s.nodes[i].member.node.Status())
			}
		}
	})
	for i := range 3 {
		log := &gatewaytest.Log{}
		c := parse(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
fleet: { node: node-%[1]d, reporters: 2 }
dependencies:
  hotel-1: { url: %[2]q, name: Aurora, probe: { path: /ping, idle: 1s }, breaker: { open_for: 1s, jitter: off, spread: off } }
  hotel-2: { url: %[2]q, breaker: { open_for: 1s, jitter: off, spread: off } }
  hotel-3: { url: %[2]q, breaker: { open_for: 1s, jitter: off, spread: off } }
  hotel-4: { url: %[2]q, breaker: { open_for: 1s, jitter: off, spread: off } }
routes: [ { path: "/hotels/{dependency}/*" } ]
alerts: { calm: 1s, teams: [ { url: %[3]q } ] }
%[4]s
`, i, hotel.URL, teams.URL, yaml))
		o := Options{Config: c, Log: slog.New(slog.NewTextHandler(log, nil))}
		if of != nil {
			w := of()
			o.Store = w
			s.ways = append(s.ways, w)
		}
		g, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stop(t, g) })
		s.nodes, s.logs = append(s.nodes, g), append(s.logs, log)
	}
	for _, g := range s.nodes {
		eventually.True(t, patience, func() bool {
			st := g.member.node.Status()
			return st.Mode == fleet.Shared && len(st.Nodes) == 3
		}, "the nodes to meet")
	}
	return s
}

// call makes a call through a node, and returns its status.
func (s *site) call(t *testing.T, node int) int {
	t.Helper()
	return s.callOf(t, node, 1)
}

func (s *site) callOf(t *testing.T, node, hotel int) int {
	t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://%s/hotels/hotel-%d/guests/17", s.nodes[node].Addr(), hotel))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// act asks the API for a change.
func act(t *testing.T, g *Gateway, method, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+g.AdminAddr()+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
}

func (s *site) state(node int) recloser.State {
	d, ok := s.nodes[node].Dependencies().Get("hotel-1")
	if !ok {
		return recloser.Closed
	}
	return d.Breaker.State()
}

func (s *site) all(t *testing.T, want recloser.State) {
	t.Helper()
	for i := range s.nodes {
		eventually.True(t, patience, func() bool { return s.state(i) == want }, fmt.Sprintf("node %d to be %s", i, want))
	}
}

// closes has guests come to all nodes until all pass: one that holds the lease of a trial
// waits for a guest of its own.
func (s *site) closes(t *testing.T) {
	t.Helper()
	eventually.True(t, patience, func() bool {
		for i := range s.nodes {
			s.call(t, i)
		}
		return s.state(0) == recloser.Closed && s.state(1) == recloser.Closed && s.state(2) == recloser.Closed
	}, "all to be closed")
}

func (s *site) card(t *testing.T, want ...string) {
	t.Helper()
	select {
	case got := <-s.cards:
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("people were told %s, want %q", got, w)
			}
		}
	case <-time.After(patience):
		t.Errorf("nobody was told %q", want)
	}
}

func (s *site) noCard(t *testing.T) {
	t.Helper()
	select {
	case more := <-s.cards:
		t.Errorf("people were told %s as well", more)
	default:
	}
}
