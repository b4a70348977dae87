package admin

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

const batchPath = "/api/v1/overrides/batch"

func (a BatchAnswer) String() string {
	var lines []string
	for _, l := range a.Dependencies {
		lines = append(lines, fmt.Sprintf("%s: %s -> %s, %s", l.ID, l.From, l.To, l.Result))
	}
	return strings.Join(lines, "; ")
}

func TestBatch(t *testing.T) {
	w := newWhole(t)
	w.trip("hotel-3")
	const body = `{"selector":{"labels":{"region":"north"}},"mode":"isolated","for":"1h","reason":"the line is mended","by":"ines","dry_run":%v}`
	var dry, done BatchAnswer
	w.want(http.StatusOK, &dry, "POST", batchPath, fmt.Sprintf(body, true))
	if want := "hotel-1: closed -> isolated, would be done; hotel-3: open -> isolated, would be done"; dry.String() != want || !dry.DryRun || dry.Changed != 2 {
		t.Errorf("dry run %s, want %s", dry, want)
	}
	if s := w.breaker("hotel-1").Stats(); s.Override != nil || len(w.acts()) != 0 {
		t.Errorf("the dry run did something: %+v, %+v", s, w.acts())
	}
	w.want(http.StatusOK, &done, "POST", batchPath, fmt.Sprintf(body, false))
	if want := "hotel-1: closed -> isolated, done; hotel-3: open -> isolated, done"; done.String() != want || done.DryRun || done.Changed != 2 {
		t.Errorf("%s, want %s", done, want)
	}
	for _, line := range done.Dependencies {
		if s := w.breaker(line.ID).Stats(); s.State != recloser.Isolated || s.Seq != line.Version || s.Override.By != "ines" || line.Until == nil || line.Text == "" {
			t.Errorf("%s is %s at version %d by %+v; the answer says %+v", line.ID, s.State, s.Seq, s.Override, line)
		}
	}
	if overrides, err := w.options.History.Overrides(t.Context()); err != nil || len(overrides) != 2 {
		t.Errorf("written down: %+v, %v", overrides, err)
	}
	acts := w.acts()
	if len(acts) != 1 || acts[0].Name != "batch isolated" || acts[0].Target != "hotel-1, hotel-3" || newAct(acts[0]).Of[1] != "hotel-3" {
		t.Errorf("audit %+v", acts)
	}

	var released BatchAnswer
	w.want(http.StatusOK, &released, "POST", batchPath, `{"selector":{"group":"*"},"mode":"release","reason":"done"}`)
	want := "hotel-1: isolated -> half-open, done; hotel-2: closed -> closed, nothing to do; hotel-3: isolated -> half-open, done; bank: closed -> closed, nothing to do"
	if released.String() != want || released.Changed != 2 {
		t.Errorf("%s, want %s", released, want)
	}
	if overrides, err := w.options.History.Overrides(t.Context()); err != nil || len(overrides) != 0 {
		t.Errorf("left over: %+v, %v", overrides, err)
	}
}

