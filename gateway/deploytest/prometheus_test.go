package deploytest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// Prometheus, set up as in the example, scrapes a gateway in front of hotels of
// which some are well, one hangs and one fails: each query that is shipped has data.
func TestEveryQueryHasData(t *testing.T) {
	g := startGateway(t)
	first := g.scrape()
	g.reload()
	g.isolate("dune")
	queries := append(readDashboard(t).queries(), ofRules(readRules(t))...)
	if len(queries) < 60 {
		t.Fatalf("only %d queries were found", len(queries))
	}
	prometheus := startPrometheus(t, g)
	ask := time.NewTicker(200 * time.Millisecond)
	defer ask.Stop()
	eventually.True(t, patience, func() bool { <-ask.C; return hasData(t, prometheus, "recloser_build_info") }, "a first scrape")
	g.traffic() // what begins after it is seen to have begun

	waiting := queries
	t.Cleanup(func() {
		for _, q := range waiting {
			t.Errorf("%s: no data for\n%s", q.where, q.expr)
		}
	})
	eventually.True(t, patience, func() bool {
		<-ask.C
		waiting = slices.DeleteFunc(slices.Clone(waiting), func(q query) bool { return hasData(t, prometheus, q.expr) })
		return len(waiting) == 0
	}, "data for every query")

	var last map[string]bool
	missing := names(queries)
	t.Cleanup(func() {
		if len(missing) > 0 {
			t.Errorf("there are no metrics %q", missing)
		}
	})
	eventually.True(t, patience, func() bool { // one that is cut off may be on trial at the moment
		<-ask.C
		last = g.scrape()
		missing = without(last, names(queries))
		return len(missing) == 0
	}, "a scrape with every metric")
	t.Logf("%d queries; %d series at the start, %d in the end", len(queries), len(first), len(last))
	g.checkFromTheStart(first, last)
	for _, alert := range []string{"RecloserCutOff", "RecloserDoesNotComeBack"} {
		eventually.True(t, patience, func() bool {
			<-ask.C
			return strings.Contains(get(t, prometheus+"/api/v1/alerts"), `"alertname":"`+alert+`","dependency":"beacon"`)
		}, alert+" to be pending")
	}
}

type gateway struct {
	t            *testing.T
	config       string // file
	calls, admin string // URLs
	token        string // file
	operator     string
}

func startGateway(t *testing.T) *gateway {
	t.Helper()
	dir := t.TempDir()
	hotel := func(b gatewaytest.Behaviour) string { return gatewaytest.NewDependency(b).Listen(t) }
	certificate(t, dir)
	g := &gateway{t: t, config: filepath.Join(dir, "recloser.yaml"), token: filepath.Join(dir, "token")}
	write(t, g.config, fmt.Sprintf(`
listen: "127.0.0.1:0"
tls: { cert: cert.pem, key: key.pem }
admin: { listen: "127.0.0.1:0", sign_in: true }
defaults: { breaker: { slow_call: 300ms, min_calls: 5, open_for: 500ms, max_open_for: 2s }, probe: { timeout: 200ms } }
dependencies:
  aurora: { url: %q, group: coast, name: Aurora Central, probe: { path: /ping } }
  beacon: { url: %q, group: coast, probe: { path: /ping } }
  cove: { url: %q, group: hills }
  dune: { url: %q, group: hills }
  elm: { url: %q, key: header X-Property }
routes:
  - { path: "/{dependency}/*", rate_limit: { per: client, rate: 10000/s } }
`, hotel(gatewaytest.Yes()), hotel(gatewaytest.Hang()), hotel(gatewaytest.InTurn(gatewaytest.Yes(), gatewaytest.Answer(500, ""), gatewaytest.Answer(500, ""))), hotel(gatewaytest.Yes()), hotel(gatewaytest.Yes())))
	write(t, g.token, g.createToken("viewer"))
	g.operator = g.createToken("operator")
	said := start(t, binary, "serve", "-c", g.config, "--log-format", "json")
	g.calls = "https://" + await(t, said, `"msg":"serving".*"calls":"([^"]+)"`)
	g.admin = "http://" + await(t, said, `"msg":"serving".*"admin":"([^"]+)"`)
	return g
}

func (g *gateway) createToken(role string) string {
	g.t.Helper()
	out, err := exec.CommandContext(g.t.Context(), binary, "token", "create", "-c", g.config, "--role", role, "--no-expiry").Output()
	if err != nil {
		g.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// certificate writes one that is good for nothing but tests.
func certificate(t *testing.T, dir string) {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	c := srv.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})))
	write(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
}

