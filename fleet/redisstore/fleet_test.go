//go:build !race

package redisstore_test

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/fleettest"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
)

func TestFleet(t *testing.T) {
	fleettest.Run(t, func(t *testing.T, _ bool) fleettest.Harness { return fleetOn(redistest.Start(t)) })
}

func fleetOn(server *redistest.Server) fleettest.Harness {
	return fleettest.Harness{
		Addr: server.Addr,
		Open: func(t testing.TB, addr, prefix string, timeout time.Duration) fleet.Store {
			s, err := redisstore.Open(redisstore.Options{Addrs: []string{addr}, Prefix: prefix, Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Pause:  func(testing.TB) { server.Pause() },
		Resume: func(testing.TB) { server.Resume() },
		Kill:   func(testing.TB) { server.Kill() },
		Start:  func(testing.TB) { server.Restart() },
		Forget: []fleettest.Forget{
			{Name: "FLUSHALL", Do: func(testing.TB, string) { server.Do("flushall") }},
			{Name: "restarted empty", Do: func(testing.TB, string) { server.Restart() }},
		},
		GoBack: []fleettest.GoBack{ // in this order: a replica does not load a snapshot
			{Name: "an older snapshot is loaded", Keep: func(testing.TB, string) func() string {
				server.Do("save")
				return func() string {
					server.Restart()
					return server.Addr
				}
			}},
			{Name: "a replica takes over", Keep: func(t testing.TB, _ string) func() string {
				replica := redistest.StartReplica(t, server)
				server.Reaches(replica)
				replica.Do("replicaof", "no", "one")
				return func() string {
					server.Kill()
					server = replica
					return server.Addr
				}
			}},
		},
	}
}
