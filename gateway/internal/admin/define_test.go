package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

const dependenciesPath = "/api/v1/dependencies"

func TestDependencyComesAndGoes(t *testing.T) {
	w := newWhole(t)
	var d Dependency
	w.want(http.StatusCreated, &d, "POST", dependenciesPath,
		`{"id":"hotel-9","definition":{"url":"https://192.0.2.9/v1","group":"coast","breaker":{"slow_call":"800ms","consecutive":3}},"reason":"new partner","by":"ines"}`)
	if d.Origin != "api" || d.DefinitionVersion != 1 || d.Group != "coast" || *d.Limits.SlowCallMS != 800 || d.State != "closed" {
		t.Errorf("%+v", d)
	}
	w.trip("hotel-1") // of the file: it is not touched by what follows
	w.calls("hotel-9", 3, errDown)
	if s := w.breaker("hotel-9").State(); s != recloser.Open {
		t.Fatalf("hotel-9 is %s", s)
	}

	w.want(http.StatusOK, &d, "PATCH", dependenciesPath+"/hotel-9", `{"definition":{"name":"Nine","group":null,"breaker":{"slow_call":"1s"}},"if_version":1}`)
	if d.Name != "Nine" || d.Group != "" || *d.Limits.SlowCallMS != 1000 || *d.Limits.Consecutive != 3 || d.State != "open" || d.DefinitionVersion != 2 {
		t.Errorf("changed: %+v", d)
	}
	w.wantProblem(http.StatusConflict, "version 2, not 1", "PATCH", dependenciesPath+"/hotel-9", `{"definition":{},"if_version":1}`)
	w.wantProblem(http.StatusConflict, "version 2, not 1", "DELETE", dependenciesPath+"/hotel-9?if_version=1", "")

	var given Definition
	w.want(http.StatusOK, &given, "GET", dependenciesPath+"/hotel-9/definition", "")
	want := map[string]any{"url": "https://192.0.2.9/v1", "name": "Nine", "breaker": map[string]any{"slow_call": "1s", "consecutive": 3.0}}
	if !reflect.DeepEqual(given.Definition, want) || given.Version != 2 {
		t.Errorf("definition %+v, want %+v", given, want)
	}

	if got := w.send("DELETE", dependenciesPath+"/hotel-9?reason=over&by=ines", ""); got.Code != http.StatusNoContent {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	w.wantProblem(http.StatusNotFound, "no dependency", "GET", dependenciesPath+"/hotel-9", "")
	if kept, err := w.options.History.Dependencies(t.Context()); err != nil || len(kept) != 0 {
		t.Errorf("kept %+v, %v", kept, err)
	}
	for i, name := range []string{"remove dependency", "change dependency", "add dependency"} {
		if a := w.acts()[i]; a.Name != name || a.Target != "hotel-9" {
			t.Errorf("audit %d: %+v, want %s", i, a, name)
		}
	}
	for _, text := range []string{"hotel-9 was added at run time", "hotel-9 was changed", "hotel-9 was removed"} {
		if !strings.Contains(w.said(), text) {
			t.Errorf("no event says %q", text)
		}
	}
	if s := w.breaker("hotel-1").State(); s != recloser.Open {
		t.Errorf("hotel-1 is %s", s)
	}
}

// What was added is on disk as it was given, so that a restart adds it again.
func TestDefinitionIsWrittenDown(t *testing.T) {
	w := newWhole(t)
	w.want(http.StatusCreated, new(Dependency), "POST", dependenciesPath, `{"id":"hotel-9","definition":{"url":"https://192.0.2.9","bulkhead":200000}}`)
	kept, err := w.options.History.Dependencies(t.Context())
	if err != nil || len(kept) != 1 || kept[0].ID != "hotel-9" {
		t.Fatalf("%+v, %v", kept, err)
	}
	c, err := w.options.Config().Dependency(kept[0].ID, kept[0].Definition)
	if err != nil || c.URL.Host != "192.0.2.9" || c.Bulkhead != 200000 || c.Timeout.Seconds() != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	// A number stays what it was, through a change too.
	w.want(http.StatusOK, new(Dependency), "PATCH", dependenciesPath+"/hotel-9", `{"definition":{"name":"Nine"}}`)
	kept, _ = w.options.History.Dependencies(t.Context())
	if !strings.Contains(string(kept[0].Definition), "200000") {
		t.Errorf("kept %s", kept[0].Definition)
	}
}

func TestDependenciesOfTheFile(t *testing.T) {
	w := newWhole(t)
	const text = "defined in recloser.yaml: change it there, then reload"
	w.wantProblem(http.StatusConflict, text, "POST", dependenciesPath, `{"id":"hotel-1","definition":{"url":"https://192.0.2.9"}}`)
	w.wantProblem(http.StatusConflict, text, "PATCH", dependenciesPath+"/hotel-1", `{"definition":{"name":"x"}}`)
	w.wantProblem(http.StatusConflict, text, "DELETE", dependenciesPath+"/hotel-1", "")
	w.wantProblem(http.StatusNotFound, text, "GET", dependenciesPath+"/hotel-1/definition", "")
	w.want(http.StatusCreated, new(Dependency), "POST", dependenciesPath, `{"id":"hotel-9","definition":{"url":"https://192.0.2.9"}}`)
	w.wantProblem(http.StatusConflict, "there already", "POST", dependenciesPath, `{"id":"hotel-9","definition":{"url":"https://192.0.2.9"}}`)
	if n := len(w.acts()); n != 1 {
		t.Errorf("%d acts, want the one that was done", n)
	}
}

func TestBadDefinitions(t *testing.T) {
	w := newWhole(t)
	for name, tt := range map[string]struct{ body, text string }{
		"no url":            {`{"id":"x","definition":{"group":"coast"}}`, "url"},
		"an unknown key":    {`{"id":"x","definition":{"url":"https://192.0.2.9","tiemout":"2s"}}`, `"timeout"`},
		"a wrong unit":      {`{"id":"x","definition":{"url":"https://192.0.2.9","timeout":"2"}}`, "timeout"},
		"an odd id":         {`{"id":"../x","definition":{"url":"https://192.0.2.9"}}`, "id"},
		"a file":            {`{"id":"x","definition":{"url":"file:///etc/passwd"}}`, "http"},
		"no host":           {`{"id":"x","definition":{"url":"http:///x"}}`, "host"},
		"a password":        {`{"id":"x","definition":{"url":"https://guest:s3cret@192.0.2.9"}}`, "password"},
		"two dependencies":  {`{"id":"x","definition":{"x":{"url":"https://192.0.2.9"}}}`, "x"},
		"a limit too high":  {`{"id":"x","definition":{"url":"https://192.0.2.9","breaker":{"failure_rate":"200%"}}}`, "failure_rate"},
		"a list":            {`{"id":"x","definition":[]}`, ""},
		"a definition less": {`{"id":"x"}`, ""},
	} {
		got := w.send("POST", dependenciesPath, tt.body)
		if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), strings.ReplaceAll(tt.text, `"`, `\"`)) || strings.Contains(got.Body.String(), "s3cret") {
			t.Errorf("%s: %d %s, want 422 with %s", name, got.Code, got.Body, tt.text)
		}
	}
	if len(w.list.All()) != 4 || len(w.acts()) != 0 {
		t.Errorf("%d dependencies, acts %+v", len(w.list.All()), w.acts())
	}
	bare := newBench(t)
	bare.wantProblem(http.StatusNotImplemented, "has no", "POST", dependenciesPath, `{"id":"x","definition":{"url":"https://192.0.2.9"}}`)
}