// traffic makes calls to all hotels until the test ends.
func (g *gateway) traffic() {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var callers sync.WaitGroup
	done := make(chan struct{})
	for _, id := range []string{"aurora", "beacon", "beacon", "beacon", "cove", "elm"} {
		callers.Go(func() {
			next := time.NewTicker(25 * time.Millisecond)
			defer next.Stop()
			for {
				select {
				case <-done:
					return
				case <-next.C:
				}
				req, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, g.calls+"/"+id+"/guests/17", nil)
				if err != nil {
					return
				}
				req.Header.Set("X-Property", "north")
				if resp, err := client.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}
		})
	}
	g.t.Cleanup(func() {
		close(done)
		callers.Wait()
		client.CloseIdleConnections()
	})
}

// reload has the config read again, by a change that changes nothing.
func (g *gateway) reload() {
	g.t.Helper()
	write(g.t, g.config, read(g.t, g.config)+"# seen\n")
	eventually.True(g.t, patience, func() bool {
		return g.scrape()["recloser_config_last_reload_seconds"]
	}, "the reload")
}

func (g *gateway) isolate(id string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPut, g.admin+"/api/v1/dependencies/"+id+"/override",
		strings.NewReader(`{"mode":"isolated","for":"1h","reason":"test"}`))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+g.operator)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		g.t.Fatalf("isolate %s: %d", id, resp.StatusCode)
	}
}

// scrape returns the series of ours.
func (g *gateway) scrape() map[string]bool {
	g.t.Helper()
	all := make(map[string]bool)
	for line := range strings.Lines(get(g.t, g.admin+"/metrics")) {
		if i := strings.LastIndexByte(line, ' '); strings.HasPrefix(line, "recloser_") {
			all[line[:i]] = true
		}
	}
	return all
}

func name(series string) string {
	name, _, _ := strings.Cut(series, "{")
	return name
}

// without returns the wanted metrics that have no series.
func without(series map[string]bool, want []string) []string {
	there := make(map[string]bool)
	for s := range series {
		there[name(s)] = true
	}
	return slices.DeleteFunc(slices.Clone(want), func(n string) bool { return there[n] })
}

// checkFromTheStart looks that there was nothing new but what the guide says may be
// absent.
func (g *gateway) checkFromTheStart(first, last map[string]bool) {
	g.t.Helper()
	absent := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| `(recloser_[a-z_]+)` \\|.*absent").FindAllStringSubmatch(read(g.t, "../../docs/GATEWAY.md"), -1) {
		absent[m[1]] = true
	}
	for s := range last {
		if !first[s] && !absent[name(s)] {
			g.t.Errorf("%s was not there from the start", s)
		}
	}
	for s := range first {
		if !last[s] && !absent[name(s)] {
			g.t.Errorf("%s has gone", s)
		}
	}
}

// startPrometheus returns the URL of one that is set up as in the example, but for
// addresses and that it looks each second.
func startPrometheus(t *testing.T, g *gateway) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	write(t, filepath.Join(dir, "recloser.rules.yml"), read(t, deploy+"prometheus/recloser.rules.yml"))
	write(t, file, replace(t, read(t, deploy+"compose/prometheus.yml"),
		": 15s", ": 1s", "/run/secrets/prometheus-token", g.token,
		"recloser.example:8081", strings.TrimPrefix(g.admin, "http://"), "alertmanager:9093", "127.0.0.1:1"))
	said := start(t, "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	return "http://" + await(t, said, `msg="Listening on" address=(\S+)`)
}

// hasData reports whether a query has had any value that is a number.
func hasData(t *testing.T, prometheus, expr string) bool {
	t.Helper()
	now := time.Now()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Values [][2]any
			}
		}
	}
	body := get(t, prometheus+"/api/v1/query_range?"+url.Values{
		"query": {expr}, "start": {strconv.FormatInt(now.Add(-time.Minute).Unix(), 10)}, "end": {strconv.FormatInt(now.Unix(), 10)}, "step": {"1"},
	}.Encode())
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Status != "success" {
		t.Fatalf("%s: %s", expr, answer.Error)
	}
	for _, r := range answer.Data.Result {
		for _, v := range r.Values {
			if v[1] != "NaN" {
				return true
			}
		}
	}
	return false
}

// get returns the body of a page, whatever its status.
func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
