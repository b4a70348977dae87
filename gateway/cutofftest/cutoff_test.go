//go:build linux && !race

package cutofftest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// patience is for what takes seconds on an idle machine; that a gateway decides alone
// takes half a minute anyway.
const patience = 2 * time.Minute

// The hotels. Where half of them failed, a gateway would rather doubt its own network.
const (
	known = iota // fails before the gateway is cut off
	news         // fails afterwards
	well
	hotels = 6
)

// TestCutOff: the switch to the store fails for one of three gateways. It finds out within the store's
// own time limits, its callers notice nothing, it keeps what it knew and then decides
// alone. When the network is whole again all agree.
func TestCutOff(t *testing.T) {
	layNetwork(t)
	for i, store := range []struct {
		name  string
		start func(t *testing.T) (url, addr string)
	}{
		{"redis", func(t *testing.T) (url, addr string) {
			s := redistest.Start(t, "--bind", "127.0.0.1", town, "--protected-mode", "no")
			return "redis://" + onSwitch(s.Addr), s.Addr
		}},
		{"postgres", func(t *testing.T) (url, addr string) {
			s := pgtest.Start(t, "listen_addresses=127.0.0.1,"+town)
			return pgtest.URLAt(onSwitch(s.Addr())), s.Addr()
		}},
	} {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			url, addr := store.start(t)
			_, port, _ := net.SplitHostPort(addr)
			far := newMachine(t, fmt.Sprint("port", i), fmt.Sprint("10.77.0.", 10+i))
			s := newSite(t, fmt.Sprintf("store: { %s: %q }", store.name, url), far)
			s.isCutOff(t, far, port)
		})
	}
}

// onSwitch is the address at which the other machines reach a server of the test's.
func onSwitch(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return net.JoinHostPort(town, port)
}

// site is three gateways in front of some hotels. The last one is on another machine, and
// the hotels are on both.
type site struct {
	gates []*gate
	down  [hotels]atomic.Bool
}

// gate is a gateway, as a process.
type gate struct {
	client       *http.Client
	calls, admin string
}

func newSite(t *testing.T, store string, far *machine) *site {
	t.Helper()
	s := &site{}
	here := &machine{}
	for i, m := range []*machine{here, here, far} {
		s.gates = append(s.gates, s.startGate(t, m, fmt.Sprint("gate-", i+1), store))
	}
	s.meet(t)
	for hotel := range hotels {
		s.all(t, func(g *gate) bool { return g.call(t, hotel) == http.StatusOK }, "all hotels to be well")
	}
	return s
}