// Nobody makes the gateway ask the machine's own services, whatever way the
// address is written.
func TestTargets(t *testing.T) {
	w := newWhole(t)
	for _, url := range []string{
		"http://169.254.169.254/latest/meta-data/",
		"http://169.254.0.1",
		"http://[fe80::1]/",
		"http://[fe80::1%25eth0]/",
		"http://[fd00:ec2::254]/",
		"http://100.100.100.200/",
		"http://[::ffff:169.254.169.254]/",
		"http://[::ffff:a9fe:a9fe]/",
		"http://[64:ff9b::a9fe:a9fe]/",
		"http://2852039166/",
		"http://0xa9fea9fe/",
		"http://0251.0376.0251.0376/",
		"http://169.254.43518/",
		"http://metadata.google.internal/computeMetadata/v1/",
		"http://METADATA.google.internal./",
		"http://metadata/",
		"http://127.0.0.1:8081/",
		"http://localhost:8081/",
		"http://localhost.:8081/",
		"http://[::1]:8080/",
		"http://0.0.0.0:8080/",
		"ftp://192.0.2.9/",
		"gopher://192.0.2.9/",
	} {
		body, err := json.Marshal(map[string]any{"id": "x", "definition": map[string]any{"url": url}})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.send("POST", dependenciesPath, string(body)); got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", url, got.Code, got.Body)
			w.send("DELETE", dependenciesPath+"/x", "")
		}
	}
	for _, url := range []string{"http://127.0.0.1:9000/", "http://10.0.0.7", "https://192.0.2.9:8081", "http://[2001:db8::7]:8080/"} {
		body, _ := json.Marshal(map[string]any{"id": "x", "definition": map[string]any{"url": url}})
		if got := w.send("POST", dependenciesPath, string(body)); got.Code != http.StatusCreated {
			t.Errorf("%s: %d %s", url, got.Code, got.Body)
		}
		w.send("DELETE", dependenciesPath+"/x", "")
	}
}

