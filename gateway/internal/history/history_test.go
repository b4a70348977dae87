package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func isolated(id string) Override {
	return Override{Dependency: id, State: recloser.Isolated, By: "ops", Reason: "their database moves", Since: noon, Until: noon.Add(time.Hour)}
}

func savedClosed() recloser.Saved {
	return recloser.Saved{At: noon, State: recloser.Closed, Since: noon}
}

// what is all that is in force.
type what struct {
	Overrides    []Override
	Dependencies []Definition
	Maintenance  []maintenance.Window
	Tokens       []Token
	Breakers     []BreakerSave
}

func inForce(t *testing.T, h *History) (w what) {
	t.Helper()
	var errs [5]error
	ctx := t.Context()
	w.Overrides, errs[0] = h.Overrides(ctx)
	w.Dependencies, errs[1] = h.Dependencies(ctx)
	w.Maintenance, errs[2] = h.Maintenance(ctx)
	w.Tokens, errs[3] = h.Tokens(ctx)
	w.Breakers, errs[4] = h.Breakers(ctx)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return w
}

// G12: an isolation is there after a restart, with its end, who and why; and so
// is everything else.
func TestG12_EverythingSurvivesARestart(t *testing.T) {
	path := inFolder(t)
	h := openOn(t, path)
	save := recloser.Saved{At: noon, State: recloser.Open, Since: noon, Until: noon.Add(time.Minute), OpenFor: time.Minute, Step: 3, Seq: 7}
	want := what{
		Overrides:    []Override{isolated("hotel-1")},
		Dependencies: []Definition{{"hotel-9", []byte(`{"url": "https://hotel-9.example"}`)}},
		Maintenance:  []maintenance.Window{{ID: "m1", Name: "Tuesday", Dependencies: []string{"hotel-2"}, Effect: maintenance.CutOff}},
		Tokens:       []Token{{ID: "t1", Name: "cms", Role: "operator", Group: "coast", Hash: []byte{1, 2, 3}, Created: noon}},
		Breakers:     []BreakerSave{{ID: "hotel-1", Saved: save, Latency: []byte{7}}, {ID: "hotel-1", Key: "blue", Saved: save}},
	}
	act := Act{
		At: noon, Name: "isolate", Target: "hotel-1", By: "ops", Role: "operator", From: "10.0.0.1", Reason: "their database moves",
		Until: noon.Add(time.Hour), Result: "done", Key: "k1", Detail: json.RawMessage(`{"was":"closed"}`),
	}
	commit(t, h, act, SetOverride(want.Overrides[0]), PutDependency("hotel-9", want.Dependencies[0].Definition),
		PutMaintenance(want.Maintenance[0]), PutToken(want.Tokens[0]), Remembered("k1", []byte("request"), []byte("answer")))
	if err := h.SaveBreakers(t.Context(), want.Breakers); err != nil {
		t.Fatal(err)
	}
	commit(t, h, Act{}, SaveBreaker("hotel-1", save)) // leaves the latency
	h.Record(Event{Kind: KindTransition, Dependency: "hotel-1", Text: "isolated"})
	for _, when := range []string{"before", "after"} {
		if got := inForce(t, h); !reflect.DeepEqual(got, want) {
			t.Errorf("%s the restart:\n%+v, want\n%+v", when, got, want)
		}
		acts, err := h.Acts(t.Context(), ActQuery{})
		if err != nil || len(acts) != 1 {
			t.Fatalf("%s: %d acts, %v", when, len(acts), err)
		}
		act.ID = acts[0].ID
		if act.ID == 0 || !reflect.DeepEqual(acts[0], act) {
			t.Errorf("%s: act %+v, want %+v", when, acts[0], act)
		}
		if got := texts(t, h, EventQuery{Dependency: "hotel-1"}); !reflect.DeepEqual(got, []string{"isolated"}) {
			t.Errorf("%s: events %q", when, got)
		}
		if s := h.Status(); !s.OnDisk || s.Fault != "" || s.Lost != 0 || s.Path != path {
			t.Errorf("%s: %+v", when, s)
		}
		closed(t, h)
		h = openOn(t, path)
	}
	var full int
	if err := h.disk.w.QueryRowContext(t.Context(), `PRAGMA synchronous`).Scan(&full); err != nil || full != 2 {
		t.Errorf("an act is not on disk when it is acknowledged: synchronous %d %v", full, err)
	}
	mode, err := os.Stat(path)
	if err != nil || mode.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read hashes of tokens: %v %v", mode.Mode(), err)
	}
}

