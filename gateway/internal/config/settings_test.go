package config

import (
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// What is written arrives in its field, in its unit.
func TestSettings(t *testing.T) {
	t.Setenv("RECLOSER_TEST_TOKEN", "secret")
	dependency := func(text string) string {
		return "dependencies: { a: { url: http://a.example, " + text + " } }\n" + oneRoute
	}
	route := func(text string) string {
		return oneDependency + "routes: [ { path: '/{dependency}/*', " + text + " } ]\n"
	}
	process := func(text string) string { return text + "\n" + oneDependency + oneRoute }
	for _, c := range []struct {
		file string
		got  func(*Config) any
		want any
	}{
		{process(""), func(c *Config) any { return c.Limits }, Limits{8192, 64 << 10, 0, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 250}},
		{
			process("limits: { in_flight: 5, headers: 8KiB, body: 10MiB, header_timeout: 1s, body_idle: 2s, answer_idle: 5s, idle: 3s, streams: 4 }"),
			func(c *Config) any { return c.Limits },
			Limits{5, 8 << 10, 10 << 20, time.Second, 2 * time.Second, 5 * time.Second, 3 * time.Second, 4},
		},
		{process("limits: { body: off }"), func(c *Config) any { return c.Limits.Body }, int64(0)},
		{process(""), func(c *Config) any { return c.TLS }, (*TLS)(nil)},
		{process("tls: { cert: a.crt, key: /b.key }"), func(c *Config) any { return *c.TLS }, TLS{"etc/a.crt", "/b.key"}},
		{
			process("admin: { listen: ':9000', sign_in: true, tls: { cert: a.crt, key: b.key }, embed: [ 'https://cms.example/' ], allow_targets: [ 169.254.10.7/24, 'fe80::1' ] }"),
			func(c *Config) any { return c.Admin },
			Admin{
				Listen: ":9000", SignIn: true, TLS: &TLS{"etc/a.crt", "etc/b.key"},
				Embed:        []string{"https://cms.example"},
				AllowTargets: []netip.Prefix{netip.MustParsePrefix("169.254.10.0/24"), netip.MustParsePrefix("fe80::1/128")},
			},
		},
		{process("admin: { tls: { cert: a.crt, key: b.key } }"), func(c *Config) any { return c.Admin.URL }, "https://127.0.0.1:8081"},
		{process(""), func(c *Config) any { return c.Storage.Path }, "etc/recloser.db"},
		{process("storage: off"), func(c *Config) any { return c.Storage.Path }, ""},
		{process(""), func(c *Config) any { return c.Alerts }, Alerts{Calm: time.Minute, Reminder: time.Hour}},
		{
			process("alerts: { calm: 2m, reminder: 30m, slack: [ { url: 'https://x.example/s', groups: [ coast, hills ], fallback: hook } ], webhook: [ { name: hook, url: 'http://127.0.0.1/x', secret: y } ],\n" +
				"  alertmanager: [ { url: 'http://am.example:9093' } ], shoutrrr: [ { url: 'smtp://u:p@mail.example' } ] }"),
			func(c *Config) any { return c.Alerts },
			Alerts{Calm: 2 * time.Minute, Reminder: 30 * time.Minute, Channels: []Channel{
				{Kind: Slack, Name: "slack-1", URL: "https://x.example/s", Groups: []string{"coast", "hills"}, Fallback: "hook"},
				{Kind: Webhook, Name: "hook", URL: "http://127.0.0.1/x", Key: "y"},
				{Kind: Alertmanager, Name: "alertmanager-1", URL: "http://am.example:9093"},
				{Kind: Shoutrrr, Name: "shoutrrr-1", URL: "smtp://u:p@mail.example"},
			}},
		},
		{process(""), func(c *Config) any { return c.Traces }, (*Traces)(nil)},
		{process("traces: { endpoint: 'http://127.0.0.1:4318' }"), func(c *Config) any { return *c.Traces }, Traces{Endpoint: &url.URL{Scheme: "http", Host: "127.0.0.1:4318", Path: "/v1/traces"}, Sample: 1}},
		{
			process("traces: { endpoint: 'https://collector.example/otlp', headers: { x-team: hotels, authorization: 'Bearer ${RECLOSER_TEST_TOKEN}' }, sample: 5% }"),
			func(c *Config) any { return *c.Traces },
			Traces{Endpoint: &url.URL{Scheme: "https", Host: "collector.example", Path: "/otlp"}, Headers: map[string]Secret{"X-Team": "hotels", "Authorization": "Bearer secret"}, Sample: 0.05},
		},
		{process("storage: x.sqlite"), func(c *Config) any { return c.Storage.Path }, "etc/x.sqlite"},
		{process("storage: { path: /var/x.db }"), func(c *Config) any { return c.Storage.Path }, "/var/x.db"},

		{dependency("labels: { region: coast, stars: 4 }"), first("Labels"), map[string]string{"region": "coast", "stars": "4"}},
		{"defaults: { labels: { region: hill, x: y } }\n" + dependency("labels: { region: coast }"), first("Labels"), map[string]string{"region": "coast", "x": "y"}},
		{dependency("http: http1"), first("HTTP"), HTTP1},
		{dependency("http: h2c"), first("HTTP"), H2C},
		{dependency("body_idle: 5s"), first("BodyIdle"), 5 * time.Second},
		{dependency("body_idle: off"), first("BodyIdle"), time.Duration(recloser.Off)},
		{dependency("bulkhead: 7"), first("Bulkhead"), 7},
		{"defaults: { bulkhead: 9 }\n" + dependency(""), first("Bulkhead"), 9},
		{dependency("breaker: { suspect: 300ms }"), first("Suspect"), 300 * time.Millisecond},
		{dependency("breaker: { suspect: off }"), first("Suspect"), time.Duration(recloser.Off)},
		{"defaults: { breaker: { suspect: off } }\n" + dependency("breaker: { suspect: auto }"), first("Suspect"), time.Duration(0)},
		{dependency("breaker: { shadow: true }"), func(c *Config) any { return c.Dependencies[0].Settings.Shadow }, true},
		{"defaults: { probe: { idle: off } }\n" + dependency(""), first("Probe"), (*Probe)(nil)},
		{dependency("probe: { path: '/ping?x=1' }"), first("Probe"), &Probe{"/ping?x=1", time.Second, time.Minute}},
		{"defaults: { probe: { idle: off, timeout: 3s } }\n" + dependency("probe: { path: /ping, timeout: 2s }"), first("Probe"), &Probe{"/ping", 2 * time.Second, recloser.Off}},
		{dependency("retry: { backoff: 1s }"), first("Retry"), guard.Retry{}},
		{dependency("retry: { attempts: 3 }"), first("Retry"), guard.Retry{Attempts: 3, Backoff: 100 * time.Millisecond, MaxBackoff: 10 * time.Second, Budget: 0.1, Floor: 1}},
		{
			"defaults: { retry: { attempts: 3, backoff: 20s, floor: off } }\n" + dependency("retry: { backoff: 40s, budget: 20% }"),
			first("Retry"),
			guard.Retry{Attempts: 3, Backoff: 40 * time.Second, MaxBackoff: 40 * time.Second, Budget: 0.2, Floor: recloser.Off},
		},
		{"defaults: { retry: { attempts: 2 } }\n" + dependency("retry: off"), first("Retry"), guard.Retry{}},
		{dependency("retry: { attempts: 2, floor: 30/min }"), func(c *Config) any { return c.Dependencies[0].Retry.Floor }, 0.5},
		{dependency("rate_limit: { rate: 90/min }"), first("RateLimit"), guard.RateLimit{Rate: 1.5, Burst: 2}},
		{"defaults: { rate_limit: { rate: 50/s } }\n" + dependency("rate_limit: { burst: 7 }"), first("RateLimit"), guard.RateLimit{Rate: 50, Burst: 7}},
		{"defaults: { rate_limit: { rate: 50/s } }\n" + dependency("rate_limit: off"), first("RateLimit"), guard.RateLimit{}},
		{dependency("key: header x-property"), first("Key"), &Key{"X-Property", 10_000}},
		{dependency("key: { header: X-Property, max: 5 }"), first("Key"), &Key{"X-Property", 5}},
		{"defaults: { key: header X-Property }\n" + dependency("key: off"), first("Key"), (*Key)(nil)},
		{"defaults: { key: header X-Property }\n" + dependency("key: { max: 3 }"), first("Key"), &Key{"X-Property", 3}},

		{route("rate_limit: { rate: 50/s }"), func(c *Config) any { return c.Routes[0].RateLimit }, &RateLimit{"client", 50, 50, 10_000}},
		{route("rate_limit: { per: header x-name, rate: 10/h, burst: 2, max: 3 }"), func(c *Config) any { return c.Routes[0].RateLimit }, &RateLimit{"header X-Name", 10.0 / 3600, 2, 3}},
		{route("rate_limit: { per: route, rate: 10/h }"), func(c *Config) any { return c.Routes[0].RateLimit }, &RateLimit{"route", 10.0 / 3600, 1, 10_000}},
		{route("last_known: { for: 10m }"), func(c *Config) any { return c.Routes[0].LastKnown }, &LastKnown{10 * time.Minute, nil, 1000, 16 << 20}},
		{
			route("last_known: { for: 1h, key: [ x-guest, X-Gate ], max: 5, memory: 1MiB }"),
			func(c *Config) any { return c.Routes[0].LastKnown }, &LastKnown{time.Hour, []string{"X-Guest", "X-Gate"}, 5, 1 << 20},
		},
	} {
		parsed, err := Parse("etc/recloser.yaml", []byte(c.file))
		if err != nil {
			t.Errorf("%s%v", c.file, err)
		} else if got := c.got(parsed); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%sgot %+v, want %+v", c.file, got, c.want)
		}
	}
}

