//go:build linux

package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// The same on a Redis and on a PostgreSQL, which hang and die in between: calls go on, an
// operator's act holds, and all is shared again when the store is back.
func TestFleetOnRealStores(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		r := redistest.Start(t)
		s := newSiteOn(t, fmt.Sprintf("store: { redis: %q }", "redis://"+r.Addr), nil)
		s.tripsTogether(t)
		s.survives(t, r.Pause, r.Resume)
		s.survives(t, r.Kill, r.Restart) // and it comes back empty
	})
	t.Run("postgres", func(t *testing.T) {
		p := pgtest.Start(t)
		s := newSiteOn(t, fmt.Sprintf("store: { postgres: %q }", p.URL()), nil)
		s.tripsTogether(t)
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

// A store that is not there, or not ours, is said and in nobody's way.
func TestFleetBadStores(t *testing.T) {
	r := redistest.Start(t, "--requirepass", "right")
	for name, c := range map[string]struct{ yaml, says string }{
		"nothing there":  {`store: { redis: "redis://127.0.0.1:1" }`, "127.0.0.1:1"},
		"wrong password": {fmt.Sprintf(`store: { redis: "redis://:wr0ng-secret@%s" }`, r.Addr), "password"},
	} {
		t.Run(name, func(t *testing.T) {
			g, log := startGateway(t, `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/{dependency}/*" } ]
`+c.yaml)
			eventually.True(t, patience, func() bool {
				err := g.member.node.Status().Err
				return err != nil && strings.Contains(err.Error(), c.says)
			}, "the node to say "+c.says)
			if resp, err := http.Get("http://" + g.Addr() + "/a/x"); err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusBadGateway {
				t.Errorf("a call: %+v, %v", resp, err)
			}
			eventually.True(t, patience, func() bool { return strings.Contains(log.String(), "shares nothing with the fleet") }, "the log to say so")
			if strings.Contains(log.String(), "wr0ng") {
				t.Error("the log shows the password")
			}
		})
	}
}
