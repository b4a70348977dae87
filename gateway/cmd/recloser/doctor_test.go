package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// diagnose runs the doctor on a config and returns what it found, by what about.
func diagnose(t *testing.T, cfg string) (code int, found map[string]finding) {
	t.Helper()
	r := run(t, "doctor", "-c", writeConfig(t, cfg), "-o", "json")
	var all struct{ Findings []finding }
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	found = map[string]finding{}
	for _, f := range all.Findings {
		found[f.What] = f
	}
	return r.code, found
}

func TestDoctor(t *testing.T) {
	isolate(t)
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer good.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	untrusted := httptest.NewUnstartedServer(nil)
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	dir := t.TempDir()

	code, found := diagnose(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
storage: %s
dependencies:
  well: { url: "%s/v1", probe: { path: /ping?deep=1 } }
  plain: { url: %q }
  ill: { url: "%[2]s/v1", probe: { path: /broken } }
  down: { url: %[4]q }
  unknown: { url: "http://no-such-host.invalid" }
  strange: { url: %[5]q }
routes: [ { path: "/{dependency}/*" } ]
alerts:
  teams: [ { name: operators, url: "https://no-such-host.invalid/s3cret" } ]
traces: { endpoint: %[4]q, headers: { Authorization: s3cret } }
`, filepath.Join(dir, "r.db"), good.URL, good.URL, closed.URL, untrusted.URL))
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	for what, want := range map[string]string{
		"config":             `ok .*recloser.yaml: 6 dependencies, 1 route`,
		"clock":              `ok .* evenly`,
		"storage":            `ok .*r.db can be written`,
		"listen":             `ok 127.0.0.1:0 is free`,
		"admin.listen":       `ok 127.0.0.1:0 is free`,
		"dependency well":    `ok 127.0.0.1:\d+: connected in \d+ ms, probe 200 in \d+ ms`,
		"dependency plain":   `ok 127.0.0.1:\d+: connected in \d+ ms$`,
		"dependency ill":     `warn .*but the probe /broken is answered with 500 \(see why`,
		"dependency down":    `fail 127.0.0.1:\d+ .*connection refused \(see that it is up`,
		"dependency unknown": `fail the name no-such-host.invalid has no address .*\(correct its url`,
		"dependency strange": `fail 127.0.0.1: TLS fails: .*unknown authority \(renew`,
		"traces":             `fail 127.0.0.1:\d+ .*connection refused`,
		"webhook operators":  `fail the name no-such-host.invalid has no address`,
	} {
		f := found[what]
		text := fmt.Sprintf("%s %s (%s)", f.Status, f.Found, f.Do)
		if f.Do == "" {
			text = f.Status + " " + f.Found
		}
		if !regexp.MustCompile("^" + want).MatchString(text) {
			t.Errorf("%s: %s\nwant %s", what, text, want)
		}
		if strings.Contains(text, "s3cret") {
			t.Errorf("%s shows a secret: %s", what, text)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v: it left %v", err, left)
	}
}

// Dependencies that were added at run time are looked at too: as the storage has them,
// beside a gateway that runs or not, or else as the gateway tells. Nothing is left behind.
func TestDoctorSeesWhatWasAdded(t *testing.T) {
	isolate(t)
	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer hotel.Close()
	dir := t.TempDir()
	listing := func() (names []string) {
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			names = append(names, f.Name())
		}
		return names
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := socket.Addr().String()
	_ = socket.Close()
	for _, storage := range []string{filepath.Join(dir, "r.db"), "off"} {
		file := fmt.Sprintf("listen: '127.0.0.1:0'\nadmin: { listen: %q }\nstorage: %s\ndependencies: { a: { url: %q } }\nroutes: [ { path: '/{dependency}/*' } ]\n", free, storage, hotel.URL)
		g, _, admin := startGateway(t, file)
		t.Setenv("RECLOSER_SERVER", admin)
		for _, add := range [][]string{{"cove", "url=" + hotel.URL, "probe.path=/broken"}, {"gone", "url=http://no-such-host.invalid"}} {
			if r := run(t, append([]string{"dependency", "add"}, add...)...); r.code != exitGood {
				t.Fatalf("%+v", r)
			}
		}
		t.Setenv("RECLOSER_SERVER", "")
		stored := storage != "off"
		from := map[bool]string{true: storage, false: "the gateway at " + admin}[stored]
		look := func() (found map[string]finding) {
			t.Helper()
			before := listing()
			code, found := diagnose(t, file)
			if after := listing(); !slices.Equal(before, after) {
				t.Errorf("storage %s: the doctor made %v of %v", storage, after, before)
			}
			if f := found["dependency gone"]; code != exitFailed || f.Status != fails || f.From != from {
				t.Errorf("storage %s: exit code %d, %+v", storage, code, f)
			}
			return found
		}
		found := look()
		if f := found["dependency a"]; f.Status != works || !strings.HasSuffix(f.From, "recloser.yaml") {
			t.Errorf("of the file: %+v", f)
		}
		if f := found["dependency cove"]; f.From != from || stored && !strings.Contains(f.Found, "the probe /broken is answered with 500") || !stored && f.Status != works {
			t.Errorf("storage %s: %+v", storage, f)
		}
		r := run(t, "doctor", "-c", writeConfig(t, file))
		if !strings.Contains(r.stdout, "; added at run time, by "+from) || strings.Count(r.stdout, "added at run time") != 2 {
			t.Errorf("storage %s: %s", storage, r.stdout)
		}
		g.signal(os.Interrupt)
		g.wait()
		if stored {
			look()
		} else if _, found := diagnose(t, file); found["dependency cove"].What != "" || found["dependencies"].What != "" {
			t.Errorf("without a gateway nothing is kept: %+v", found)
		}
	}
}

// What does not make sense any more is said, what the file has taken over is its own, and
// what cannot be found out is no reason to be silent.
func TestDoctorOfWhatWasAdded(t *testing.T) {
	isolate(t)
	db := filepath.Join(t.TempDir(), "r.db")
	h := history.Open(history.Options{Path: db})
	err := h.Commit(t.Context(), history.Act{},
		history.PutDependency("old", []byte(`{"url": "http://127.0.0.1:1", "colour": "blue"}`)),
		history.PutDependency("a", []byte(`{"url": "http://127.0.0.1:1"}`)))
	if err = errors.Join(err, h.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	here := httptest.NewServer(nil)
	defer here.Close()
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"status": 401, "detail": "sign in"}`))
	}))
	defer stranger.Close()
	file := "listen: '127.0.0.1:0'\nadmin: { listen: '127.0.0.1:0', url: %q }\nstorage: %s\ndependencies: { a: { url: %q } }\nroutes: [ { path: '/{dependency}/*' } ]\n"
	_, found := diagnose(t, fmt.Sprintf(file, stranger.URL, db, here.URL))
	if f := found["dependency old"]; f.Status != fails || !strings.Contains(f.Found, `unknown key "colour"`) || f.From != db {
		t.Errorf("%+v", f)
	}
	if f := found["dependency a"]; f.Status != works || f.From == db {
		t.Errorf("of the file: %+v", f)
	}
	broken := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(broken, []byte("Buy milk, and more of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, storage := range []string{broken, "off"} {
		_, found = diagnose(t, fmt.Sprintf(file, stranger.URL, storage, here.URL))
		if f := found["dependencies"]; f.Status != warns || !strings.Contains(f.Found, "is not known") || !strings.Contains(f.Do, "RECLOSER_TOKEN") {
			t.Errorf("storage %s: %+v", storage, f)
		}
	}
}

// All is well: exit code 0, and a line for each thing.
func TestDoctorIsContent(t *testing.T) {
	isolate(t)
	here := httptest.NewServer(nil)
	defer here.Close()
	file := writeConfig(t, fmt.Sprintf("listen: '127.0.0.1:0'\nadmin: { listen: '127.0.0.1:0' }\ndependencies: { a: { url: %q } }\nroutes: [ { path: '/*', dependency: a } ]\n", here.URL))
	r := run(t, "doctor", "-c", file)
	if r.code != exitGood || r.stderr != "" {
		t.Errorf("%+v", r)
	}
	for _, line := range strings.Split(strings.TrimSpace(r.stdout), "\n")[1:] {
		if !regexp.MustCompile(`^(ok|warn) {2,}[a-z. ]+ {2,}\S`).MatchString(line) {
			t.Errorf("what is that? %s", line)
		}
	}
	if r := run(t, "doctor", "-c", "/nowhere.yaml"); r.code != exitBadConfig {
		t.Errorf("%+v", r)
	}
}

func TestDoctorStorage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for path, want := range map[string]finding{
		"":                           {Status: warns, Found: "off"},
		filepath.Join(dir, "new.db"): {Status: works, Found: "can be written"},
		write("is.db", "SQLite format 3\x00…", 0o600):         {Status: works, Found: "can be written"},
		write("empty.db", "", 0o600):                          {Status: works, Found: "can be written"},
		write("notes.txt", "Buy milk, and more of it", 0o600): {Status: fails, Found: "is no SQLite file"},
		write("short.txt", "milk", 0o600):                     {Status: fails, Found: "is no SQLite file"},
		"/nowhere/at/all.db":                                  {Status: fails, Found: "no such file or directory"},
		dir:                                                   {Status: fails, Found: "is a directory"},
		"/proc/recloser.db":                                   {Status: fails, Found: "/proc"},
	} {
		f := examineStorage(path)[0]
		if f.Status != want.Status || !strings.Contains(f.Found, want.Found) || f.What != "storage" {
			t.Errorf("%q: %+v, want %+v", path, f, want)
		}
		if (f.Status == works) != (f.Do == "") {
			t.Errorf("%q: %+v", path, f)
		}
	}
}

