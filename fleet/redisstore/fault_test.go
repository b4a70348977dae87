package redisstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/internal/eventually"
	"github.com/recloser-go/recloser/internal/nettest"
)

const patience = 30 * time.Second

func put(t *testing.T, s fleet.Store, before fleet.Doc, key string) fleet.Doc {
	t.Helper()
	next := fleet.Doc{Key: key, Rev: fleet.Rev{Epoch: before.Rev.Epoch + 1, ID: rand.Uint64() | 1}, Slots: 1}
	d, err := s.Put(t.Context(), before.Rev, next)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// watch watches from where the store is now. Its end comes by ended, the changes by seen.
func watch(t *testing.T, s fleet.Store) (seen <-chan fleet.Doc, ended <-chan error) {
	t.Helper()
	_, at, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	docs, end := make(chan fleet.Doc, 100), make(chan error, 1)
	go func() { end <- s.Watch(t.Context(), at, func(d fleet.Doc) { docs <- d }) }()
	return docs, end
}

func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("after %v still waiting for %s", patience, what)
		panic("unreachable")
	}
}

// A primary dies before its last write has reached the replica, which takes its place
// under its name, and others write there before anybody looks: so many that a counter
// of changes would be where it was. Whoever saw the lost write must hear of it.
func TestFailoverThatLosesTheLastWrite(t *testing.T) {
	primary := redistest.Start(t)
	replica := redistest.StartReplica(t, primary)
	name := nettest.StartProxy(t, primary.Addr)
	s := open(t, redisstore.Options{Addrs: []string{name.Addr}, Timeout: patient})
	kept := put(t, s, fleet.Doc{}, "kept")
	primary.Reaches(replica)
	replica.Do("replicaof", "no", "one")
	seen, ended := watch(t, s)
	lost := put(t, s, kept, "kept")
	if d := await(t, seen, "the change"); d.Rev != lost.Rev {
		t.Fatalf("saw %+v, want %+v", d, lost)
	}

	primary.Kill()
	others := open(t, redisstore.Options{Addrs: []string{replica.Addr}, Timeout: patient})
	put(t, others, fleet.Doc{}, "another")
	name.Switch(replica.Addr)
	if err := await(t, ended, "the end of Watch"); err == nil {
		t.Fatal("Watch returned nil")
	}
	docs, _, err := s.Load(t.Context())
	if err != nil || len(docs) != 2 || docs[1].Rev != kept.Rev {
		t.Fatalf("Load after the failover: %+v, %v; want what the replica had", docs, err)
	}
}

// The same, but the connection of Watch happens to live on.
func TestWatchFromAPositionThatWasLost(t *testing.T) {
	primary := redistest.Start(t)
	s := open(t, redisstore.Options{Addrs: []string{primary.Addr}, Timeout: patient})
	put(t, s, fleet.Doc{}, "kept")
	replica := redistest.StartReplica(t, primary)
	replica.Do("replicaof", "no", "one")
	put(t, s, fleet.Doc{}, "lost")
	_, at, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	promoted := open(t, redisstore.Options{Addrs: []string{replica.Addr}, Timeout: patient})
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := promoted.Watch(ctx, at, func(d fleet.Doc) { t.Errorf("saw %+v", d) }); !errors.Is(err, fleet.ErrResync) {
			t.Fatalf("after %d changes: %v, want ErrResync", i, err)
		}
		put(t, promoted, fleet.Doc{}, strings.Repeat("x", i+1))
	}
}

func TestFlushEndsWatch(t *testing.T) {
	for _, c := range []struct {
		name  string
		after func(t *testing.T, s fleet.Store)
	}{
		{"nobody writes", func(*testing.T, fleet.Store) {}},
		{"others write", func(t *testing.T, s fleet.Store) { put(t, s, fleet.Doc{}, "new") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := redistest.Start(t)
			s := open(t, redisstore.Options{Addrs: []string{server.Addr}, Timeout: patient})
			put(t, s, fleet.Doc{}, "old")
			_, ended := watch(t, s)
			server.Do("flushall")
			c.after(t, s)
			if err := await(t, ended, "the end of Watch"); !errors.Is(err, fleet.ErrResync) {
				t.Errorf("Watch ended with %v, want ErrResync", err)
			}
		})
	}
}

