//go:build !race

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// G01: the open time ends while 200 callers knock, and the dependency hangs: no more
// than the trials reach it.
func TestManyCallersAtTheEndOfTheOpenTime(t *testing.T) {
	h := newHotels(t, 1, ", breaker: { consecutive: 1, open_for: 1s, jitter: off, trials: 2 }")
	h.all[0].Now(gatewaytest.Answer(http.StatusInternalServerError, ""))
	n := startNode(t, head+h.lines+proxyRoute)
	get(n.calls + "/hotels/hotel-1/x")
	until := n.await("hotel-1", "open").Until
	h.all[0].Now(gatewaytest.Hang())
	before := h.all[0].Calls()

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}, Timeout: patience}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var asked atomic.Int64
	for range 200 {
		callers.Go(func() {
			for ctx.Err() == nil {
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, n.calls+"/hotels/hotel-1/x", nil)
				if resp, err := client.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				asked.Add(1)
			}
		})
	}
	eventually.True(t, patience, func() bool { return h.all[0].Calls() > before }, "a trial")
	atTrial := asked.Load()
	eventually.True(t, patience, func() bool { return asked.Load() > atTrial+1000 }, "all to have knocked")
	reached := h.all[0].Calls() - before
	cancel() // also the trial's client: then the next call is one
	callers.Wait()
	if reached > 2 || time.Now().Before(until) {
		t.Errorf("%d calls reached it", reached)
	}
}

// G05: clients hang up in mid-call, and nothing changes; the client of the only trial
// does, and the next call is the trial.
func TestClientsWhoHangUp(t *testing.T) {
	h := newHotels(t, 1, ", breaker: { consecutive: 5, open_for: 1s, jitter: off, trials: 1 }")
	hotel := h.all[0]
	n := startNode(t, head+h.lines+proxyRoute)
	url := n.calls + "/hotels/hotel-1/x"
	hangUp := func(many int) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		reached := hotel.Running() + many
		for range many {
			clients.Go(func() {
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				if resp, err := http.DefaultClient.Do(req); err == nil {
					_ = resp.Body.Close()
					t.Errorf("got %s", resp.Status)
				}
			})
		}
		eventually.True(t, patience, func() bool { return hotel.Running() == reached }, "the calls to arrive")
		cancel()
		clients.Wait()
		eventually.True(t, patience, func() bool { return hotel.Running() == 0 }, "the gateway to hang up too")
	}
	hotel.Now(gatewaytest.Hang())
	for range 10 {
		hangUp(100)
	}
	if s := n.state("hotel-1"); s.State != "closed" || s.Totals.Failed+s.Totals.Slow+s.Totals.Success != 0 {
		t.Errorf("%+v", s)
	}
	hotel.Now(gatewaytest.Answer(http.StatusInternalServerError, ""))
	load := newLoad(t, n.calls, []string{"/hotels/hotel-1/x"}, 50, func(string, time.Time, time.Duration, int) {})
	n.await("hotel-1", "open")
	load.end()
	hotel.Now(gatewaytest.Hang())
	n.await("hotel-1", "half-open")
	hangUp(1)
	hotel.Now(gatewaytest.Yes())
	if a := get(url); a.status != http.StatusOK {
		t.Errorf("the call after it: %+v", a)
	}
	n.await("hotel-1", "closed")
}

// G08: an outage ends and nobody calls. A probe alone brings half-open, and only real
// calls close.
func TestProbeAlone(t *testing.T) {
	t.Parallel()
	h := newHotels(t, 1, ", probe: { path: /ping }, breaker: { consecutive: 2, spread: off, open_for: 1h, max_open_for: 1h }")
	h.all[0].Now(gatewaytest.Answer(http.StatusInternalServerError, ""))
	n := startNode(t, head+h.lines+proxyRoute)
	for range 2 {
		get(n.calls + "/hotels/hotel-1/x")
	}
	n.await("hotel-1", "open")
	h.all[0].Now(gatewaytest.Yes())
	n.await("hotel-1", "half-open")
	for range 2 {
		if a := get(n.calls + "/hotels/hotel-1/x"); a.status != http.StatusOK {
			t.Errorf("a trial: %+v", a)
		}
	}
	n.await("hotel-1", "closed")
	if _, text := n.api(http.MethodGet, "/events?dependency=hotel-1&kind=probe", "", nil); !strings.Contains(text, `"good"`) && !strings.Contains(text, "200") {
		t.Errorf("no event says why: %s", text)
	}
}