// An address that a gateway holds is good: it is the one that runs.
func TestDoctorListeners(t *testing.T) {
	isolate(t)
	_, calls, admin := startGateway(t, deadConfig)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer other.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	host := func(u string) string { return strings.TrimPrefix(u, "http://") }
	c := &config.Config{Listen: host(calls), Admin: config.Admin{Listen: host(admin)}}
	for _, f := range examineListeners(t.Context(), c) {
		if f.Status != works || !strings.Contains(f.Found, "taken by a gateway that runs") {
			t.Errorf("%+v", f)
		}
	}
	c = &config.Config{Listen: host(other.URL), Admin: config.Admin{Listen: silent.Addr().String()}}
	for _, f := range examineListeners(t.Context(), c) {
		if f.Status != fails || !strings.Contains(f.Found, "taken by another program") {
			t.Errorf("%+v", f)
		}
	}
	signIn := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="recloser"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	signIn.Config.ErrorLog = log.New(io.Discard, "", 0)
	signIn.StartTLS()
	defer signIn.Close()
	c = &config.Config{Listen: host(other.URL), Admin: config.Admin{Listen: signIn.Listener.Addr().String(), TLS: &config.TLS{}}}
	for _, tls := range []*config.TLS{{}, nil} { // as it runs, and as it did before the file was changed
		c.Admin.TLS = tls
		if f := examineListeners(t.Context(), c)[1]; f.Status != works || !strings.Contains(f.Found, "taken by a gateway that runs") {
			t.Errorf("with a certificate of its own, and sign_in: %+v", f)
		}
	}
	c = &config.Config{Listen: "192.0.2.1:1", Admin: config.Admin{Listen: "127.0.0.1:0"}} // no address of any machine
	if f := examineListeners(t.Context(), c)[0]; f.Status != fails || !strings.Contains(f.Found, "192.0.2.1") || strings.Contains(f.Found, "taken") {
		t.Errorf("%+v", f)
	}
}

