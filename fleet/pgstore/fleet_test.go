//go:build unix

package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// process is one process of many that call the same hotels.
type process struct {
	node  *fleet.Node
	store *Store
	hotel *recloser.Breaker
}

func startProcesses(t *testing.T, server *pgtest.Server, n int) []process {
	t.Helper()
	var all []process
	for i := range n {
		s, err := Open(Options{URL: server.URL()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		node, err := fleet.New(fleet.Config{Fleet: "town", Node: fmt.Sprintf("n%d", i)}, s)
		if err != nil {
			t.Fatal(err)
		}
		hotel, err := recloser.New(recloser.Config{Name: "hotel"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(node.Join(hotel), node.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(node.Close)
		all = append(all, process{node, s, hotel})
	}
	eventually.True(t, enough, func() bool { return each(all, func(p process) bool { return len(p.node.Status().Nodes) == n }) }, "all nodes to know all")
	return all
}

func each(all []process, is func(process) bool) bool {
	return !slices.ContainsFunc(all, func(p process) bool { return !is(p) })
}

func in(state recloser.State) func(process) bool {
	return func(p process) bool { return p.hotel.State() == state }
}

func mode(m fleet.Mode) func(process) bool {
	return func(p process) bool { return p.node.Status().Mode == m }
}

// call calls the hotel, which answers or not.
func (p process) call(ctx context.Context, err error) {
	_ = p.hotel.Do(ctx, func(context.Context) error { return err })
}

// Few failures of each node are enough for all, and the server may hang, fail or forget.
func TestFleet(t *testing.T) {
	server := pgtest.Start(t)
	all := startProcesses(t, server, 5)
	down := errors.New("down")
	for _, i := range []int{0, 0, 1, 1, 2} {
		all[i].call(t.Context(), down)
	}
	failed := time.Now()
	eventually.True(t, enough, func() bool { return each(all, in(recloser.Open)) }, "all nodes to refuse")
	t.Logf("all of %d nodes refused %s after the fifth failure", len(all), time.Since(failed).Round(time.Millisecond))

	t.Log("the server hangs: an operator's act holds here at once, and everywhere once it goes on")
	server.Pause(t)
	t.Cleanup(func() { server.Resume(t) })
	if err := all[0].node.Isolate("hotel", "ann", "fire", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if s := all[0].hotel.State(); s != recloser.Isolated {
		t.Fatalf("the breaker is %s", s)
	}
	eventually.True(t, enough, func() bool { return each(all, mode(fleet.Kept)) }, "all nodes to know that the store is away")
	if s := all[0].node.Status().Breakers[0]; s.NotShared == nil {
		t.Error("the act is shared although the server hangs")
	}
	server.Resume(t)
	eventually.True(t, enough, func() bool { return each(all, in(recloser.Isolated)) }, "the act to be shared")

	t.Log("the server is killed and comes back")
	server.Kill(t)
	eventually.True(t, enough, func() bool { return each(all, func(p process) bool { return p.node.Status().Mode != fleet.Shared }) }, "all nodes to know that the store is away")
	server.Restart(t)
	eventually.True(t, enough, func() bool { return each(all, mode(fleet.Shared)) }, "all nodes to be back")

	t.Log("the server forgets everything: the act stays")
	server.Exec(t, dropAll)
	eventually.True(t, enough, func() bool {
		return server.Query(t, `SELECT count(*) FROM pg_tables WHERE schemaname = 'recloser'`) == 5 &&
			server.Query(t, `SELECT count(*) FROM recloser.documents WHERE key = 'breaker/hotel'`) == 1
	}, "the nodes to put again what they hold")
	if !each(all, in(recloser.Isolated)) {
		t.Error("a node let calls through because the store had forgotten the act")
	}

	t.Log("the connections are cut, and the act is ended")
	server.Drop(t)
	eventually.True(t, enough, func() bool { ok, err := all[4].node.Release("hotel", "ann", "out"); return ok && err == nil }, "the act to be ended")
	eventually.True(t, enough, func() bool {
		return each(all, func(p process) bool {
			p.call(t.Context(), nil)
			return p.hotel.State() == recloser.Closed
		})
	}, "all nodes to reclose after good trials")
}
