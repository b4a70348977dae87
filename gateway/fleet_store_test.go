//go:build linux && !race

package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/internal/eventually"
)

// The same on a Redis and on a PostgreSQL, which hang and die in between: calls go on, an
// operator's act holds, and all is shared again when the store is back.
func TestFleetOnRealStores(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		r := redistest.Start(t)
		s := newSiteOn(t, fmt.Sprintf("store: { redis: %q }", "redis://"+r.Addr), nil)
		s.tripsTogether(t)
		s.remembers(t, func() { r.Do("flushall") })
		s.survives(t, r.Pause, r.Resume)
		s.survives(t, r.Kill, r.Restart) // and it comes back empty
	})
	t.Run("postgres", func(t *testing.T) {
		p := pgtest.Start(t)
		s := newSiteOn(t, fmt.Sprintf("store: { postgres: %q }", p.URL()), nil)
		s.tripsTogether(t)
		s.remembers(t, func() { p.Exec(t, `DROP SCHEMA recloser CASCADE`) })
		s.survives(t, func() { p.Pause(t) }, func() { p.Resume(t) })
		s.survives(t, func() { p.Kill(t) }, func() { p.Restart(t) })
	})
}

// survives takes the store away and gives it back.
func (s *site) survives(t *testing.T, away, back func()) {
	t.Helper()
	away()
	for i, g := range s.nodes {
		eventually.True(t, patience, func() bool { return g.member.node.Status().Mode != fleet.Shared }, fmt.Sprintf("node %d to notice", i))
		if code := s.call(t, i); code != http.StatusOK {
			t.Errorf("node %d answers %d while the store is away", i, code)
		}
	}
	d, _ := s.nodes[1].Dependencies().Get("hotel-1")
	if err := d.Operator().Isolate("ines", "meanwhile", time.Now().Add(time.Hour)); err != nil || s.state(1) != recloser.Isolated {
		t.Errorf("an act while the store is away: %v, and it is %s", err, s.state(1))
	}
	back()
	s.all(t, recloser.Isolated)
	if !d.Operator().Release("ines", "done") {
		t.Error("nothing was released")
	}
	s.closes(t)
}

// remembers has a store forget what an operator did and what was added at run time, and
// the nodes put it there again.
func (s *site) remembers(t *testing.T, forget func()) {
	t.Helper()
	act(t, s.nodes[0], "POST", "dependencies", `{"id":"hotel-9","definition":{"url":"http://127.0.0.1:9"}}`)
	act(t, s.nodes[1], "PUT", "dependencies/hotel-1/override", `{"mode":"isolated","for":"1h","reason":"their database moves"}`)
	s.all(t, recloser.Isolated)
	look := openStore(t, s.nodes[0].config.Load())
	there := func() bool {
		docs, _, err := look.Load(t.Context())
		found := 0
		for i := range docs {
			if d := &docs[i]; d.Key == "gateway/dependency/hotel-9" || d.Key == "breaker/hotel-1" && strings.Contains(string(d.Data), "their database moves") {
				found++
			}
		}
		return err == nil && found == 2
	}
	eventually.True(t, patience, there, "the store to have both")
	forget()
	if there() {
		t.Fatal("the store has forgotten nothing; the test is wrong")
	}
	eventually.True(t, patience, func() bool {
		for i, g := range s.nodes {
			if _, ok := g.Dependencies().Get("hotel-9"); !ok || s.state(i) != recloser.Isolated {
				t.Fatalf("node %d forgets what the store forgot: %s, hotel-9 %t", i, s.state(i), ok)
			}
		}
		return there()
	}, "the store to have both again")
	act(t, s.nodes[2], "DELETE", "dependencies/hotel-9", "")
	act(t, s.nodes[2], "DELETE", "dependencies/hotel-1/override", "")
	s.closes(t)
}

