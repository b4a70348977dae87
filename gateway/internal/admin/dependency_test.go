package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The whole JSON of an open dependency, one that is as it was made and one with
// an override. The engine's own sentence stands in for itself, its wording is
// not this package's.
func TestListGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.calls("hotel-1", 5, nil)
		b.trip("hotel-1")
		if _, err := b.breaker("hotel-1").Allow(t.Context()); err == nil {
			t.Fatal("the open breaker let a call through")
		}
		if err := b.breaker("bank").HoldClosed("ines", "we know", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		var list struct{ Dependencies []Dependency }
		b.want(http.StatusOK, &list, "GET", "/api/v1/dependencies", "")
		for i, d := range b.list.All() {
			if got, want := list.Dependencies[i].Explain, d.Breaker.Explain(); got != want {
				t.Errorf("%s: explain %q, want %q", d.ID, got, want)
			}
		}
		body := b.send("GET", "/api/v1/dependencies", "").Body.Bytes()
		for _, d := range b.list.All() {
			sentence, err := json.Marshal(d.Breaker.Explain())
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.ReplaceAll(body, sentence, []byte(`"(a sentence)"`))
		}
		compareGolden(t, body, "dependencies.json")
	})
}

func TestGetIsTheListsEntry(t *testing.T) {
	b := newBench(t)
	var list struct{ Dependencies []json.RawMessage }
	b.want(http.StatusOK, &list, "GET", "/api/v1/dependencies", "")
	for i, id := range []string{"hotel-1", "hotel-2", "bank"} {
		got := bytes.TrimSpace(b.send("GET", "/api/v1/dependencies/"+id, "").Body.Bytes())
		if !bytes.Equal(got, list.Dependencies[i]) {
			t.Errorf("%s: %s\nin the list: %s", id, got, list.Dependencies[i])
		}
	}
}

func TestNoDependenciesIsAnEmptyList(t *testing.T) {
	b := newBenchOf(t)
	if got := strings.TrimSpace(b.send("GET", "/api/v1/dependencies", "").Body.String()); got != `{"dependencies":[]}` {
		t.Error(got)
	}
	b.wantProblem(http.StatusNotFound, "there are none", "GET", "/api/v1/dependencies/hotel-1", "")
}

// No URL of a config has one; but then nothing else stands before this.
func TestPasswordOfTheURLIsMasked(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/api/v1/dependencies", "/api/v1/dependencies/hotel-1", "/metrics"} {
		body := b.send("GET", path, "").Body.String()
		if strings.Contains(body, "s3cret") {
			t.Errorf("%s shows the password of a URL", path)
		}
	}
	var d Dependency
	b.want(http.StatusOK, &d, "GET", "/api/v1/dependencies/hotel-1", "")
	if want := "https://guest:xxxxx@api.hotel-1.example/v1"; d.URL != want {
		t.Errorf("url %q, want %q", d.URL, want)
	}
}

func TestLongCauseIsCut(t *testing.T) {
	b := newBench(t)
	b.calls("hotel-1", 1, errors.New(strings.Repeat("ü", 300)))
	var d Dependency
	b.want(http.StatusOK, &d, "GET", "/api/v1/dependencies/hotel-1", "")
	if want := strings.Repeat("ü", 199) + "…"; d.Cause != want {
		t.Errorf("cause %q, want 199 letters and an ellipsis", d.Cause)
	}
}

func TestBadRatioOnceThereAreEnoughCalls(t *testing.T) {
	b := newBench(t)
	b.calls("hotel-1", 8, nil)
	b.calls("hotel-1", 1, errDown)
	var d Dependency
	b.want(http.StatusOK, &d, "GET", "/api/v1/dependencies/hotel-1", "")
	if d.Window.BadRatio != nil {
		t.Errorf("bad ratio %v of nine calls, want none below ten", *d.Window.BadRatio)
	}
	b.calls("hotel-1", 1, nil)
	b.want(http.StatusOK, &d, "GET", "/api/v1/dependencies/hotel-1", "")
	if d.Window.BadRatio == nil || *d.Window.BadRatio != 0.1 {
		t.Errorf("bad ratio %v of ten calls, want 0.1", d.Window.BadRatio)
	}
}

func TestOverdueCallsShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		permit, err := b.breaker("hotel-1").Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(3 * time.Second)
		var d Dependency
		b.want(http.StatusOK, &d, "GET", "/api/v1/dependencies/hotel-1", "")
		if d.InFlight != 1 || d.Overdue != 1 || d.Window.Slow != 1 {
			t.Errorf("in flight %d, overdue %d, slow %d; want 1 of each", d.InFlight, d.Overdue, d.Window.Slow)
		}
		permit.Done(nil)
	})
}

func TestUnknownDependency(t *testing.T) {
	b := newBench(t)
	b.wantProblem(http.StatusNotFound, `no dependency "hotl-1"; did you mean "hotel-1"?`, "GET", "/api/v1/dependencies/hotl-1", "")
	b.wantProblem(http.StatusNotFound, `no dependency "cinema"; known are bank, hotel-1, hotel-2`, "GET", "/api/v1/dependencies/cinema", "")
	for _, act := range []struct{ method, path, body string }{
		{"PUT", "/override", `{"mode":"isolated","no_expiry":true,"reason":"x"}`},
		{"DELETE", "/override", ""},
		{"POST", "/trial", "{}"},
		{"POST", "/reset", "{}"},
	} {
		b.wantProblem(http.StatusNotFound, "did you mean", act.method, "/api/v1/dependencies/hotel-3"+act.path, act.body)
	}
}

func compareGolden(t *testing.T, body []byte, name string) {
	t.Helper()
	var got bytes.Buffer
	if err := json.Indent(&got, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s is not what came:\n%s", file, got.String())
	}
}
