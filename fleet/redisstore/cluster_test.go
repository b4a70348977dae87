package redisstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/fleet/storetest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// Three primaries share the keys; where those of a fleet are depends on its prefix, and
// a client knows one of the three to begin with.
func TestStoreOnACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3)
	all := func(f func(s *redistest.Server)) func(testing.TB) {
		return func(testing.TB) {
			for _, s := range cluster {
				f(s)
			}
		}
	}
	for _, s := range cluster {
		quietly(s)
	}
	client := func(user string) func(t testing.TB, prefix string) fleet.Store {
		return func(t testing.TB, prefix string) fleet.Store {
			return open(t, redisstore.Options{
				Addrs: []string{cluster[0].Addr}, Cluster: true, User: user, Password: user, Prefix: prefix, Timeout: patient,
			})
		}
	}
	storetest.Run(t, func(*testing.T) storetest.Harness {
		return storetest.Harness{
			New:    client(""),
			Quiet:  client("quiet"),
			Pause:  all((*redistest.Server).Pause),
			Resume: all((*redistest.Server).Resume),
			Flush:  all(func(s *redistest.Server) { s.Do("flushall") }),
			Drop: all(func(s *redistest.Server) {
				s.Do("client", "kill", "type", "normal")
				s.Do("client", "kill", "type", "pubsub")
			}),
			Connections: func(testing.TB) (n int) {
				for _, s := range cluster {
					n += strings.Count(s.Do("client", "list").(string), "\n") - 1
				}
				return n
			},
			Missing: map[string]string{
				"Skewed":  "a client never reads the clock of its machine",
				"Restart": "tried on one server; a cluster that starts anew takes seconds to agree that it is one",
			},
		}
	})
}

// Fleets of several prefixes are on several primaries. When the keys of one move to
// another primary its store goes on; when that of one dies, the others' do.
func TestPartsOfACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3)
	stores := map[*redistest.Server]*redisstore.Store{}
	for i := 0; len(stores) < len(cluster); i++ {
		prefix := fmt.Sprintf("fleet-%d", i)
		s := open(t, redisstore.Options{Addrs: []string{cluster[0].Addr, cluster[1].Addr, cluster[2].Addr}, Prefix: prefix, Timeout: patient})
		put(t, s, fleet.Doc{}, prefix)
		for _, server := range cluster {
			if keys := server.Do("keys", "{"+prefix+"}:*").([]any); len(keys) > 0 && stores[server] == nil {
				stores[server] = s
			}
		}
	}
	cluster[2].Kill()
	for i, server := range cluster[:2] {
		if err := firstUse(t.Context(), stores[server]); err != nil {
			t.Errorf("a fleet on primary %d, after another died: %v", i, err)
		}
	}
	if err := firstUse(t.Context(), stores[cluster[2]]); err == nil {
		t.Error("a fleet whose primary is dead has a store")
	}
}

// Sentinels name the replica that takes over, and the store goes there by itself.
func TestSentinelFailover(t *testing.T) {
	primary := redistest.Start(t)
	replica := redistest.StartReplica(t, primary)
	sentinel := redistest.StartSentinel(t, primary, "main")
	s := open(t, redisstore.Options{Addrs: []string{sentinel.Addr}, Master: "main", Timeout: patient})
	d := put(t, s, fleet.Doc{}, "k")
	primary.Reaches(replica)
	eventually.True(t, patience, func() bool {
		return strings.Contains(sentinel.Do("info", "sentinel").(string), "slaves=1")
	}, "the Sentinel to know the replica")
	_, ended := watch(t, s)
	primary.Kill()
	if err := await(t, ended, "the end of Watch"); err == nil {
		t.Error("Watch returned nil")
	}
	eventually.True(t, patience, func() bool { return firstUse(t.Context(), s) == nil }, "the store to be found again")
	docs, _, err := s.Load(t.Context())
	if err != nil || len(docs) != 1 || docs[0].Rev != d.Rev {
		t.Errorf("after the failover: %+v, %v", docs, err)
	}
	put(t, s, d, "k")
}