// A probe that takes longer than its timeout is a warning: real calls may do well.
func TestDoctorProbeTakesLong(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer server.Close()
	defer close(over)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := examineTarget(t.Context(), "dependency a", u, &config.Probe{Path: "/ping", Timeout: 20 * time.Millisecond})
	if f.Status != warns || !strings.Contains(f.Found, "the probe /ping takes over 20 ms") {
		t.Errorf("%+v", f)
	}
}

func TestDoctorOpenFiles(t *testing.T) {
	limit, known := openFiles()
	if !known {
		t.Fatal("the limit cannot be read")
	}
	few := &config.Config{Limits: config.Limits{InFlight: 1}}
	many := &config.Config{Limits: config.Limits{InFlight: int(min(limit, 1<<40))}}
	if f := examineFiles(few)[0]; f.Status != works {
		t.Errorf("%+v", f)
	}
	if f := examineFiles(many)[0]; f.Status != warns || !strings.Contains(f.Do, "limits.in_flight") {
		t.Errorf("%+v", f)
	}
}

// What serve would not start with is found before: no certificate, one that is none,
// and no right to read the key.
func TestCheckAndDoctorReadCertificates(t *testing.T) {
	isolate(t)
	files := newCertificate(t, t.TempDir(), 1)
	cert, key := files.cert(), files.key()
	for _, c := range []struct{ cert, key, want string }{
		{cert, key, ""},
		{"/nowhere/cert.pem", key, "/nowhere/cert.pem: no such file or directory; create it, correct the path"},
		{"/nowhere/cert.pem", "/nowhere/key.pem", "/nowhere/key.pem: no such file or directory; create it, correct the path"},
		{key, key, "both must be PEM and belong together"},
	} {
		for _, at := range []string{"tls: %s", "admin: { tls: %s }"} {
			file := fmt.Sprintf("storage: off\nlisten: \"127.0.0.1:0\"\n"+at+"\ndependencies: { a: { url: \"http://127.0.0.1:1\" } }\nroutes: [ { path: \"/{dependency}/*\" } ]\n",
				fmt.Sprintf("{ cert: %q, key: %q }", c.cert, c.key))
			setting, _, _ := strings.Cut(strings.ReplaceAll(at, "admin: { tls", "admin.tls"), ":")
			r := run(t, "check", writeConfig(t, file))
			_, found := diagnose(t, file)
			if c.want == "" {
				if r.code != exitGood || found[setting].Status != warns || !strings.Contains(found[setting].Found, "the certificate ends in") {
					t.Errorf("%s: check %+v, doctor %+v", setting, r, found[setting])
				}
				continue
			}
			if r.code != exitBadConfig || !strings.Contains(r.stderr, setting+": certificate") || !strings.Contains(r.stderr, c.want) {
				t.Errorf("%s with %s: check %+v", setting, c.cert, r)
			}
			if found[setting].Status != fails || !strings.Contains(found[setting].Found, c.want) {
				t.Errorf("%s with %s: doctor %+v", setting, c.cert, found[setting])
			}
		}
	}
}
