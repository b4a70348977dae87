package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/internal/eventually"
)

var errDown = errors.New("down")

// process is one of several that call the same hotel, with a network of its own.
type process struct {
	node    *fleet.Node
	hotel   *recloser.Breaker
	network *redistest.Proxy
}

type processes []process

func startProcesses(t *testing.T, server *redistest.Server, n int) processes {
	t.Helper()
	var all processes
	for i := range n {
		p := process{network: redistest.StartProxy(t, server)}
		s := open(t, redisstore.Options{Addrs: []string{p.network.Addr}})
		var err error
		if p.node, err = fleet.New(fleet.Config{Fleet: "town", Node: fmt.Sprintf("n%d", i)}, s); err != nil {
			t.Fatal(err)
		}
		if p.hotel, err = recloser.New(recloser.Config{Name: "hotel"}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.node.Join(p.hotel), p.node.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.node.Close)
		all = append(all, p)
	}
	all.await(t, func(p process) bool { return len(p.node.Status().Nodes) == n }, "all nodes to know all")
	return all
}

func (all processes) each(is func(process) bool) bool {
	return !slices.ContainsFunc(all, func(p process) bool { return !is(p) })
}

func (all processes) await(t *testing.T, is func(process) bool, what string) {
	t.Helper()
	eventually.True(t, patience, func() bool { return all.each(is) }, what)
}

// trip has the fifth call fail that three nodes have seen fail between them.
func (all processes) trip(t *testing.T) {
	t.Helper()
	for _, i := range []int{0, 0, 1, 1, 2} {
		_ = all[i].hotel.Do(t.Context(), func(context.Context) error { return errDown })
	}
	failed := time.Now()
	all.await(t, in(recloser.Open), "all nodes to refuse")
	t.Logf("all of %d nodes refused %v after the fifth failure", len(all), time.Since(failed).Round(time.Millisecond))
}

// hold reports whether all nodes hold the version of the hotel's record that the server has.
func (all processes) hold(server *redistest.Server) bool {
	packed, _ := server.Do("hget", "{recloser}:docs", "breaker/hotel").(string)
	return packed != "" && all.each(func(p process) bool {
		rev := p.node.Status().Breakers[0].Rev
		return mode(fleet.Shared)(p) && strings.HasPrefix(packed, fmt.Sprintf("%016x %016x ", rev.Epoch, rev.ID))
	})
}

func in(states ...recloser.State) func(process) bool {
	return func(p process) bool { return slices.Contains(states, p.hotel.State()) }
}

func mode(m fleet.Mode) func(process) bool {
	return func(p process) bool { return p.node.Status().Mode == m }
}

// release ends an act and has all nodes reclose by good calls.
func (all processes) release(t *testing.T) {
	t.Helper()
	eventually.True(t, patience, func() bool {
		ok, err := all[0].node.Release("hotel", "ann", "out")
		return ok && err == nil
	}, "the act to be ended")
	all.await(t, func(p process) bool {
		_ = p.hotel.Do(t.Context(), func(context.Context) error { return nil })
		return p.hotel.State() == recloser.Closed
	}, "all nodes to reclose after good trials")
}

// What an operator decided while the server hung holds here at once and everywhere
// when it goes on; a server that is killed or forgets everything changes nothing in it.
func TestFleetOverFaultsOfTheServer(t *testing.T) {
	server := redistest.Start(t)
	all := startProcesses(t, server, 5)
	all.trip(t)

	server.Pause()
	all.await(t, mode(fleet.Kept), "all nodes to know that the store is away")
	if err := all[0].node.Isolate("hotel", "ann", "fire", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if !in(recloser.Isolated)(all[0]) || all[0].node.Status().Breakers[0].NotShared == nil {
		t.Errorf("an act while the server hangs: %s, %+v", all[0].hotel.State(), all[0].node.Status())
	}
	server.Resume()
	all.await(t, in(recloser.Isolated), "the act to be shared")

	for _, fault := range []struct {
		name string
		do   func()
	}{
		{"restarted empty", server.Restart},
		{"FLUSHALL", func() { server.Do("flushall") }},
	} {
		fault.do()
		eventually.True(t, patience, func() bool {
			if !all.each(in(recloser.Isolated)) {
				t.Fatalf("%s: a node lets calls through that an operator forbade", fault.name)
			}
			return all.hold(server)
		}, "the nodes to put again what they hold")
	}
	all.release(t)
}

// A replica takes over that has not got what tripped. Nobody lets calls through for it.
func TestFleetOverAFailoverThatLosesTheTrip(t *testing.T) {
	primary := redistest.Start(t)
	replica := redistest.StartReplica(t, primary)
	all := startProcesses(t, primary, 3)
	primary.Do("wait", 1, 0)
	replica.Do("replicaof", "no", "one")
	all.trip(t)

	primary.Kill()
	for _, p := range all {
		p.network.Switch(replica)
	}
	eventually.True(t, patience, func() bool {
		if !all.each(in(recloser.Open, recloser.HalfOpen)) {
			t.Fatal("a node lets all calls through, as the store lost the trip")
		}
		return all.hold(replica)
	}, "the nodes to put again what they hold")
}

// A node that is cut off keeps what the fleet decided, and learns what it missed.
func TestFleetWithANodeCutOff(t *testing.T) {
	server := redistest.Start(t)
	all := startProcesses(t, server, 3)
	all.trip(t)
	cut, others := all[2], all[:2]
	cut.network.Cut()
	processes{cut}.await(t, mode(fleet.Kept), "the node to know that it is cut off")
	if !in(recloser.Open)(cut) {
		t.Errorf("a node that was just cut off is %s", cut.hotel.State())
	}
	if err := others[0].node.Isolate("hotel", "ann", "fire", time.Time{}); err != nil {
		t.Fatal(err)
	}
	others.await(t, in(recloser.Isolated), "the act to be shared")
	if in(recloser.Isolated)(cut) {
		t.Error("a node that is cut off knows what others do")
	}
	cut.network.Heal()
	all.await(t, in(recloser.Isolated), "the node that was cut off to know of it")
	all.release(t)
}