// first returns a field of the first dependency.
func first(field string) func(*Config) any {
	return func(c *Config) any { return reflect.ValueOf(c.Dependencies[0]).FieldByName(field).Interface() }
}

// What a dependency says changes none of the others, nor the defaults.
func TestDependenciesShareNothing(t *testing.T) {
	c, err := Parse("x.yaml", []byte(`
defaults: { labels: { a: b }, key: header X-A, probe: { timeout: 3s }, retry: { attempts: 2 } }
dependencies:
  a: { url: http://a.example, labels: { a: c, d: e }, key: { max: 1 }, probe: { path: /a, timeout: 1s }, retry: { attempts: 5 } }
  b: { url: http://b.example, probe: { path: /b } }
routes: [ { path: '/{dependency}/*' } ]
`))
	if err != nil {
		t.Fatal(err)
	}
	b := c.Dependencies[1]
	if b.Labels["a"] != "b" || len(b.Labels) != 1 || b.Key.Max != 10_000 || b.Probe.Timeout != 3*time.Second || b.Retry.Attempts != 2 {
		t.Errorf("%+v %+v %+v", b, b.Key, b.Probe)
	}
}

func TestStorageOfService(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "/var/lib/recloser:/var/lib/other")
	for text, want := range map[string]string{"": "/var/lib/recloser/gates.db", "storage: x.db\n": "etc/x.db"} {
		c, err := Parse("etc/gates.yaml", []byte(text+oneDependency+oneRoute))
		if err != nil || c.Storage.Path != want {
			t.Errorf("%q: %+v %v", text, c, err)
		}
	}
}

