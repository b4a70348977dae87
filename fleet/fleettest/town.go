package fleettest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/internal/eventually"
	"github.com/recloser-go/recloser/internal/nettest"
)

const (
	patience  = 90 * time.Second // nodes that lose each other on a busy machine try again for some seconds
	patient   = 10 * time.Second // a timeout for what must not fail while the machine is busy
	hotelName = "hotel"
	recordKey = "breaker/" + hotelName // of the document with the hotel's record
)

var errDown = errors.New("down")

// town is a fleet whose nodes call one hotel.
type town struct {
	*testing.T
	Harness
	prefix string
	look   fleet.Store // of who looks at what the server holds
	all    nodes
}

// node is one of several processes, with a network of its own.
type node struct {
	*fleet.Node
	hotel   *recloser.Breaker
	network *nettest.Proxy
}

type nodes []*node

// another runs a test in another town on the same server.
func (w *town) another(name string, f func(*town)) {
	w.Helper()
	w.Run(name, func(t *testing.T) { f(newTown(t, w.Harness)) })
}

func newTown(t *testing.T, h Harness) *town {
	t.Helper()
	w := &town{T: t, Harness: h, prefix: fmt.Sprintf("town-%x", rand.Uint64())}
	w.look = w.open(h.Addr, patient)
	return w
}

// open returns a client that is closed when the test ends.
func (w *town) open(addr string, timeout time.Duration) fleet.Store {
	w.Helper()
	s := w.Open(w.T, addr, w.prefix, timeout)
	w.Cleanup(func() { _ = s.Close() })
	return s
}

// start starts nodes that have met.
func (w *town) start(n int) nodes {
	w.Helper()
	for i := range n {
		w.add(fleet.Config{Node: fmt.Sprintf("n%d", i)})
	}
	w.meet()
	return w.all
}

// meet waits until all nodes know each other.
func (w *town) meet() {
	w.Helper()
	w.await(w.all, func(n *node) bool { return len(n.Status().Nodes) == len(w.all) }, "all nodes to know all")
}

// add starts one more node of the town's fleet.
func (w *town) add(cfg fleet.Config) *node {
	w.Helper()
	n := w.addTo("town", cfg)
	w.all = append(w.all, n)
	return n
}

// addTo starts a node of any fleet.
func (w *town) addTo(name string, cfg fleet.Config) *node {
	w.Helper()
	n := &node{network: nettest.StartProxy(w.T, w.Addr)}
	cfg.Fleet = name
	var err error
	if n.Node, err = fleet.New(cfg, w.open(n.network.Addr, 0)); err != nil {
		w.Fatal(err)
	}
	// So long that it ends by the tests alone: what is older than twice that is not put back.
	if n.hotel, err = recloser.New(recloser.Config{
		Name: hotelName, OpenFor: 5 * time.Minute, MaxOpenFor: 5 * time.Minute, TrialTimeout: time.Second,
	}); err != nil {
		w.Fatal(err)
	}
	if err := errors.Join(n.Join(n.hotel), n.Start()); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(n.Close)
	w.Cleanup(func() { // before that
		if w.Failed() {
			w.Logf("%+v\n%s", n.Status(), n.hotel.Explain())
		}
	})
	return n
}

// await waits until all of them are so.
func (w *town) await(all nodes, is func(*node) bool, what string) {
	w.Helper()
	eventually.True(w, patience, func() bool { return all.each(is) }, what)
}

func (all nodes) each(is func(*node) bool) bool {
	return !slices.ContainsFunc(all, func(n *node) bool { return !is(n) })
}

func in(states ...recloser.State) func(*node) bool {
	return func(n *node) bool { return slices.Contains(states, n.hotel.State()) }
}

func mode(m fleet.Mode) func(*node) bool {
	return func(n *node) bool { return n.Status().Mode == m }
}

func away(n *node) bool { return n.Status().Mode != fleet.Shared }

// calls makes a call that ends like that.
func (n *node) calls(t *town, err error) {
	_ = n.hotel.Do(t.Context(), func(context.Context) error { return err })
}

// trip has the fifth call fail that three nodes have seen fail between them.
func (w *town) trip(all nodes) {
	w.Helper()
	for _, i := range []int{0, 0, 1, 1, 2} {
		all[i].calls(w, errDown)
	}
	failed := time.Now()
	w.await(all, in(recloser.Open), "all nodes to refuse")
	w.Logf("all of %d nodes refused %v after the fifth failure", len(all), time.Since(failed).Round(time.Millisecond))
}

// recloses has all nodes reclose by good calls, the open time be over or not. On a busy
// machine a trial may get lost, and so fail.
func (w *town) recloses(all nodes) {
	w.Helper()
	w.await(all, func(n *node) bool {
		_, _ = n.TryNow(hotelName, "ann", "is it back?")
		n.calls(w, nil)
		return n.hotel.State() == recloser.Closed
	}, "all nodes to reclose after good trials")
}

// releases ends an act, and has all nodes reclose.
func (w *town) releases(all nodes) {
	w.Helper()
	eventually.True(w, patience, func() bool {
		ok, err := all[0].Release(hotelName, "ann", "out")
		return ok && err == nil
	}, "the act to be ended")
	w.recloses(all)
}

// isolates has an operator isolate the hotel on a node, where that holds at once.
func (w *town) isolates(n *node) {
	w.Helper()
	if err := n.Isolate(hotelName, "ann", "fire", time.Time{}); err != nil {
		w.Fatal(err)
	}
	if !in(recloser.Isolated)(n) {
		w.Errorf("an operator has isolated it, and it is %s", n.hotel.State())
	}
}

// isolatesAlone does so on a node that does not reach the store, which says so.
func (w *town) isolatesAlone(n *node) {
	w.Helper()
	w.isolates(n)
	if s := n.Status(); s.Breakers[0].NotShared == nil {
		w.Errorf("an act that cannot be shared: %+v", s)
	}
}

// doc returns the document of the hotel's record as the server has it, if that answers.
func (w *town) doc() (d fleet.Doc, ok bool) {
	docs, _, err := w.look.Load(w.Context())
	for i := range docs {
		if docs[i].Key == recordKey {
			d = docs[i]
		}
	}
	return d, err == nil
}

// agree waits until all nodes hold the version of the record that the server has. At no
// moment may one be in another state than that.
func (w *town) agree(want recloser.State) {
	w.Helper()
	w.await(w.all, func(n *node) bool {
		if !in(want)(n) {
			w.Fatalf("a node is %s, although it was %s", n.hotel.State(), want)
		}
		d, ok := w.doc()
		return ok && d.Key != "" && mode(fleet.Shared)(n) && n.Status().Breakers[0].Rev == d.Rev
	}, "the server to have what the nodes hold")
}