// seenByClients is what clients of some paths saw since something began.
type seenByClients struct {
	mu      sync.Mutex
	refused map[string]time.Time // first refusal, by path
	waited  map[string]int       // callers over 1 s
	good    map[string]int
	all     map[string]int
}

func newSeenByClients() *seenByClients {
	return &seenByClients{refused: map[string]time.Time{}, waited: map[string]int{}, good: map[string]int{}, all: map[string]int{}}
}

func (s *seenByClients) heard(path string, asked time.Time, took time.Duration, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[path]++
	switch {
	case status == http.StatusOK:
		s.good[path]++
	case s.refused[path].IsZero() && status == http.StatusServiceUnavailable && took < 100*time.Millisecond:
		s.refused[path] = asked
	}
	if took > time.Second {
		s.waited[path]++
	}
}

func (s *seenByClients) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refused)
	clear(s.waited)
	clear(s.good)
	clear(s.all)
}

func pathsOf(n int) (paths []string) {
	for i := range n {
		paths = append(paths, fmt.Sprintf("/hotels/hotel-%d/x", i+1))
	}
	return paths
}

// G31: six of ten hang, with all that a gateway does and by its defaults: each is cut
// off as fast as one alone, the others notice nothing, and all come back.
func TestSixOfTenHang(t *testing.T) {
	t.Parallel()
	const bad, of = 6, 10
	h := newHotels(t, of, ", probe: { path: /ping }")
	n := startNode(t, head+h.lines+proxyRoute)
	paths, seen := pathsOf(of), newSeenByClients()
	load := newLoad(t, n.calls, paths, 20, seen.heard)
	eventually.True(t, patience, func() bool {
		for i := range of {
			var d struct {
				Limits struct{ Suspect struct{ Origin string } }
			}
			if n.api(http.MethodGet, fmt.Sprint("/dependencies/hotel-", i+1), "", &d); d.Limits.Suspect.Origin != "learned" {
				return false
			}
		}
		return true
	}, "the limits to be learned")
	seen.begin()
	began := time.Now()
	for _, hotel := range h.all[:bad] {
		hotel.Now(gatewaytest.Hang())
	}
	eventually.True(t, patience, func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return len(seen.refused) == bad
	}, "all of them to be cut off")
	for _, hotel := range h.all[:bad] {
		hotel.Now(gatewaytest.Yes())
	}
	back := time.Now()
	for i := range of {
		n.await(fmt.Sprint("hotel-", i+1), "closed")
	}
	t.Logf("all are back after %s", time.Since(back))
	load.end()
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for i, path := range paths {
		after := seen.refused[path].Sub(began)
		switch {
		case i < bad && (after > 1500*time.Millisecond || seen.waited[path] > 6): // 800 ms on a machine of its own
			t.Errorf("%s: refused after %s, %d waited over 1 s", path, after, seen.waited[path])
		case i >= bad && seen.good[path] != seen.all[path]:
			t.Errorf("%s: %d of %d are served", path, seen.good[path], seen.all[path])
		}
	}
}