func TestBatchSelectors(t *testing.T) {
	w := newWhole(t)
	w.trip("hotel-2")
	for selector, want := range map[string]string{
		`{"group":"coast"}`:                                  "hotel-1 hotel-2",
		`{"group":"*"}`:                                      "hotel-1 hotel-2 hotel-3 bank",
		`{"ids":["bank","hotel-1"]}`:                         "hotel-1 bank",
		`{"ids":["bank","bank"]}`:                            "bank",
		`{"labels":{"region":"north"}}`:                      "hotel-1 hotel-3",
		`{"group":"coast","labels":{"region":"north"}}`:      "hotel-1",
		`{"labels":{"region":"north","colour":"red"}}`:       "",
		`{"state":"open"}`:                                   "hotel-2",
		`{"ids":["hotel-1"],"state":"open"}`:                 "",
		`{"ids":["hotel-2"],"group":"coast","state":"open"}`: "hotel-2",
	} {
		var a BatchAnswer
		w.want(http.StatusOK, &a, "POST", batchPath, `{"selector":`+selector+`,"mode":"held-closed","no_expiry":true,"reason":"x","dry_run":true}`)
		var ids []string
		for _, l := range a.Dependencies {
			ids = append(ids, l.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s fits %q, want %q", selector, got, want)
		}
	}
}

// All or nothing: whatever is wrong with one, none is touched.
func TestBatchIsAllOrNothing(t *testing.T) {
	w := newWhole(t)
	for _, tt := range []struct {
		name, body string
		status     int
		detail     string
	}{
		{"one is unknown", `{"selector":{"ids":["hotel-1","hotl-2"]},"mode":"isolated","no_expiry":true,"reason":"x"}`, 404, `did you mean "hotel-2"`},
		{"one has another version", `{"selector":{"group":"coast"},"mode":"isolated","no_expiry":true,"reason":"x","if_versions":{"hotel-1":0,"hotel-2":7}}`, 409, "hotel-2 has changed"},
		{"a version of none", `{"selector":{"group":"coast"},"mode":"isolated","no_expiry":true,"reason":"x","if_versions":{"hotel-3":0}}`, 409, "does not fit"},
		{"no selector", `{"selector":{},"mode":"isolated","no_expiry":true,"reason":"x"}`, 422, "validation failed"},
		{"no end", `{"selector":{"group":"*"},"mode":"isolated","reason":"x"}`, 422, "validation failed"},
		{"a release with an end", `{"selector":{"group":"*"},"mode":"release","for":"1h","reason":"x"}`, 422, "validation failed"},
		{"a past end", `{"selector":{"group":"*"},"mode":"isolated","until":"2001-01-01T00:00:00Z","reason":"x"}`, 422, "validation failed"},
		{"no reason", `{"selector":{"group":"*"},"mode":"isolated","no_expiry":true}`, 422, "validation failed"},
		{"two lines", `{"selector":{"group":"*"},"mode":"isolated","no_expiry":true,"reason":"a\nb"}`, 422, "validation failed"},
		{"unknown mode", `{"selector":{"group":"*"},"mode":"open","no_expiry":true,"reason":"a"}`, 422, "validation failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.t = t
			w.wantProblem(tt.status, tt.detail, "POST", batchPath, tt.body)
		})
	}
	w.t = t
	for _, d := range w.list.All() {
		if s := d.Breaker.Stats(); s.Seq != 0 {
			t.Errorf("%s was changed: %+v", d.ID, s)
		}
	}
	if acts := w.acts(); len(acts) != 0 {
		t.Errorf("audit %+v", acts)
	}
	var a BatchAnswer
	w.want(http.StatusOK, &a, "POST", batchPath, `{"selector":{"group":"coast"},"mode":"isolated","no_expiry":true,"reason":"x","if_versions":{"hotel-1":0}}`)
	if a.Changed != 2 {
		t.Errorf("%s", a)
	}
}

// The audit of a very long one stays readable, and names them all.
func TestBatchOfMany(t *testing.T) {
	w := newWhole(t)
	for i := range 10 {
		w.want(http.StatusCreated, new(Dependency), "POST", "/api/v1/dependencies",
			fmt.Sprintf(`{"id":"extra-%d","definition":{"url":"https://192.0.2.9","group":"extra"}}`, i))
	}
	w.want(http.StatusOK, new(BatchAnswer), "POST", batchPath, `{"selector":{"group":"extra"},"mode":"isolated","no_expiry":true,"reason":"x"}`)
	acts, err := w.options.History.Acts(t.Context(), history.ActQuery{Name: "batch isolated"})
	if err != nil || len(acts) != 1 || acts[0].Target != "10 dependencies" || len(newAct(acts[0]).Of) != 10 {
		t.Errorf("%+v, %v", acts, err)
	}
}

// A group that there is not is a mistake, and no selection of nobody.
func TestBatchOfNoGroup(t *testing.T) {
	w := newWhole(t)
	for _, dry := range []bool{true, false} {
		got := w.send("POST", batchPath, fmt.Sprintf(`{"selector":{"group":"inland"},"mode":"isolated","for":"1h","reason":"x","dry_run":%v}`, dry))
		if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "there is no such group") {
			t.Errorf("dry run %v: %d %s", dry, got.Code, got.Body)
		}
	}
}
