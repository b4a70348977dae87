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
		if s.down.Load() && !(s.lies.Load() && r.URL.Path == "/ping") {
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
		o := Options{Config: c, Log: slog.New(slog.NewTextHandler(log, nil)), Version: "test"}
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

// What two nodes have seen protects the third, which has not made a call; people are
// told once; one trial at a time brings all of them back.
func TestFleetTripsTogether(t *testing.T) {
	newSite(t).tripsTogether(t)
}

func (s *site) tripsTogether(t *testing.T) {
	t.Helper()
	for i := range 3 {
		if code := s.call(t, i); code != http.StatusOK {
			t.Fatalf("node %d: %d", i, code)
		}
	}
	s.down.Store(true)
	for range 3 { // no node has seen 5, and all together have
		s.call(t, 0)
		s.call(t, 1)
	}
	s.all(t, recloser.Open)
	if code := s.call(t, 2); code != http.StatusServiceUnavailable {
		t.Errorf("the third node answers %d", code)
	}
	s.card(t, "Aurora is cut off", "Seen by", "2 of 3 nodes")
	s.down.Store(false)
	s.closes(t)
	s.card(t, "Aurora is back", "2 of 3 nodes")
	s.noCard(t)
}

// Where calls of all nodes fail to all hotels nobody decides for the others; people are
// told once that it is what the nodes have in common, and once that it is over.
func TestFleetInDoubt(t *testing.T) {
	s := newSite(t)
	each := func(node, times int) {
		for hotel := 2; hotel <= 4; hotel++ {
			for range times {
				s.callOf(t, node, hotel)
			}
		}
	}
	doubt := func(node, want int) {
		t.Helper()
		eventually.True(t, patience, func() bool {
			doubtful := 0
			for _, n := range s.nodes[node].member.node.Status().Nodes {
				if n.Doubtful {
					doubtful++
				}
			}
			return doubtful == want
		}, fmt.Sprintf("node %d to know that %d are in doubt", node, want))
	}
	for i := range s.nodes {
		each(i, 1)
	}
	s.lies.Store(true) // a prober's verdict would be for all, and come first
	s.down.Store(true)
	for i := range s.nodes {
		each(i, 2)
		doubt(min(i+1, 2), i+1) // what it says counts for nothing to the next one
	}
	for i := range s.nodes {
		doubt(i, 3)
		each(i, 4)
	}
	s.card(t, "3 of 4 cut off", "Calls of all 3 nodes fail to half of what they call")
	for _, b := range s.nodes[0].member.node.Status().Breakers {
		if b.Name != "hotel-1" && (b.Record.State != recloser.Closed || !b.Seen.Own || b.Seen.By != 3) {
			t.Errorf("%s was decided for all: %+v", b.Name, b)
		}
	}
	s.down.Store(false)
	eventually.True(t, patience, func() bool {
		for i := range s.nodes {
			each(i, 1)
			for _, d := range s.nodes[i].Dependencies().All() {
				if d.Breaker.State() != recloser.Closed {
					return false
				}
			}
		}
		return true
	}, "all to be closed")
	s.card(t, "are back")
	s.noCard(t)
}

// An operator's act on one node is in force on all, and so is its end; one that was done
// while the node was cut off is shared when it is back.
func TestFleetSharesActs(t *testing.T) {
	s := newSite(t)
	operate := func(node int) interface {
		Isolate(by, why string, until time.Time) error
		Release(by, why string) bool
	} {
		d, _ := s.nodes[node].Dependencies().Get("hotel-1")
		return d.Operator()
	}
	if err := operate(0).Isolate("ines", "their database moves", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.all(t, recloser.Isolated)
	d, _ := s.nodes[2].Dependencies().Get("hotel-1")
	if o := d.Breaker.Stats().Override; o == nil || o.By != "ines" || o.Why != "their database moves" || o.Until.IsZero() {
		t.Errorf("the third node has %+v", o)
	}
	eventually.True(t, patience, func() bool {
		kept, _ := s.nodes[2].history.Overrides(t.Context())
		return len(kept) == 1 && kept[0].By == "ines"
	}, "the third node to keep it over a restart")

	s.ways[1].cut.Store(true)
	eventually.True(t, patience, func() bool { return s.nodes[1].member.node.Status().Mode != fleet.Shared }, "the second node to notice")
	if !operate(1).Release("tom", "it is done") {
		t.Error("nothing was released")
	}
	if s.state(0) != recloser.Isolated || s.state(1) == recloser.Isolated {
		t.Errorf("the states are %s and %s", s.state(0), s.state(1))
	}
	s.ways[1].cut.Store(false)
	eventually.True(t, patience, func() bool {
		s.call(t, 0)
		return s.state(0) != recloser.Isolated && s.state(2) != recloser.Isolated
	}, "the release to be shared")
	eventually.True(t, patience, func() bool {
		kept, err := s.nodes[2].history.Overrides(t.Context())
		return err == nil && len(kept) == 0
	}, "the third node to forget it")
}

// G11: three nodes probe a partner as often as one does, also after the one has gone.
func TestG11_ThreeNodesProbeAsOne(t *testing.T) {
	s := newSite(t)
	probers := func() (all []int) {
		for i, g := range s.nodes {
			if g.member.leads(roleProber) {
				all = append(all, i)
			}
		}
		return all
	}
	eventually.True(t, patience, func() bool { return len(probers()) == 1 && s.pings.Load() > 0 }, "one node to probe")
	before, began := s.pings.Load(), time.Now()
	eventually.True(t, patience, func() bool { return time.Since(began) > 3*time.Second }, "some time to pass")
	if sent, most := s.pings.Load()-before, int64(time.Since(began)/(900*time.Millisecond))+1; sent > most {
		t.Errorf("%d probes in %s, want %d at most", sent, time.Since(began), most)
	}
	was := probers()[0]
	stop(t, s.nodes[was])
	s.nodes = append(s.nodes[:was], s.nodes[was+1:]...)
	eventually.True(t, patience, func() bool { return len(probers()) == 1 }, "another to take over")
	before = s.pings.Load()
	eventually.True(t, patience, func() bool { return s.pings.Load() > before }, "it to probe")
}

// While the store is away three of many nodes tell what they see, beside the last sender.
func TestFleetStandIns(t *testing.T) {
	now := time.Now()
	nodes := func(n int) (all []fleet.NodeStatus) {
		for i := range n {
			all = append(all, fleet.NodeStatus{Name: fmt.Sprintf("gate-%02d", n-i)})
		}
		return all
	}
	for name, c := range map[string]struct {
		s    fleet.Status
		want bool
	}{
		"the store is there":           {fleet.Status{Mode: fleet.Shared, Node: "gate-01", Nodes: nodes(2)}, false},
		"the first of fifty":           {fleet.Status{Mode: fleet.Kept, Node: "gate-01", Nodes: nodes(50)}, true},
		"the third of fifty":           {fleet.Status{Mode: fleet.Alone, Node: "gate-03", Nodes: nodes(50)}, true},
		"the fourth of fifty":          {fleet.Status{Mode: fleet.Alone, Node: "gate-04", Nodes: nodes(50)}, false},
		"it has only just gone":        {fleet.Status{Mode: fleet.Kept, Node: "gate-01", Nodes: nodes(50), Since: now.Add(-time.Second)}, false},
		"it was away when all started": {fleet.Status{Mode: fleet.Alone, Node: "gate-09"}, true},
	} {
		if got := standsIn(&c.s, now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What is added at run time on one node is there on all.
func TestFleetSharesDependencies(t *testing.T) {
	s := newSite(t)
	post := func(node int, method, path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.nodes[node].AdminAddr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode >= 300 {
			t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
		}
		return resp.StatusCode
	}
	post(0, "POST", "/api/v1/dependencies", `{"id":"hotel-9","definition":{"url":"http://127.0.0.1:9"}}`)
	for i, g := range s.nodes {
		eventually.True(t, patience, func() bool { _, ok := g.Dependencies().Get("hotel-9"); return ok }, fmt.Sprintf("node %d to have it", i))
	}
	post(1, "DELETE", "/api/v1/dependencies/hotel-9", "")
	for i, g := range s.nodes {
		eventually.True(t, patience, func() bool { _, ok := g.Dependencies().Get("hotel-9"); return !ok }, fmt.Sprintf("node %d to forget it", i))
	}
}
