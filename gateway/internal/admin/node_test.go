package admin

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/certs"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

func TestNodes(t *testing.T) {
	w := newWhole(t)
	var list NodeList
	w.want(http.StatusOK, &list, "GET", "/api/v1/nodes", "")
	if len(list.Nodes) != 1 {
		t.Fatalf("%+v", list)
	}
	n := list.Nodes[0]
	if n.Node != "gateway-1" || n.Version != "v1.2.3" || !n.Ready || n.Uplink || n.Since.IsZero() || n.Bulkhead == nil || n.Bulkhead.Limit != 8192 {
		t.Errorf("%+v", n)
	}
	if !n.Storage.OnDisk || n.Storage.Path != w.path || n.Storage.Fault != "" || n.Storage.Since == nil {
		t.Errorf("%+v", n.Storage)
	}
	w.ready = false
	if w.want(http.StatusOK, &list, "GET", "/api/v1/nodes", ""); list.Nodes[0].Ready {
		t.Error("it is shown as ready")
	}
}

func TestCertificatesAreShown(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS() // for its certificate
	defer server.Close()
	pair := server.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	write := func(file, kind string, content []byte) {
		t.Helper()
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(cert, "CERTIFICATE", pair.Certificate[0])
	write(key, "PRIVATE KEY", der)
	now := time.Now()
	files, err := certs.Load(cert, key, certs.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	w := newWhole(t, func(o *Options) { o.Certificates = map[string]*certs.Files{"admin.listen": files} })
	see := func() Certificate {
		t.Helper()
		var list NodeList
		w.want(http.StatusOK, &list, "GET", "/api/v1/nodes", "")
		return list.Nodes[0].Certificates[0]
	}
	if c := see(); c.Listener != "admin.listen" || c.GoodUntil.IsZero() || c.Fault != "" {
		t.Errorf("%+v", c)
	}
	write(cert, "CERTIFICATE", []byte("x"))
	now = now.Add(time.Minute)
	if c := see(); c.Fault == "" || !strings.Contains(w.send("GET", "/metrics", "").Body.String(), `recloser_certificate_ok{listener="admin.listen"} 0`) {
		t.Errorf("%+v", c)
	}
}

// G28: without a disk acts go on, and API and metric say that nothing is being
// written.
func TestStorageThatFailsIsShown(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := openWhole(t, filepath.Join(file, "recloser.db")) // no folder: nobody, root neither, can write there
	w.want(http.StatusOK, new(Dependency), "PUT", overrideOfHotel1, isolate)
	var list NodeList
	w.want(http.StatusOK, &list, "GET", "/api/v1/nodes", "")
	if s := list.Nodes[0].Storage; s.OnDisk || s.Fault == "" {
		t.Errorf("%+v", s)
	}
	if text := w.send("GET", "/metrics", "").Body.String(); !strings.Contains(text, "\nrecloser_history_ok 0\n") {
		t.Error("the metric does not say so")
	}
	if len(w.acts()) != 1 || w.breaker("hotel-1").Stats().Override == nil {
		t.Error("the act was not done")
	}

	w = newWhole(t)
	if text := w.send("GET", "/metrics", "").Body.String(); !strings.Contains(text, "\nrecloser_history_ok 1\n") {
		t.Error("with a disk: the metric does not say so")
	}
}

func TestReload(t *testing.T) {
	w := newWhole(t)
	var n Reloaded
	w.want(http.StatusOK, &n, "POST", "/api/v1/reload", `{"by":"ines","reason":"new partner"}`)
	if n.Changed != "added hotel-7; only after a restart: admin.tls" || !slices.Equal(n.Restart, []string{"admin.tls"}) {
		t.Errorf("it did %+v", n)
	}
	fault := errors.New("recloser.yaml:3:5: unknown key")
	w.reload.Store(&fault)
	w.wantProblem(http.StatusUnprocessableEntity, "nothing was changed: recloser.yaml:3:5: unknown key", "POST", "/api/v1/reload", "")
	acts := w.acts()
	if len(acts) != 2 || acts[1].Name != "reload" || acts[1].By != "ines" || acts[1].Result != "done" || !strings.HasPrefix(acts[0].Result, "not done: recloser.yaml:3:5") {
		t.Errorf("audit %+v", acts)
	}
	bare := newBench(t)
	bare.wantProblem(http.StatusNotImplemented, "reload", "POST", "/api/v1/reload", "{}")
}

func TestConfigIsShown(t *testing.T) {
	w := newWhole(t)
	var s Settings
	w.want(http.StatusOK, &s, "GET", "/api/v1/config", "")
	found := false
	for _, setting := range s.Settings {
		found = found || setting.Path == "dependencies.hotel-1.group" && setting.Value == "coast" && strings.HasPrefix(setting.Origin, "recloser.yaml:")
	}
	if !found || s.File != "recloser.yaml" {
		t.Errorf("%s: %+v", s.File, s.Settings)
	}
	bare := newBench(t)
	bare.wantProblem(http.StatusNotImplemented, "configuration", "GET", "/api/v1/config", "")
}

func TestMe(t *testing.T) {
	w := newWhole(t)
	var me Me
	w.want(http.StatusOK, &me, "GET", "/api/v1/me", "")
	if want := (Me{Name: "operator (127.0.0.1)", Role: "admin", From: "127.0.0.1", Version: "v1.2.3"}); me != want {
		t.Errorf("%+v, want %+v", me, want)
	}
}

func TestGatewayMetrics(t *testing.T) {
	w := newWhole(t)
	w.options.History.Record(history.Event{Kind: history.KindGateway, Text: "x"})
	w.trip("hotel-1")
	text := w.send("GET", "/metrics", "").Body.String()
	for _, line := range []string{
		`recloser_state{dependency="hotel-1",state="open"} 1`,
		"recloser_history_ok 1",
		"recloser_history_lost_total 0",
		`recloser_reloads_total{result="ok"} 3`,
		`recloser_reloads_total{result="failed"} 1`,
		"recloser_config_last_reload_ok 1",
		"recloser_own_network_suspected 0",
		"recloser_gateway_inflight 0",
		"recloser_gateway_inflight_limit 8192",
		"recloser_gateway_refused_total 0",
		`recloser_bulkhead_inflight{dependency="hotel-1"} 0`,
		`recloser_bulkhead_limit{dependency="hotel-1"} 1024`,
		`recloser_refused_total{dependency="hotel-1",reason="bulkhead"} 0`,
		`recloser_refused_total{dependency="hotel-1",reason="open"} 0`,
		`recloser_dependency_info{dependency="hotel-1",group="coast",name="Aurora Central"} 1`,
		`recloser_build_info{version="v1.2.3"} 1`,
		`recloser_suspect_seconds{dependency="hotel-1",origin="default"} 2`,
		`recloser_suspect_samples{dependency="hotel-1"} 0`,
		`recloser_maintenance{dependency="hotel-1"} 0`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the metrics do not say %s", line)
		}
	}
	if !strings.Contains(text, "go_goroutines") {
		t.Error("nothing of the process")
	}
	for _, absent := range []string{"recloser_config_last_reload_seconds", "recloser_probe_good", "recloser_keys{"} {
		if strings.Contains(text, absent) {
			t.Errorf("%s is there, although nothing is known", absent)
		}
	}
	var d Dependency
	w.want(http.StatusCreated, &d, "POST", dependenciesPath, `{"id":"hotel-9","definition":{"url":"https://192.0.2.9","key":{"header":"X-Property"}}}`)
	put, _ := w.list.Get("hotel-9")
	put.Keys.Get("a")
	text = w.send("GET", "/metrics", "").Body.String()
	if !strings.Contains(text, `recloser_keys{dependency="hotel-9",state="closed"} 1`) || !strings.Contains(text, `recloser_keys{dependency="hotel-9",state="open"} 0`) || !strings.Contains(text, `recloser_state{dependency="hotel-9",state="closed"} 1`) {
		t.Error("a dependency that was added is not there")
	}
	w.want(http.StatusOK, &d, "GET", dependenciesPath+"/hotel-9", "")
	if d.Keys == nil || d.Keys.Count != 1 || d.Keys.States["closed"] != 1 || d.Keys.Header != "X-Property" {
		t.Errorf("keys %+v", d.Keys)
	}
	if w.send("DELETE", dependenciesPath+"/hotel-9", ""); strings.Contains(w.send("GET", "/metrics", "").Body.String(), "hotel-9") {
		t.Error("a dependency that was removed is still there")
	}

	part := newWhole(t, signIn)
	text = part.send("GET", "/metrics", "", part.token("coast", auth.Viewer, "coast")).Body.String()
	if !strings.Contains(text, `dependency="hotel-1"`) || strings.Contains(text, "hotel-3") || strings.Contains(text, "go_goroutines") || strings.Contains(text, "history") {
		t.Error("who sees one group only sees more, or less")
	}
}

// Nobody writes a line of his own into the log.
func TestLogInjection(t *testing.T) {
	w := newWhole(t)
	evil := `x\u2028y\u0085 level=ERROR msg=\"all is lost\"`
	w.send("PUT", overrideOfHotel1, `{"mode":"isolated","no_expiry":true,"reason":"`+evil+`"}`)
	w.send("GET", "/api/v1/me", "", header("Authorization", "Bearer rcl_x\tlevel=ERROR"))
	w.send("POST", "/api/v1/dependencies/%0Alevel=ERROR/reset", "{}")
	for line := range strings.Lines(w.log.String()) {
		if !strings.HasPrefix(line, "time=") || strings.Contains(line, " level=ERROR ") && !strings.Contains(line, `\"all is lost\"`) {
			t.Errorf("line %q", line)
		}
	}
}

// A path that is written oddly reaches no other operation.
func TestOddPaths(t *testing.T) {
	w := newWhole(t)
	for _, path := range []string{
		"/api/v1/dependencies/..%2Ftokens", "/api/v1/dependencies/hotel-1%2Foverride", "/api/v1/dependencies/%00", "/api/v1/dependencies/hotel-1%0d%0aX-Evil:%201",
	} {
		got := w.send("GET", path, "")
		if got.Code != http.StatusNotFound || got.Header().Get("X-Evil") != "" {
			t.Errorf("%s: %d %v", path, got.Code, got.Header())
		}
	}
	if got := w.send("GET", "/api/v1/dependencies/../tokens", ""); got.Code/100 != 3 {
		t.Errorf("a path with dots: %d, want a redirect to where it leads", got.Code)
	}
}
