package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/fleet/storetest"
)

// patient is a timeout for tests of what must not fail while the machine is busy.
const patient = 10 * time.Second

func open(t testing.TB, opts redisstore.Options) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// quietly adds a user who may not publish to a server.
func quietly(server *redistest.Server) {
	server.Do("acl", "setuser", "quiet", "on", ">quiet", "~*", "+@all", "resetchannels")
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		server := redistest.Start(t)
		quietly(server)
		client := func(user string) func(t testing.TB, prefix string) fleet.Store {
			return func(t testing.TB, prefix string) fleet.Store {
				return open(t, redisstore.Options{
					Addrs: []string{server.Addr}, User: user, Password: user, Prefix: prefix, Timeout: patient,
				})
			}
		}
		return storetest.Harness{
			New:     client(""),
			Quiet:   client("quiet"),
			Pause:   func(testing.TB) { server.Pause() },
			Resume:  func(testing.TB) { server.Resume() },
			Restart: func(testing.TB) { server.Restart() },
			Flush:   func(testing.TB) { server.Do("flushall") },
			Drop: func(testing.TB) {
				server.Do("client", "kill", "type", "normal")
				server.Do("client", "kill", "type", "pubsub")
			},
			Connections: func(testing.TB) int {
				list := server.Do("client", "list").(string)
				return strings.Count(list, "\n") - 1 // without the one that asks
			},
			Missing: map[string]string{"Skewed": "a client never reads the clock of its machine: no time is sent to the server"},
		}
	})
}