func openStore(t *testing.T, c *config.Config) fleet.Store {
	t.Helper()
	store, err := OpenStore(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// A store that is not there, is not to be used or is not ours is said and in nobody's way.
// Nothing is taken from it nor put there.
func TestFleetBadStores(t *testing.T) {
	r := redistest.Start(t, "--requirepass", "right")
	r.Do("acl", "setuser", "weak", "on", ">wr0ng-secret", "~*", "&*", "+@read", "+@connection")
	p := pgtest.Start(t)
	p.Exec(t, `CREATE ROLE weak LOGIN PASSWORD 'wr0ng-secret'; CREATE SCHEMA later; CREATE TABLE later.about (version integer); INSERT INTO later.about VALUES (99)`)
	redis := func(login, more string) string {
		return fmt.Sprintf("store: { redis: %q%s }", "redis://"+login+"@"+r.Addr, more)
	}
	postgres := func(login, more string) string {
		return fmt.Sprintf("store: { postgres: %q%s }", "postgres://"+login+"@"+p.Addr()+"/postgres?sslmode=disable", more)
	}
	admin := pgtest.User + ":" + url.QueryEscape(pgtest.Password)
	const (
		port  = `{"schema":1,"fleet":"port"}`
		newer = `{"schema":99,"fleet":"recloser"}`
		alien = `belongs to the fleet \"port\"`
		later = "has schema 99, and this program knows 1; update this node"
	)
	for name, c := range map[string]struct{ yaml, about, says string }{
		"redis: nothing there":      {`store: { redis: "redis://127.0.0.1:1" }`, "", "redis at 127.0.0.1:1: nobody listens there: start the server"},
		"redis: wrong password":     {redis(":wr0ng-secret", ""), "", "the user or password is wrong: correct it"},
		"redis: no rights":          {redis("weak:wr0ng-secret", ""), "", "the user may not do what a store needs: widen its ACL"},
		"redis: another fleet's":    {redis(":right", ", prefix: port"), port, alien},
		"redis: newer schema":       {redis(":right", ", prefix: newer"), newer, later},
		"postgres: nothing there":   {`store: { postgres: "postgres://127.0.0.1:1/none" }`, "", "no connection; is the server running"},
		"postgres: wrong password":  {postgres("weak:wr0ng-secret-2", ""), "", `does not take the password of user \"weak\"`},
		"postgres: no rights":       {postgres("weak:wr0ng-secret", ""), "", `user \"weak\" may not make or use the tables: CREATE SCHEMA`},
		"postgres: newer tables":    {postgres(admin, ", prefix: later"), "", "the tables are of a later version of Recloser: update this node"},
		"postgres: another fleet's": {postgres(admin, ", prefix: port"), port, alien},
		"postgres: newer schema":    {postgres(admin, ", prefix: newer"), newer, later},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			yaml := `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/{dependency}/*" } ]
` + c.yaml
			var store fleet.Store
			if c.about != "" {
				store = openStore(t, parse(t, yaml))
				for key, data := range map[string]string{"about": c.about, "gateway/dependency/theirs": `{"id":"theirs","definition":{"url":"http://127.0.0.1:9"}}`} {
					if _, err := store.Put(t.Context(), fleet.Rev{}, fleet.Doc{Key: key, Rev: fleet.Rev{Epoch: 1, ID: 1}, Data: []byte(data)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			g, log := startGateway(t, yaml)
			act(t, g, "POST", "dependencies", `{"id":"ours","definition":{"url":"http://127.0.0.1:9"}}`)
			act(t, g, "PUT", "dependencies/ours/override", `{"mode":"isolated","for":"1h","reason":"why"}`)
			eventually.True(t, patience, func() bool {
				return strings.Contains(log.String(), "shares nothing with the fleet") && strings.Contains(log.String(), c.says)
			}, "the log to say: "+c.says)
			if resp, err := http.Get("http://" + g.Addr() + "/a/x"); err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusBadGateway {
				t.Errorf("a call: %+v, %v", resp, err)
			}
			eventually.True(t, patience, func() bool {
				s := g.member.node.Status()
				return s.Mode == fleet.Alone && s.Err != nil && strings.Contains(strconv.Quote(s.Err.Error()), c.says)
			}, "the node to say: "+c.says)
			if strings.Contains(log.String(), "wr0ng") {
				t.Error("the log shows the password")
			}
			if _, ok := g.Dependencies().Get("theirs"); ok {
				t.Error("another fleet's dependency is here")
			}
			if store != nil {
				if docs, _, err := store.Load(t.Context()); err != nil || len(docs) != 2 {
					t.Errorf("the store has %d documents, %v; want the two that were there", len(docs), err)
				}
			}
		})
	}
}

// A gateway that has not met the others since it started knows of nobody who would tell
// people and probe, and does so itself.
func TestFleetThatIsNeverMet(t *testing.T) {
	t.Parallel()
	g, _ := startGateway(t, `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/{dependency}/*" } ]
store: { redis: "redis://127.0.0.1:1" }
`)
	does := func() bool { return g.member.leads(roleSender) && g.member.leads(roleProber) }
	if does() {
		t.Error("it does at once what others may be about to do")
	}
	eventually.True(t, patience, does, "the gateway to tell people and probe")
}