// A server that is restarted has forgotten the scripts as well.
func TestRestartedEmpty(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redisstore.Options{Addrs: []string{server.Addr}, Timeout: patient})
	put(t, s, fleet.Doc{}, "old")
	_, ended := watch(t, s)
	server.Restart()
	if err := await(t, ended, "the end of Watch"); err == nil {
		t.Error("Watch returned nil")
	}
	var docs []fleet.Doc
	eventually.True(t, patience, func() (ok bool) {
		var err error
		docs, _, err = s.Load(t.Context())
		return err == nil
	}, "the store to be found again")
	if len(docs) != 0 {
		t.Errorf("an empty server has %+v", docs)
	}
	put(t, s, fleet.Doc{}, "old")
}

// A network that drops everything tells neither side. What was sent meanwhile arrives
// later, and nobody knows of it: the caller's context is what bounds the wait.
func TestNetworkCut(t *testing.T) {
	server := redistest.Start(t)
	network := nettest.StartProxy(t, server.Addr)
	s := open(t, redisstore.Options{Addrs: []string{network.Addr}})
	other := open(t, redisstore.Options{Addrs: []string{server.Addr}, Timeout: patient})
	seen, ended := watch(t, open(t, redisstore.Options{Addrs: []string{network.Addr}, Timeout: patient}))
	first := put(t, other, fleet.Doc{}, "k")
	await(t, seen, "a change")

	network.Cut()
	second := put(t, other, first, "k")
	for range 3 {
		began := time.Now()
		_, err := s.Said(t.Context(), "k")
		took := time.Since(began)
		if err == nil || !strings.Contains(err.Error(), "no answer within 250ms: it hangs") {
			t.Fatalf("a cut network: %v", err)
		}
		if took > redisstore.DefaultTimeout+slack {
			t.Errorf("it took %v to see that the network is cut", took)
		}
	}
	network.Heal()
	eventually.True(t, patience, func() bool { _, err := s.Said(t.Context(), "k"); return err == nil }, "the store to be found again")
	select {
	case d := <-seen:
		if d.Rev != second.Rev {
			t.Errorf("saw %+v, want %+v", d, second)
		}
	case err := <-ended:
		t.Logf("Watch ended: %v", err)
	case <-time.After(patience):
		t.Error("Watch neither sees the change nor ends")
	}
}

// slack is what a machine that is busy with other tests may add to a bound of 50 ms.
const slack = 500 * time.Millisecond

// A server that hangs costs each call the store's timeout, whether it has a connection
// or needs one, and Close no more.
func TestHungServer(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redisstore.Options{Addrs: []string{server.Addr}})
	put(t, s, fleet.Doc{}, "k")
	server.Pause()
	defer server.Resume()
	for i := range 5 {
		began := time.Now()
		_, err := s.Elect(context.Background(), "role", "node", time.Minute) //nolint:usetesting // a context without any end
		if took := time.Since(began); err == nil || took > redisstore.DefaultTimeout+slack {
			t.Errorf("call %d took %v: %v", i, took, err)
		}
	}
	began := time.Now()
	_ = s.Close()
	if took := time.Since(began); took > redisstore.DefaultTimeout+slack {
		t.Errorf("Close took %v", took)
	}
}

// A firewall forgets the connection that pushes, as little comes by it, and tells
// nobody. The change that was not pushed is found by looking, and brings a new connection.
func TestPushIsMended(t *testing.T) {
	server := redistest.Start(t)
	network := nettest.StartProxy(t, server.Addr)
	s := open(t, redisstore.Options{Addrs: []string{network.Addr}, Timeout: patient})
	other := open(t, redisstore.Options{Addrs: []string{server.Addr}, Timeout: patient})
	seen, ended := watch(t, s)
	subscribers := func() int { return strings.Count(server.Do("client", "list", "type", "pubsub").(string), "\n") }
	eventually.True(t, patience, func() bool { return subscribers() == 1 }, "a subscription")

	network.Silence()
	server.Do("client", "kill", "type", "pubsub")
	d := put(t, other, fleet.Doc{}, "k")
	if got := await(t, seen, "a change that was not pushed"); got.Rev != d.Rev {
		t.Errorf("saw %+v, want %+v", got, d)
	}
	eventually.True(t, patience, func() bool { return subscribers() == 1 }, "a new subscription")
	select {
	case err := <-ended:
		t.Errorf("Watch ended: %v", err)
	default:
	}
}
