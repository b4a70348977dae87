package config

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	const base = `
dependencies:
  a: { url: http://a.example }
  b: { url: http://b.example, breaker: { trials: 3 } }
routes:
  - path: /{dependency}/*
`
	t.Setenv("NEW_URL", "https://hook.example/other-SECRET")
	alerts := "alerts: { teams: [ { url: 'https://hook.example/SECRET' } ] }\n"
	for _, c := range []struct{ name, from, to, want, restart string }{
		{"nothing", base, base, "nothing changed", ""},
		{"another way to write it", base, "# a comment\ngrace: 15000ms\nlisten: ':8080'\ndefaults: { timeout: 5s }" + base, "nothing changed", ""},
		{"added", base, strings.Replace(base, "routes:", "  c: { url: http://c.example }\n  d: { url: http://d.example }\nroutes:", 1), "added c, d", ""},
		{"removed", base, strings.Replace(base, "  a: { url: http://a.example }\n", "", 1), "removed a", ""},
		{"a setting", base, strings.Replace(base, "trials: 3", "trials: 4", 1), "dependencies.b.breaker.trials: 3 -> 4", ""},
		{"by defaults", base, "defaults: { timeout: 4s, attempt_timeout: 3s }" + base, "defaults.timeout: 5s -> 4s, dependencies.a.timeout: 5s -> 4s, dependencies.b.timeout: 5s -> 4s", ""},
		{
			"a section", base, strings.Replace(base, "http://a.example", "http://a.example, probe: { path: /ping }", 1),
			"dependencies.a.probe.path: /ping, new, dependencies.a.probe.timeout: 1s, new, dependencies.a.probe.idle: 1m, new", "",
		},
		{"no label", strings.Replace(base, "a.example", "a.example, labels: { x.y: z }", 1), base, `dependencies.a.labels["x.y"]: no longer z`, ""},
		{"a route", base, base + "  - { path: /x, dependency: a }\n", `routes["/x"].path: /x, new, routes["/x"].dependency: a, new, routes["/x"].release_on_trip: true, new`, ""},
		{
			"what needs a restart", base, "listen: ':1'\nadmin: { tls: { cert: a, key: b }, url: 'https://x.example' }\nstorage: off\nlimits: { streams: 5, in_flight: 7 }" + base,
			"limits.in_flight: 8192 -> 7; only after a restart: listen: :8080 -> :1, admin.url: http://127.0.0.1:8081 -> https://x.example, " +
				"admin.tls.cert: a, new, admin.tls.key: b, new, limits.streams: 250 -> 5, storage: x.db -> off",
			"listen admin.url admin.tls.cert admin.tls.key limits.streams storage",
		},
		{
			"traces", "traces: { endpoint: 'http://127.0.0.1:4318', headers: { A: SECRET-1, b: same } }" + base, "traces: { endpoint: 'http://127.0.0.1:4318', headers: { a: SECRET-2, B: same }, sample: 10% }" + base,
			"only after a restart: traces.headers.A: *** -> ***, traces.sample: 100% -> 10%", "traces.headers.A traces.sample",
		},
		{"no tls", "tls: { cert: a, key: b }" + base, base, "only after a restart: tls.cert: no longer a, tls.key: no longer b", "tls.cert tls.key"},
		{"a secret", alerts + base, strings.Replace(alerts, "https://hook.example/SECRET", "${NEW_URL}", 1) + base, "alerts.teams.teams-1.url: *** -> ***", ""},
	} {
		parse := func(text string) *Config {
			c, err := Parse("x.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		from, to := parse(c.from), parse(c.to)
		changes := to.Diff(from)
		if got := changes.String(); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
		if got := strings.Join(changes.Restart, " "); got != c.restart {
			t.Errorf("%s: restart for %s, want %s", c.name, got, c.restart)
		}
		if to.Equal(from) != (c.want == nothingChanged) {
			t.Errorf("%s: Equal is wrong", c.name)
		}
	}
}

// A log line is read by people.
func TestManyChangesAreCounted(t *testing.T) {
	changes := Changes{Added: make([]string, 25)}
	if got := changes.String(); !strings.HasSuffix(got, ", 5 more") || len(changes.Added) != 25 {
		t.Errorf("got %s", got)
	}
}