// G31: our own uplink is dead: everybody hangs. Nobody is cut off on mere suspicion,
// every trip says that it may be us, and all come back together.
func TestOwnUplinkIsDead(t *testing.T) {
	t.Parallel()
	const of = 10
	h := newHotels(t, of, ", probe: { path: /ping }, breaker: { suspect: 250ms }")
	n := startNode(t, head+h.lines+proxyRoute)
	paths, seen := pathsOf(of), newSeenByClients()
	load := newLoad(t, n.calls, paths, 20, seen.heard)
	eventually.True(t, patience, func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		for _, path := range paths {
			if seen.good[path] < 20 {
				return false
			}
		}
		return true
	}, "some traffic")
	for _, hotel := range h.all {
		hotel.Now(gatewaytest.Hang())
	}
	for i := range of {
		s := n.await(fmt.Sprint("hotel-", i+1), "open")
		if s.Reason != "us?" || s.Step != 0 {
			t.Errorf("%s is open for %q, step %d", s.ID, s.Reason, s.Step)
		}
	}
	for _, hotel := range h.all {
		hotel.Now(gatewaytest.Yes())
	}
	for i := range of {
		n.await(fmt.Sprint("hotel-", i+1), "closed")
	}
	load.end()
	var page struct {
		Events []struct {
			At             time.Time
			Dependency, To string
		}
	}
	n.api(http.MethodGet, "/events?kind=transition&limit=1000", "", &page)
	first := map[string]time.Time{}
	for _, e := range page.Events {
		if e.To == "half-open" && (first[e.Dependency].IsZero() || e.At.Before(first[e.Dependency])) {
			first[e.Dependency] = e.At
		}
	}
	var all []time.Time
	for _, at := range first {
		all = append(all, at)
	}
	slices.SortFunc(all, time.Time.Compare)
	if len(all) != of || all[of-1].Sub(all[0]) > 500*time.Millisecond {
		t.Errorf("on trial at %v", first)
	}
}

// G33: 256 healthy callers at once, again and again, and pauses of a dependency under
// 1 000 calls a second: the bulkhead refuses none.
func TestBulkheadRefusesNoBurst(t *testing.T) {
	h := newHotels(t, 1, "")
	n := startNode(t, head+h.lines+proxyRoute)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}, Timeout: patience}
	defer client.CloseIdleConnections()
	call := func() {
		resp, err := client.Get(n.calls + "/hotels/hotel-1/x")
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("%s %s", resp.Status, resp.Header.Get("Recloser-Reason"))
		}
	}
	var callers sync.WaitGroup
	h.all[0].Now(gatewaytest.Slow(300*time.Millisecond, gatewaytest.Yes()))
	for range 2 {
		for range 256 {
			callers.Go(call)
		}
		callers.Wait()
	}
	// It stands still for 300 ms of every second.
	began := time.Now()
	h.all[0].Now(func(w http.ResponseWriter, r *http.Request) {
		if at := time.Since(began) % time.Second; at < 300*time.Millisecond {
			<-time.After(300*time.Millisecond - at)
		}
		gatewaytest.Yes()(w, r)
	})
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for range 1500 {
		<-ticker.C
		callers.Go(call)
	}
	callers.Wait()
	var d struct{ Bulkhead struct{ Refused int } }
	if n.api(http.MethodGet, "/dependencies/hotel-1", "", &d); d.Bulkhead.Refused != 0 {
		t.Errorf("the bulkhead refused %d", d.Bulkhead.Refused)
	}
}

// G35: an ask as long as the slow limit, once a second, and one member hangs: it is
// cut off all the same, the others keep their connections, and the answer names it.
func TestAskFindsWhoHangs(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	healthy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"allowed": false}`)
	}))
	healthy.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	healthy.Start()
	defer healthy.Close()
	h := newHotels(t, 1, ", breaker: { slow_call: 1s }")
	h.all[0].Now(gatewaytest.Hang())
	n := startNode(t, head+h.lines+fmt.Sprintf("  healthy: { url: %q }\n", healthy.URL)+`
routes: [ { path: /access, ask: { accept: body.allowed == true, timeout: 1s } } ]
`)
	asks := time.NewTicker(time.Second)
	defer asks.Stop()
	var asking sync.WaitGroup
	defer asking.Wait()
	for range 30 {
		asking.Go(func() { get(n.calls + "/access") })
		<-asks.C
		if n.state("hotel-1").State == "open" {
			break
		}
	}
	a := get(n.calls + "/access")
	if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `{"dependency":"hotel-1","name":"hotel-1","result":"refused"`) {
		t.Errorf("after 30 asks: %+v", a)
	}
	if c := connections.Load(); c > 1 {
		t.Errorf("%d connections to the healthy member", c)
	}
}
