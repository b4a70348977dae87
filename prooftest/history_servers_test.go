//go:build unix

package prooftest

import (
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
)

// impatient is how long clients wait for a server that hangs. What they have asked for
// then may still be done when it goes on.
const impatient = time.Second

func TestHistoryOfRedis(t *testing.T) {
	server := redistest.Start(t)
	open := func(prefix string) fleet.Store {
		s, err := redisstore.Open(redisstore.Options{Addrs: []string{server.Addr}, Prefix: prefix, Timeout: impatient})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hang := func(begun func(), unclear <-chan struct{}) {
		server.Pause()
		begun()
		for range 3 {
			<-unclear
		}
		server.Resume()
	}
	drop := func(begun func(), _ <-chan struct{}) {
		begun()
		server.Do("client", "kill", "type", "normal")
	}
	histories(t, open, hang, drop)
}

func TestHistoryOfPostgres(t *testing.T) {
	server := pgtest.Start(t)
	open := func(prefix string) fleet.Store {
		s, err := pgstore.Open(pgstore.Options{URL: server.URL(), Schema: prefix, Timeout: impatient})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hang := func(begun func(), unclear <-chan struct{}) {
		server.Pause(t)
		begun()
		for range 3 {
			<-unclear
		}
		server.Resume(t)
	}
	drop := func(begun func(), _ <-chan struct{}) {
		begun()
		server.Drop(t)
	}
	histories(t, open, hang, drop)
}

// histories looks at a store that is well, that hangs, and that loses its connections.
func histories(t *testing.T, open func(prefix string) fleet.Store, hang, drop trouble) {
	for _, c := range []struct {
		name     string
		troubles []trouble
	}{
		{"well", nil},
		{"hung", []trouble{hang}},
		{"dropped", []trouble{drop, drop, drop}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all [][]porcupine.Operation
			for i := range 3 {
				all = append(all, record(t, func() fleet.Store {
					s := open(fmt.Sprintf("%s-%d", c.name, i))
					t.Cleanup(func() { _ = s.Close() })
					return s
				}, c.troubles...))
			}
			mustBeExplained(t, all...)
		})
	}
}
