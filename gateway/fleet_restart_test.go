package gateway

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/internal/eventually"
)

// An override that was taken back while a gateway was away is so on that one as well, though
// its own history knows no better; one that nobody has taken back is in force.
func TestFleetRestart(t *testing.T) {
	store, folder := fleet.NewMemory(), t.TempDir()
	start := func(name string) *Gateway {
		t.Helper()
		g, err := New(Options{Store: &way{Store: store}, Config: parse(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
storage: { path: %q }
fleet: { node: %s }
dependencies: { a: { url: "http://127.0.0.1:1" }, b: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/{dependency}/*" } ]
`, filepath.Join(folder, name+".db"), name))})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, patience, func() bool { return g.member.node.Status().Mode == fleet.Shared }, name+" to reach the store")
		return g
	}
	is := func(g *Gateway, id string, want recloser.State) func() bool {
		d, _ := g.Dependencies().Get(id)
		return func() bool { return d.Breaker.State() == want }
	}
	first, second := start("first"), start("second")
	t.Cleanup(func() { stop(t, second) })
	for _, id := range []string{"a", "b"} {
		d, _ := first.Dependencies().Get(id)
		if err := d.Operator().Isolate("ines", "their database moves", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, patience, is(second, id, recloser.Isolated), id+" to be isolated")
	}
	stop(t, first)
	d, _ := second.Dependencies().Get("a")
	if !d.Operator().Release("tom", "it is done") {
		t.Error("nothing was released")
	}
	eventually.True(t, patience, func() bool {
		_, of := second.member.status()
		return of["a"].NotShared == nil && of["a"].Record.State == recloser.HalfOpen
	}, "that to be shared")
	again := start("first")
	t.Cleanup(func() { stop(t, again) })
	eventually.True(t, patience, is(again, "a", recloser.HalfOpen), "a to be released")
	for _, g := range []*Gateway{second, again} {
		if !is(g, "b", recloser.Isolated)() {
			t.Error("b is not isolated any more")
		}
	}
}
