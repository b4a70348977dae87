package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// G12: an isolation is on disk with who and why before it is acknowledged, so
// that a restart finds it.
func TestIsolationIsWrittenDown(t *testing.T) {
	w := newWhole(t)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	var d Dependency
	w.want(http.StatusOK, &d, "PUT", overrideOfHotel1, `{"mode":"isolated","until":"`+until.Format(time.RFC3339)+`","reason":"PMS upgrade","by":"ines"}`)

	// What another process reads while this one still has the file open, as after a kill.
	beside := history.Open(history.Options{Path: w.path, Beside: true})
	defer beside.Close(t.Context())
	overrides, err := beside.Overrides(t.Context())
	if err != nil || len(overrides) != 1 {
		t.Fatalf("%+v, %v; want one", overrides, err)
	}
	o := overrides[0]
	if o.Dependency != "hotel-1" || o.State != recloser.Isolated || o.By != "ines" || o.Reason != "PMS upgrade" || !o.Until.Equal(until) {
		t.Errorf("%+v", o)
	}
	act := w.acts()[0]
	if act.Name != "override isolated" || act.Target != "hotel-1" || act.By != "ines" || act.Role != "admin" || act.From != "127.0.0.1" ||
		act.Reason != "PMS upgrade" || !act.Until.Equal(until) || act.Result != "done" {
		t.Errorf("audit %+v", act)
	}

	w.want(http.StatusOK, &d, "DELETE", overrideOfHotel1+"?reason=done", "")
	if overrides, err := w.options.History.Overrides(t.Context()); err != nil || len(overrides) != 0 {
		t.Errorf("released: %+v, %v", overrides, err)
	}
}

// A reset that was acknowledged must not come back as the open breaker that was
// saved before; nor a trial.
func TestResetAndTrialAreWrittenDown(t *testing.T) {
	w := newWhole(t)
	for _, tt := range []struct {
		act   string
		state recloser.State
	}{{"trial", recloser.HalfOpen}, {"reset", recloser.Closed}} {
		t.Run(tt.act, func(t *testing.T) {
			if err := w.breaker("hotel-1").TripFor(time.Hour, "test", "x"); err != nil {
				t.Fatal(err)
			}
			save := history.BreakerSave{ID: "hotel-1", Saved: w.breaker("hotel-1").Save()}
			if err := w.options.History.SaveBreakers(t.Context(), []history.BreakerSave{save}); err != nil {
				t.Fatal(err)
			}
			w.want(http.StatusOK, new(Dependency), "POST", "/api/v1/dependencies/hotel-1/"+tt.act, "{}")
			saves, err := w.options.History.Breakers(t.Context())
			if err != nil || len(saves) != 1 {
				t.Fatalf("%+v, %v", saves, err)
			}
			again, err := recloser.New(w.breaker("hotel-1").Config())
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Restore(saves[0].Saved); err != nil {
				t.Fatal(err)
			}
			if got, now := again.State(), w.breaker("hotel-1").State(); got != tt.state || now != tt.state {
				t.Errorf("restored %s, now %s; want %s", got, now, tt.state)
			}
			if got, now := again.Stats().Seq, w.breaker("hotel-1").Stats().Seq; got < now {
				t.Errorf("version %d after the restart, %d before", got, now)
			}
		})
	}
}

