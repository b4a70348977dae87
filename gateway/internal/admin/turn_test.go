package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

// waiting is a context that tells when somebody waits with it.
type waiting struct {
	context.Context
	told func()
}

func (w waiting) Done() <-chan struct{} {
	w.told()
	return w.Context.Done()
}

// What an act is about is looked at in its turn: the act before may have taken it
// away, and who waited must neither act on what is gone nor bring it back.
func TestGoneWithTheActBefore(t *testing.T) {
	const definition = `{"id":"hotel-9","definition":{"url":"http://10.0.0.9"}}`
	for _, c := range []struct {
		name     string
		before   func(w *whole) string // returns the ID
		takeAway func(a *api, ctx context.Context, id string) error
		act      func(a *api, ctx context.Context, id string) error
	}{
		{
			"a dependency",
			func(w *whole) string {
				w.want(http.StatusCreated, new(Dependency), "POST", dependenciesPath, definition)
				return "hotel-9"
			},
			func(a *api, ctx context.Context, id string) error {
				_, err := a.remove(ctx, &removeInput{ID: id, Versioned: Versioned{IfVersion: -1}})
				return err
			},
			func(a *api, ctx context.Context, id string) error {
				_, err := a.setOverride(ctx, &overrideInput{ID: id, Body: OverrideRequest{Mode: "isolated", Lasting: Lasting{NoExpiry: true}, Reason: "x"}})
				return err
			},
		},
		{
			"a maintenance",
			func(w *whole) string {
				var m Maintenance
				w.want(http.StatusCreated, &m, "POST", maintenancePath, `{"groups":["coast"],"to":"2100-01-01T00:00:00Z","reason":"x"}`)
				return m.ID
			},
			func(a *api, ctx context.Context, id string) error {
				_, err := a.endMaintenance(ctx, &endInput{ID: id})
				return err
			},
			func(a *api, ctx context.Context, id string) error {
				to := time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
				_, err := a.putWindow(ctx, "change maintenance", id, MaintenanceRequest{Groups: []string{"coast"}, To: &to, Reason: "y"})
				return err
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWhole(t)
			id := c.before(w)
			a := w.api()
			end, err := a.begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ctx := auth.With(t.Context(), auth.ByAddress("127.0.0.1"))
			waits, late := make(chan struct{}), make(chan error, 1)
			go func() {
				late <- c.act(a, waiting{ctx, sync.OnceFunc(func() { close(waits) })}, id)
			}()
			<-waits
			// Who holds the turn takes it away, by a listener that has another turn.
			if err := c.takeAway(w.api(), ctx, id); err != nil {
				t.Fatal(err)
			}
			end()
			var status huma.StatusError
			if err := <-late; !errors.As(err, &status) || status.GetStatus() != http.StatusNotFound {
				t.Errorf("%v, want 404", err)
			}
			windows, err := w.options.History.Maintenance(t.Context())
			overrides, err2 := w.options.History.Overrides(t.Context())
			if err != nil || err2 != nil || len(windows)+len(overrides) != 0 {
				t.Errorf("windows %+v, overrides %+v, %v %v; want none", windows, overrides, err, err2)
			}
		})
	}
}

func TestTooManyMaintenances(t *testing.T) {
	w := newWhole(t)
	const body = `{"groups":["coast"],"from":"2100-01-01T00:00:00Z","to":"2100-01-02T00:00:00Z","reason":"x"}`
	var m Maintenance
	w.want(http.StatusCreated, &m, "POST", maintenancePath, body)
	var more []history.Change
	for i := range mostWindows - 1 {
		more = append(more, history.PutMaintenance(maintenance.Window{ID: fmt.Sprint(i), Groups: []string{"coast"}}))
	}
	if err := w.options.History.Commit(t.Context(), history.Act{}, more...); err != nil {
		t.Fatal(err)
	}
	w.wantProblem(http.StatusConflict, "end some", "POST", maintenancePath, body)
	w.want(http.StatusOK, &m, "PUT", maintenancePath+"/"+m.ID, body)
}

// A fault of the configuration quotes it: it is not for who sees one group only.
func TestFaultOfTheConfigurationIsNotForAGroup(t *testing.T) {
	const fault = "recloser.yaml:9: hotel-3: url: http://secret.example"
	w := newWhole(t, signIn, func(o *Options) {
		o.Reloads = func() Reloads { return Reloads{Failed: 1, Last: time.Now(), Fault: fault} }
	})
	for group, want := range map[string]string{"": fault, "coast": "why is shown to those who see all groups"} {
		var n NodeList
		w.want(http.StatusOK, &n, "GET", "/api/v1/nodes", "", w.token("of "+group, auth.Viewer, group))
		if r := n.Nodes[0].Reload; r == nil || r.Taken || r.Fault != want {
			t.Errorf("group %q: %+v, want the fault %q", group, r, want)
		}
	}
}

// What was set for a former dependency of that ID is not in force after a restart
// either, if it is not before.
func TestAddedAnew(t *testing.T) {
	w := newWhole(t)
	former := history.SetOverride(history.Override{Dependency: "hotel-9", State: recloser.Isolated, Reason: "of then"})
	if err := w.options.History.Commit(t.Context(), history.Act{}, former); err != nil {
		t.Fatal(err)
	}
	w.want(http.StatusCreated, new(Dependency), "POST", dependenciesPath, `{"id":"hotel-9","definition":{"url":"http://10.0.0.9"}}`)
	if overrides, err := w.options.History.Overrides(t.Context()); err != nil || len(overrides) != 0 {
		t.Errorf("%+v, %v", overrides, err)
	}
	if all, err := w.options.History.Dependencies(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v, want it", all, err)
	}
}