func TestDeletedDependencyTakesItsBelongingsAlong(t *testing.T) {
	path := inFolder(t)
	h := openOn(t, path)
	saves := []BreakerSave{{ID: "a", Latency: []byte{1}}, {ID: "a", Key: "blue"}, {ID: "ab"}}
	if err := h.SaveBreakers(t.Context(), saves); err != nil {
		t.Fatal(err)
	}
	commit(t, h, Act{}, PutDependency("a", []byte("{}")), PutDependency("ab", []byte("{}")), SetOverride(isolated("a")), SetOverride(isolated("ab")))
	commit(t, h, Act{Name: "delete"}, DeleteDependency("a"))
	closed(t, h)
	h = openOn(t, path)
	want := what{Overrides: []Override{isolated("ab")}, Dependencies: []Definition{{"ab", []byte("{}")}}, Breakers: []BreakerSave{{ID: "ab"}}}
	if got := inForce(t, h); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestReplay(t *testing.T) {
	clock := newHand(noon)
	h := openOn(t, inFolder(t), func(o *Options) { o.Now = clock.now })
	if err := h.Remember(t.Context(), "k", []byte("request"), []byte("answer")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key, request, want string
		after              time.Duration
		err                error
	}{
		{key: "k", request: "request", want: "answer"},
		{key: "k", request: "another", err: ErrKeyReused},
		{key: "x", request: "request"},
		{key: "k", request: "request", want: "answer", after: 23 * time.Hour},
		{key: "k", request: "request", after: 25 * time.Hour},
	} {
		clock.set(noon.Add(c.after))
		answer, found, err := h.Replay(t.Context(), c.key, []byte(c.request))
		if string(answer) != c.want || found != (c.want != "") || !errors.Is(err, c.err) {
			t.Errorf("%+v: %q %v %v", c, answer, found, err)
		}
	}
}

func TestCommitRefuses(t *testing.T) {
	h := openOn(t, inFolder(t))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	<-h.turn // another one is at work
	if err := h.Commit(gone, Act{Name: "a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has gone: %v", err)
	}
	h.give()
	for what, err := range map[string]error{
		"no id":       h.Commit(t.Context(), Act{Name: "a"}, ClearOverride("")),
		"no change":   h.Commit(t.Context(), Act{Name: "a"}, Change{}),
		"no JSON":     h.Commit(t.Context(), Act{Name: "a", Detail: json.RawMessage("{")}),
		"half of two": h.Commit(t.Context(), Act{Name: "a"}, SetOverride(isolated("a")), ClearOverride("")),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	acts, err := h.Acts(t.Context(), ActQuery{})
	if len(acts) > 0 || err != nil || overrides(t, h) != "" {
		t.Errorf("something was kept: %v %v %s", acts, err, overrides(t, h))
	}
	closed(t, h)
	closed(t, h)
	if err := h.Commit(t.Context(), Act{Name: "a"}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestQueries(t *testing.T) {
	h := openOn(t, inFolder(t))
	var ids []int64
	for i := range 6 {
		at := noon.Add(time.Duration(i) * time.Minute)
		ids = append(ids, h.Record(Event{At: at, Dependency: fmt.Sprintf("d%d", i%2), Kind: []Kind{KindProbe, KindTransition, KindAct}[i%3], Text: fmt.Sprint(i)}))
		commit(t, h, Act{At: at, Name: "n", Target: fmt.Sprintf("d%d", i%2), By: fmt.Sprint(i % 3), Result: fmt.Sprint(i)})
	}
	for _, c := range []struct {
		name string
		q    EventQuery
		want string
	}{
		{"all, newest first", EventQuery{}, "[5 4 3 2 1 0]"},
		{"the newest", EventQuery{Limit: 2}, "[5 4]"},
		{"of one", EventQuery{Dependency: "d1"}, "[5 3 1]"},
		{"of a kind", EventQuery{Kind: KindProbe}, "[3 0]"},
		{"since", EventQuery{Since: noon.Add(4 * time.Minute)}, "[5 4]"},
		{"until", EventQuery{Until: noon.Add(time.Minute)}, "[0]"},
		{"after", EventQuery{After: ids[1], Limit: 2}, "[2 3]"},
		{"before", EventQuery{Before: ids[4], Limit: 2}, "[3 2]"},
		{"everything at once", EventQuery{Dependency: "d0", Kind: KindAct, Since: noon, Until: noon.Add(time.Hour), After: ids[0], Before: ids[5]}, "[2]"},
		{"nothing", EventQuery{Dependency: "' OR 1=1 --"}, "[]"},
	} {
		if got := fmt.Sprint(texts(t, h, c.q)); got != c.want {
			t.Errorf("events, %s: %s, want %s", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name string
		q    ActQuery
		want string
	}{
		{"all, newest first", ActQuery{}, "[5 4 3 2 1 0]"},
		{"of a target", ActQuery{Target: "d0", Limit: 2}, "[4 2]"},
		{"by somebody", ActQuery{By: "1"}, "[4 1]"},
		{"of a name", ActQuery{Name: "x"}, "[]"},
		{"since", ActQuery{Since: noon.Add(5 * time.Minute)}, "[5]"},
		{"after", ActQuery{After: ids[4]}, "[4 5]"},
		{"before", ActQuery{Before: ids[1]}, "[0]"},
	} {
		acts, err := h.Acts(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, 0)
		for _, a := range acts {
			got = append(got, a.Result)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("acts, %s: %s, want %s", c.name, got, c.want)
		}
	}
}