// An act that cannot be written down is not done.
func TestActThatCannotBeWrittenIsNotDone(t *testing.T) {
	w := newWhole(t)
	w.trip("hotel-2")
	if err := w.options.History.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, act := range []struct{ method, path, body string }{
		{"PUT", overrideOfHotel1, isolate},
		{"DELETE", overrideOfHotel1, ""},
		{"POST", resetOfHotel1, "{}"},
		{"POST", "/api/v1/dependencies/hotel-2/trial", "{}"},
		{"POST", "/api/v1/overrides/batch", `{"selector":{"group":"coast"},"mode":"isolated","no_expiry":true,"reason":"x"}`},
		{"POST", "/api/v1/dependencies", `{"id":"hotel-9","definition":{"url":"https://192.0.2.1"}}`},
		{"POST", "/api/v1/maintenance", `{"groups":["coast"],"to":"2100-01-01T00:00:00Z","reason":"x"}`},
		{"POST", "/api/v1/tokens", `{"name":"x","role":"viewer","no_expiry":true}`},
	} {
		f := w.wantProblem(http.StatusServiceUnavailable, "", act.method, act.path, act.body)
		if strings.Contains(f.Detail, "sql") {
			t.Errorf("%s %s: %q is for the log", act.method, act.path, f.Detail)
		}
	}
	for id, want := range map[string]recloser.State{"hotel-1": recloser.Closed, "hotel-2": recloser.Open} {
		if s := w.breaker(id).State(); s != want {
			t.Errorf("%s is %s, want %s", id, s, want)
		}
	}
	if _, ok := w.list.Get("hotel-9"); ok {
		t.Error("hotel-9 is there")
	}
}

// If the breaker changed between the look and the act, what was written is put
// right, and the audit says so.
func TestActThatCameTooLateIsUndone(t *testing.T) {
	w := newWhole(t)
	a := w.api()
	d, _ := w.list.Get("hotel-1")
	_, err := a.perform(auth.With(t.Context(), auth.ByAddress("127.0.0.1")), act{
		name: "trial", in: "body", id: "hotel-1",
		keep: func(d *dependencyOf, _ recloser.Stats, _ who) ([]history.Change, error) {
			saved := d.Breaker.Save()
			saved.State = recloser.HalfOpen
			return []history.Change{
				history.SaveBreaker(d.ID, saved), history.SetOverride(history.Override{Dependency: d.ID, State: recloser.Isolated, Since: time.Now()}),
			}, nil
		},
		do: func(d *dependencyOf, _ who) error { return a.newConflict(d, "closed meanwhile") },
	})
	if err == nil || !strings.Contains(err.Error(), "closed meanwhile") {
		t.Errorf("%v", err)
	}
	saves, err := w.options.History.Breakers(t.Context())
	if err != nil || len(saves) != 1 || saves[0].Saved.State != d.Breaker.State() {
		t.Errorf("%+v, %v; want the breaker as it is", saves, err)
	}
	if overrides, err := w.options.History.Overrides(t.Context()); err != nil || len(overrides) != 0 {
		t.Errorf("%+v, %v", overrides, err)
	}
	acts := w.acts()
	if len(acts) != 2 || !strings.HasPrefix(acts[0].Result, "not done") || acts[1].Result != "done" {
		t.Errorf("audit %+v", acts)
	}
}

// Of many who act on the same version one wins, and the others see 409.
func TestOneOfManyWithTheSameVersion(t *testing.T) {
	w := newWhole(t)
	version := w.breaker("hotel-1").Stats().Seq
	codes := make(chan int, 8)
	var wg sync.WaitGroup
	for i := range cap(codes) {
		wg.Go(func() {
			codes <- w.send("PUT", overrideOfHotel1, fmt.Sprintf(`{"mode":"isolated","no_expiry":true,"reason":"x","by":"%d","if_version":%d}`, i, version)).Code
		})
	}
	wg.Wait()
	close(codes)
	count := map[int]int{}
	for c := range codes {
		count[c]++
	}
	if count[http.StatusOK] != 1 || count[http.StatusConflict] != cap(codes)-1 {
		t.Errorf("answers %v, want one 200 and 409 for the rest", count)
	}
	if acts := w.acts(); len(acts) != 1 || acts[0].By != w.breaker("hotel-1").Stats().Override.By {
		t.Errorf("audit %+v", acts)
	}
}

// A client that is gone while others act is not acted for.
func TestGoneBeforeItsTurn(t *testing.T) {
	w := newWhole(t)
	a := w.api()
	end, err := a.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(auth.With(t.Context(), auth.ByAddress("127.0.0.1")))
	cancel()
	if _, err := a.reset(ctx, &actInput{ID: "hotel-1"}); err == nil {
		t.Error("it was acted for")
	}
	end()
	if n := len(w.acts()); n != 0 {
		t.Errorf("%d acts", n)
	}
}
