//go:build unix

package pgstore

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/fleet/storetest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // the nodes of a fleet wait, most of the time
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// dropAll makes a server forget all fleets.
const dropAll = `DO $$
	DECLARE s text;
	BEGIN
		FOR s IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname NOT IN ('public', 'information_schema') LOOP
			EXECUTE format('DROP SCHEMA %I CASCADE', s);
		END LOOP;
	END $$`

func open(t testing.TB, server *pgtest.Server, schema string) *Store {
	t.Helper()
	// On a machine with other things to do, an answer may take its time.
	s, err := Open(Options{URL: server.URL(), Schema: schema, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestServer runs what needs a server, and leaves one that runs, on the same: to make one
// takes a second.
func TestServer(t *testing.T) {
	server := pgtest.Start(t, "max_connections=400", "autovacuum=off")
	for _, c := range []struct {
		name string
		run  func(*testing.T, *pgtest.Server)
	}{
		{"HungServerHoldsNothing", hungServerHoldsNothing},
		{"AbandonedStatementsEnd", abandonedStatementsEnd},
		{"TablesAreMadeBehindImpatientCallers", tablesAreMadeBehindImpatientCallers},
		{"AllNodesMakeTheTables", allNodesMakeTheTables},
		{"Crash", crash},
		{"IsolationOfTheDatabase", isolationOfTheDatabase},
		{"ToAskInVainWritesNothing", toAskInVainWritesNothing},
		{"WatchOfAHungServerEnds", watchOfAHungServerEnds},
		{"DeadNodesAreFound", deadNodesAreFound},
		{"TablesBecomeNewer", tablesBecomeNewer},
		{"OneTableIsGone", oneTableIsGone},
		{"Trouble", trouble},
		{"LateTransactionIsNotMissed", lateTransactionIsNotMissed},
		{"LostPush", lostPush},
		{"Sweep", sweep},
	} {
		t.Run(c.name, func(t *testing.T) {
			server.Exec(t, dropAll)
			c.run(t, server)
		})
	}
}

func TestStore(t *testing.T) {
	server := pgtest.Start(t, "max_connections=400")
	storetest.Run(t, func(*testing.T) storetest.Harness {
		return storetest.Harness{
			New: func(t testing.TB, prefix string) fleet.Store { return open(t, server, prefix) },
			Quiet: func(t testing.TB, prefix string) fleet.Store {
				s := open(t, server, prefix)
				s.channel = "nobody listens"
				return s
			},
			Pause: server.Pause, Resume: server.Resume, Restart: server.Restart,
			Flush: func(t testing.TB) { server.Exec(t, dropAll) },
			Drop:  server.Drop, Connections: server.Connections,
			Missing: map[string]string{"Skewed": "a client asks the server for the time, never its own machine"},
		}
	})
}