// Nor by a name that leads there. One that leads nowhere yet may be added.
func TestNamesAreLookedUp(t *testing.T) {
	w := newWhole(t)
	a := w.api()
	a.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		switch host {
		case "rebound.example":
			return []netip.Addr{netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("::ffff:169.254.169.254")}, nil
		case "own.example":
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		case "good.example":
			return []netip.Addr{netip.MustParseAddr("192.0.2.9")}, nil
		}
		return nil, errors.New("no such host")
	}
	for text, want := range map[string]string{
		"http://rebound.example":   "169.254.169.254",
		"http://own.example:8080":  "where the gateway itself listens",
		"http://own.example:9000":  "",
		"http://good.example":      "",
		"http://good.example:8080": "",
		"http://later.example":     "",
		"http://metadata.goog":     "metadata service",
	} {
		if err := a.checkTarget(t.Context(), parsed(t, text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The file says which of them are meant.
func TestAllowedTargets(t *testing.T) {
	w := newWhole(t)
	w.options.Config().Admin.AllowTargets = []netip.Prefix{netip.MustParsePrefix("169.254.10.0/24")}
	for url, want := range map[string]int{"http://169.254.10.7": http.StatusCreated, "http://169.254.11.7": http.StatusUnprocessableEntity} {
		if got := w.send("POST", dependenciesPath, `{"id":"x","definition":{"url":"`+url+`"}}`); got.Code != want {
			t.Errorf("%s: %d %s", url, got.Code, got.Body)
		}
		w.send("DELETE", dependenciesPath+"/x", "")
	}
}

// The addresses of this machine's own network cards are its own too.
func TestOwnListenerByAnotherAddress(t *testing.T) {
	w := newWhole(t)
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || p.Addr().IsLinkLocalUnicast() {
			continue
		}
		url := "http://" + netip.AddrPortFrom(p.Addr().WithZone(""), 8080).String()
		if got := w.send("POST", dependenciesPath, `{"id":"x","definition":{"url":"`+url+`"}}`); got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", url, got.Code)
			w.send("DELETE", dependenciesPath+"/x", "")
		}
	}
}

func TestMerge(t *testing.T) {
	for _, tt := range []struct{ old, patch, want string }{ // of RFC 7396, appendix A
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":"foo"}`, `{"a":{"b":{"c":null}}}`, `{"a":{"b":{}}}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
	} {
		read := func(s string) (m map[string]any) {
			if err := json.Unmarshal([]byte(s), &m); err != nil {
				t.Fatal(err)
			}
			return m
		}
		old := read(tt.old)
		if got := merge(old, read(tt.patch)); !reflect.DeepEqual(got, read(tt.want)) || !reflect.DeepEqual(old, read(tt.old)) {
			t.Errorf("%s and %s: %v, want %s; old is %v", tt.old, tt.patch, got, tt.want, old)
		}
	}
}

func TestRunTimeDependenciesAreBounded(t *testing.T) {
	w := newWhole(t)
	url := w.list.All()[0].URL
	for i := range mostRunTime {
		if _, err := w.list.Put(config.Dependency{ID: "extra-" + string(rune('a'+i)), URL: url, Timeout: time.Second, AttemptTimeout: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	w.wantProblem(http.StatusConflict, "more are not possible", "POST", dependenciesPath, `{"id":"x","definition":{"url":"https://192.0.2.9"}}`)
}
