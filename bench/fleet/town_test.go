//go:build unix

package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// patience is for what takes a moment on an idle machine.
const patience = 2 * time.Minute

// many is a number of failures that is not reached.
const many = 1000

var errDown = errors.New("down")

// town has several nodes that call one hotel.
type town struct {
	nodes   []func(work func() error) error // a call of the hotel, by a node's breaker
	counted func() int                      // failures that the store knows of
}

// recloserTown has a fleet, which trips on no few failures.
func recloserTown(b *testing.B, server *redistest.Server, nodes int) (t town) {
	f := startFleet(b, server, nodes, []string{"hotel"}, fleet.Rule{Failures: many})
	for _, n := range f {
		hotel := n.breakers[0]
		t.nodes = append(t.nodes, func(work func() error) error {
			return hotel.Do(b.Context(), func(context.Context) error { return work() })
		})
	}
	t.counted = func() (bad int) {
		rows, err := f[0].store.Said(b.Context(), "breaker/hotel")
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range rows {
			var seen struct {
				Spans []struct{ Bad int }
			}
			if err := json.Unmarshal(r.Data, &seen); err != nil || len(seen.Spans) == 0 {
				b.Fatalf("what %s says cannot be read: %s, %v", r.Node, r.Data, err)
			}
			bad += seen.Spans[0].Bad
		}
		return bad
	}
	return t
}

// node is a process's part in a fleet, with connections of its own.
type node struct {
	store    *redisstore.Store
	node     *fleet.Node
	breakers []*recloser.Breaker
}

// startFleet returns nodes that know each other and have the same breakers.
func startFleet(b *testing.B, server *redistest.Server, nodes int, names []string, rule fleet.Rule) (all []node) {
	b.Helper()
	for i := range nodes {
		n := node{}
		var err error
		if n.store, err = redisstore.Open(redisstore.Options{Addrs: []string{server.Addr}}); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = n.store.Close() })
		if n.node, err = fleet.New(fleet.Config{Fleet: "town", Node: fmt.Sprintf("node-%02d", i), Rule: rule}, n.store); err != nil {
			b.Fatal(err)
		}
		for _, name := range names {
			breaker, err := recloser.New(recloser.Config{Name: name})
			if err != nil {
				b.Fatal(err)
			}
			n.breakers = append(n.breakers, breaker)
		}
		if err := errors.Join(n.node.Join(n.breakers...), n.node.Start()); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(n.node.Close)
		all = append(all, n)
	}
	eventually.True(b, patience, func() bool {
		for _, n := range all {
			if len(n.node.Status().Nodes) < nodes {
				return false
			}
		}
		return true
	}, "all nodes to know all")
	return all
}
