package config

import (
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Store is what the nodes of a fleet share. At most one of its URLs is set; none: this
// process is alone.
type Store struct {
	Redis    Secret // URL of a server, Sentinels or a cluster
	Postgres Secret // URL of a database
	Prefix   string // of Redis' keys, or the schema of the tables; default "recloser"
}

// Shared reports whether there is a store.
func (s *Store) Shared() bool { return s.Redis != "" || s.Postgres != "" }

// Fleet says which nodes belong together, and when one's bad calls count for all.
type Fleet struct {
	Name      string        // default "recloser"
	Node      string        // of this process, no other's; default: with a store, that of the machine
	Revision  int           // of the settings: a node with an older one follows and does not decide; default 1
	Window    time.Duration // default 60 s
	Failures  int           // in the window, of all nodes, that trip; default 5
	Rate      float64       // of the calls that must have failed; default 0.5
	Reporters int           // nodes that must have seen some, if so many had calls; default 3
}

func fleetDefaults() Fleet {
	return Fleet{Name: "recloser", Revision: 1, Window: time.Minute, Failures: 5, Rate: 0.5, Reporters: 3}
}

func (s *Store) keys() []key {
	return []key{
		{ //nolint:gosec // an example
			name: "redis", value: storeURL(&s.Redis, "redis", "rediss"), restart: true, span: "`redis://` or, with TLS, `rediss://`", normal: "none",
			means: "a Redis or Valkey server: `redis://user:password@host:6379/0`; with `?master=NAME` Sentinels, with `?cluster=true` a cluster. It may hold a password, so it is masked everywhere; `${NAME}` and `file:PATH` as in the `url` of a channel",
		},
		{ //nolint:gosec // an example
			name: "postgres", value: storeURL(&s.Postgres, "postgres", "postgresql"), restart: true, span: "`postgres://`", normal: "none",
			means: "a PostgreSQL database: `postgres://user:password@host:5432/database`; masked, `${NAME}` and `file:PATH` likewise",
		},
		{name: "prefix", value: line(&s.Prefix), restart: true, means: "what its keys begin with (Redis), or the schema of its tables (PostgreSQL): two fleets on one server need two"},
	}
}

func (f *Fleet) keys() []key {
	return []key{
		{name: "name", value: line(&f.Name), restart: true, means: "of the fleet: nodes of another cannot use its store by mistake"},
		{name: "node", value: line(&f.Node), restart: true, normal: "the machine's name", means: "of this process: no two may have the same"},
		{name: "revision", value: whole(&f.Revision, 1, 1e9), span: "`1` to `1000000000`", means: "of the settings: raise it with a change of thresholds. While nodes differ, those with an older one follow the fleet and do not decide for it"},
		{name: "window", value: duration(&f.Window, time.Second, 10*time.Minute), span: "`1s` to `10m`", means: "how far back the calls of all nodes count"},
		{name: "failures", value: whole(&f.Failures, 1, 1000), span: "`1` to `1000`", means: "this many bad calls of all nodes together trip"},
		{name: "rate", value: shareUpTo(&f.Rate, 1), span: "`1%` to `100%`", means: "if they are at least this share"},
		{name: "reporters", value: whole(&f.Reporters, 1, 1000), span: "`1` to `1000`", means: "nodes from which they must come, if so many had calls: one with a broken network trips nobody else"},
	}
}

// value reads the section, and looks that it names one store.
func (s *Store) value() value {
	v := section(s.keys)
	read := v.read
	v.read = func(r *reader, n ast.Node) {
		read(r, n)
		if _, ok := n.(ast.MapNode); !ok {
			return
		}
		switch redis, postgres := r.has(n, "redis"), r.has(n, "postgres"); {
		case redis && postgres:
			r.fault(n, "leave one", "store names two stores")
		case !redis && !postgres:
			r.fault(n, "write it like store: { redis: \"redis://host:6379\" }", "store names none")
		}
	}
	return v
}

func storeURL(to *Secret, schemes ...string) value {
	v := secretText(to)
	v.read = func(r *reader, n ast.Node) {
		s, ok := r.secretFrom(n)
		if !ok {
			return
		}
		if u, err := url.Parse(s); err != nil || u.Scheme != schemes[0] && u.Scheme != schemes[1] {
			r.fault(n, fmt.Sprintf("it begins with %s:// and, in a password, has %%40 for @, %%2F for / and %%23 for #", schemes[0]), "this is not the url of such a store")
			return
		}
		*to = Secret(s)
	}
	return v
}

// settle gives the node the machine's name.
func (f *Fleet) settle(r *reader, s *Store) {
	if !s.Shared() || f.Node != "" {
		return
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		p := r.places["store"]
		p.r.fault(p.n, "add fleet: { node: NAME }", "this machine has no name that could tell this node from the others")
	}
	f.Node = name
}