func (s *site) startGate(t *testing.T, m *machine, name, store string) *gate {
	t.Helper()
	config := fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
storage: off
%s
fleet: { name: town, node: %s, reporters: 2 }
defaults: { breaker: { open_for: 1s, max_open_for: 2s } }
routes: [ { path: "/hotels/{dependency}/*" } ]
dependencies:
`, store, name)
	for i := range hotels {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if s.down[i].Load() {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}))
		_ = server.Listener.Close()
		server.Listener = m.listen(t)
		server.Start()
		t.Cleanup(server.Close)
		config += fmt.Sprintf("  %s: { url: %q }\n", id(i), server.URL)
	}
	file := filepath.Join(t.TempDir(), "recloser.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &gatewaytest.Log{}
	cmd := exec.Command(binary, "serve", "-c", file, "--log-format", "json")
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", name, log)
		}
	})
	g := &gate{client: m.client(t)}
	eventually.True(t, patience, func() bool {
		for line := range strings.Lines(log.String()) {
			var said struct{ Msg, Calls, Admin string }
			if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "serving" {
				g.calls, g.admin = "http://"+said.Calls, "http://"+said.Admin
			}
		}
		return g.calls != ""
	}, name+" to serve")
	return g
}

func id(hotel int) string { return fmt.Sprint("hotel-", hotel+1) }

// call makes a call through the gateway and returns its status.
func (g *gate) call(t *testing.T, hotel int) int {
	t.Helper()
	resp, err := g.client.Get(g.calls + "/hotels/" + id(hotel) + "/guests/17")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// api asks the gateway, and reads its answer into out.
func (g *gate) api(t *testing.T, method, path, body string, out any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, g.admin+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%d %s", resp.StatusCode, bytes.TrimSpace(text))
	}
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// mode says how far the gateway shares what it knows, and with how many others and itself.
func (g *gate) mode(t *testing.T) (mode string, members int) {
	t.Helper()
	var all struct {
		Fleet struct {
			Mode    string
			Members []struct{}
		}
	}
	g.api(t, http.MethodGet, "/nodes", "", &all)
	return all.Fleet.Mode, len(all.Fleet.Members)
}

// state is that of a hotel there, and whether an act of an operator is not shared yet.
func (g *gate) state(t *testing.T, hotel int) (state string, notShared bool) {
	t.Helper()
	var d struct {
		State string
		Fleet struct {
			NotShared bool `json:"not_shared"`
		}
	}
	g.api(t, http.MethodGet, "/dependencies/"+id(hotel), "", &d)
	return d.State, d.Fleet.NotShared
}

func (s *site) meet(t *testing.T) {
	t.Helper()
	s.all(t, func(g *gate) bool {
		mode, members := g.mode(t)
		return mode == "shared" && members == len(s.gates)
	}, "all gateways to know all")
}

func (s *site) all(t *testing.T, is func(*gate) bool, what string) {
	t.Helper()
	eventually.True(t, patience, func() bool { return !slices.ContainsFunc(s.gates, func(g *gate) bool { return !is(g) }) }, what)
}

// trips has calls fail at the first two gateways, neither of which has seen enough by
// itself, until these refuse.
func (s *site) trips(t *testing.T, hotel int) {
	t.Helper()
	s.down[hotel].Store(true)
	for range 3 {
		for _, g := range s.gates[:2] {
			g.call(t, hotel)
		}
	}
	for i, g := range s.gates[:2] {
		g.opens(t, hotel, fmt.Sprintf("gateway %d", i+1))
	}
}

// opens waits until the gateway refuses, without more calls, by which it would do so itself.
func (g *gate) opens(t *testing.T, hotel int, name string) {
	t.Helper()
	eventually.True(t, patience, func() bool { state, _ := g.state(t, hotel); return state == "open" || state == "half-open" }, name+" to refuse")
}

func (s *site) isCutOff(t *testing.T, m *machine, port string) {
	far := s.gates[2]
	s.trips(t, known)
	far.opens(t, known, "the far gateway, which is told,")
	if n := m.established(t, port); n == 0 {
		t.Fatal("the far gateway has no connection to the store; the test is wrong")
	}

	m.cut(t)
	s.down[known].Store(false) // which nobody there can know
	began := time.Now()
	eventually.True(t, patience, func() bool { mode, _ := far.mode(t); return mode == "kept" }, "the far gateway to notice")
	noticed := time.Since(began)
	if code := far.call(t, known); code != http.StatusServiceUnavailable {
		t.Errorf("it does not keep what it knew: a call to a hotel that was cut off has %d", code)
	}
	s.asFast(t)
	s.trips(t, news)
	if code := far.call(t, news); code != http.StatusInternalServerError {
		t.Errorf("cut off, it knows what the others know: %d", code)
	}
	far.api(t, http.MethodPut, "/dependencies/"+id(well)+"/override", `{"mode":"isolated","for":"1h","by":"ines","reason":"their database moves"}`, nil)
	eventually.True(t, patience, func() bool {
		state, notShared := far.state(t, well)
		return state == "isolated" && notShared
	}, "an operator's act there to be in force, and not yet shared")
	if state, _ := s.gates[0].state(t, well); state != "closed" {
		t.Errorf("an act of a gateway that is cut off is in force elsewhere: %s", state)
	}

	eventually.True(t, patience, func() bool { return far.call(t, news) == http.StatusServiceUnavailable }, "it to protect itself")
	eventually.True(t, patience, func() bool { return m.established(t, port) == 0 }, "it to give up connections of which nothing can come")
	t.Logf("noticed after %.1f s, gave up the last connection after %.1f s at most", noticed.Seconds(), time.Since(began).Seconds())
	eventually.True(t, patience, func() bool {
		far.call(t, known) // it may have had the lease of one trial
		state, _ := far.state(t, known)
		return state == "closed"
	}, "it to try by itself what the fleet had cut off")
	kept := time.Since(began)
	if kept < 20*time.Second {
		t.Errorf("it kept to what it knew for no longer than %v", kept)
	}
	eventually.True(t, patience, func() bool { mode, _ := far.mode(t); return mode == "alone" }, "it to say that it is alone")
	t.Logf("decided alone after %.1f s", kept.Seconds())

	began = time.Now()
	m.heal(t)
	s.meet(t)
	s.all(t, func(g *gate) bool {
		state, notShared := g.state(t, well)
		return state == "isolated" && !notShared
	}, "the act to be shared")
	t.Logf("all agree %.1f s after the network is whole", time.Since(began).Seconds())
	s.down[news].Store(false)
	s.gates[0].api(t, http.MethodDelete, "/dependencies/"+id(well)+"/override", "", nil)
	s.all(t, func(g *gate) bool {
		for hotel := range hotels {
			if state, _ := g.state(t, hotel); g.call(t, hotel) != http.StatusOK || state != "closed" {
				return false
			}
		}
		return true
	}, "all to be as it was")
}

// asFast compares calls of the gateway that is cut off with those of one that is not.
func (s *site) asFast(t *testing.T) {
	t.Helper()
	took := map[*gate][]time.Duration{}
	for range 50 {
		for _, g := range []*gate{s.gates[0], s.gates[2]} {
			began := time.Now()
			if code := g.call(t, well); code != http.StatusOK {
				t.Errorf("a call to a hotel that is well: %d", code)
			}
			took[g] = append(took[g], time.Since(began))
		}
	}
	median := func(g *gate) time.Duration {
		slices.Sort(took[g])
		return took[g][len(took[g])/2]
	}
	near, far := median(s.gates[0]), median(s.gates[2])
	t.Logf("a call takes %v, and where the store is cut off %v", near, far)
	if far > 3*near+20*time.Millisecond {
		t.Errorf("calls take %v where the store is cut off, and elsewhere %v", far, near)
	}
}
