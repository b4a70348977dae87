//go:build unix && !race

package pgstore

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/fleettest"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/internal/eventually"
)

func TestFleet(t *testing.T) {
	shared := pgtest.Start(t)
	fleettest.Run(t, func(t *testing.T, own bool) fleettest.Harness {
		if own { // to make one takes a second
			return fleetOn(pgtest.Start(t))
		}
		return fleetOn(shared)
	})
}

func fleetOn(server *pgtest.Server) fleettest.Harness {
	exec := func(sql string) func(t testing.TB, schema string) {
		return func(t testing.TB, schema string) { server.Exec(t, `SET search_path TO `+quoted(schema)+`; `+sql) }
	}
	return fleettest.Harness{
		Addr: server.Addr(),
		Open: func(t testing.TB, addr, schema string, timeout time.Duration) fleet.Store {
			s, err := Open(Options{URL: pgtest.URLAt(addr), Schema: schema, Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Pause:  func(t testing.TB) { server.Pause(t) },
		Resume: func(t testing.TB) { server.Resume(t) },
		Kill:   func(t testing.TB) { server.Kill(t) },
		Start:  func(t testing.TB) { server.Restart(t) },
		Forget: []fleettest.Forget{
			{Name: "DROP SCHEMA", Do: func(t testing.TB, schema string) { server.Exec(t, `DROP SCHEMA `+quoted(schema)+` CASCADE`) }},
			{Name: "DROP TABLE", Do: exec(`DROP TABLE about, documents, rows, leases, roles`)},
			{Name: "TRUNCATE", Do: exec(`TRUNCATE about, documents, rows, leases, roles`)},
		},
		GoBack: []fleettest.GoBack{
			{Name: "a replica takes over", Keep: func(t testing.TB, schema string) func() string {
				replica := server.Replica(t)
				eventually.True(t, enough, func() bool { return has(t, replica, schema) }, "the replica to have what is there")
				replica.Kill(t) // so it misses what comes
				return func() string {
					server.Kill(t)
					replica.Restart(t)
					replica.Promote(t)
					server = replica
					return server.Addr()
				}
			}},
			{Name: "an older backup is restored", Keep: func(t testing.TB, _ string) func() string {
				restore := server.Backup(t)
				return func() string {
					restore()
					return server.Addr()
				}
			}},
		},
	}
}

func has(t testing.TB, server *pgtest.Server, schema string) bool {
	t.Helper()
	return server.Query(t, `SELECT count(*) FROM pg_tables WHERE schemaname = $1`, schema) == 5
}