// G22: people at another machine need a token.
func TestAdminForOthersNeedsSignIn(t *testing.T) {
	for admin, fine := range map[string]bool{
		`{ listen: "0.0.0.0:8081" }`:                               false,
		`{ listen: ":8081" }`:                                      false,
		`{ listen: "[::]:8081", sign_in: false }`:                  false,
		`{ listen: "10.0.0.7:8081", tls: { cert: a, key: b } }`:    false,
		`{ listen: "recloser.example:8081" }`:                      false,
		`{ listen: ":8081", sign_in: true }`:                       true,
		`{ listen: "localhost:8081" }`:                             true,
		`{ sign_in: false, listen: "127.8.8.8:1" }`:                true,
		`{ listen: "[::1]:8081" }`:                                 true,
		`{ sign_in: true, listen: "10.0.0.7:8081" }`:               true,
		`{ listen: "[::ffff:127.0.0.1]:8081" }`:                    true,
		`{ listen: "[::ffff:10.0.0.1]:8081" }`:                     false,
		`{ listen: "localhost.example:8081", url: "http://x.de" }`: false,
	} {
		_, err := Parse("x.yaml", []byte("admin: "+admin+"\n"+oneDependency+oneRoute))
		if fine != (err == nil) || err != nil && (!strings.Contains(err.Error(), "there is no sign-in") || !strings.Contains(err.Error(), "sign_in: true")) {
			t.Errorf("%s: %v", admin, err)
		}
	}
}

// Whoever gets a message has its links from somewhere else.
func TestWarnsOfLinksThatLeadNowhere(t *testing.T) {
	const teams = "alerts: { teams: [ { url: 'https://hooks.example' } ] }\n"
	for text, want := range map[string]string{
		teams: "x.yaml:1:9: links in messages lead to this machine only, as admin.listen does; set admin.url to how people reach the panel",
		teams + "admin: { listen: ':8081', sign_in: true, tls: { cert: a, key: b } }\n":         `x.yaml:1:9: messages have no links to the panel, as admin.listen names no host; set admin.url to how people reach it`,
		teams + "admin: { listen: '[::1]:8081', url: 'http://recloser.example' }\n":             "",
		teams + "admin: { listen: '10.0.0.7:8081', sign_in: true, tls: { cert: a, key: b } }\n": "",
		teams + "admin: { listen: '127.0.0.1:0' }\n":                                            "",
		"": "",
	} {
		c, err := Parse("x.yaml", []byte(text+oneDependency+oneRoute))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Warnings, "\n"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}
