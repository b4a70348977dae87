package config

import (
	"errors"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

var update = flag.Bool("update", false, "write the messages in testdata anew")

const teamsURL = "https://hook.example/workflows/0?sig=from-the-environment"

func loadGood(t *testing.T) *Config {
	t.Helper()
	t.Setenv("TEAMS_URL", teamsURL)
	c, err := Load("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoad(t *testing.T) {
	c := loadGood(t)
	mustURL := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	if c.Listen != ":8080" || c.Grace != 20*time.Second {
		t.Errorf("listen %q, grace %s", c.Listen, c.Grace)
	}
	if want := (Admin{Listen: "127.0.0.1:8081", URL: "https://recloser.example"}); !reflect.DeepEqual(c.Admin, want) {
		t.Errorf("admin %+v, want %+v", c.Admin, want)
	}
	wantDependencies := []Dependency{
		{
			ID: "hotel-1", Name: "Aurora Central", Group: "coast", URL: mustURL("https://api.hotel-1.example/v1"),
			Timeout: 4 * time.Second, AttemptTimeout: 2500 * time.Millisecond,
			Suspect: recloser.Off, Settings: recloser.Config{SlowCall: time.Second, FailureRate: 0.4, CancelOnTrip: true},
		},
		{
			ID: "hotel-2", Name: "hotel-2", Group: "coast", URL: mustURL("http://127.0.0.1:9002"),
			Timeout: 2 * time.Second, AttemptTimeout: 2 * time.Second,
			Suspect: recloser.Off, Settings: recloser.Config{
				Window: 30 * time.Second, MinCalls: 5, FailureRate: recloser.Off, Consecutive: 3,
				Spread: recloser.Off, SlowCall: recloser.Off, OpenFor: 2 * time.Second, MaxOpenFor: 5 * time.Second,
				Jitter: recloser.Off, ResetAfter: 2 * time.Minute, Trials: 1, TrialTimeout: 20 * time.Second,
				Ramp: recloser.Off, RetryAfterMax: recloser.Off,
			},
		},
		{
			ID: "hotel-3", Name: "hotel-3", URL: mustURL("https://hotel-3.example:8443"),
			Timeout: 4 * time.Second, AttemptTimeout: 4 * time.Second,
			Suspect: recloser.Off, Settings: recloser.Config{SlowCall: time.Second, FailureRate: 0.4, CancelOnTrip: true},
		},
	}
	for i := range wantDependencies {
		wantDependencies[i].HTTP, wantDependencies[i].BodyIdle, wantDependencies[i].Bulkhead = Auto, time.Minute, 1024
	}
	if !reflect.DeepEqual(c.Dependencies, wantDependencies) {
		t.Errorf("dependencies\n%+v\nwant\n%+v", c.Dependencies, wantDependencies)
	}
	for _, r := range c.Routes {
		if r.Ask != nil {
			if r.Ask.Condition == nil {
				t.Errorf("%s: no condition", r.Path)
			}
			r.Ask.Condition = nil
		}
	}
	wantRoutes := []Route{
		{Path: "/hotels/{dependency}/*", ReleaseOnTrip: true},
		{Path: "/second/*", Dependency: "hotel-2"},
		{Path: "/access", ReleaseOnTrip: true, Ask: &Ask{
			Group: "*", Accept: "status == 200 && body.allowed == true", Decide: FirstYes, Timeout: 1500 * time.Millisecond,
		}},
		{Path: "/access/coast", ReleaseOnTrip: true, Ask: &Ask{
			Group: "coast", Accept: "status == 200", Decide: Quorum, Quorum: 2, Timeout: 4 * time.Second,
		}},
	}
	if !reflect.DeepEqual(c.Routes, wantRoutes) {
		t.Errorf("routes\n%+v\nwant\n%+v", c.Routes, wantRoutes)
	}
	wantTeams := []Channel{{Kind: Teams, Name: "gates", URL: teamsURL}, {Kind: Teams, Name: "teams-2", URL: "https://hook.example/workflows/1?sig=from-the-file"}}
	if !reflect.DeepEqual(c.Alerts.Channels, wantTeams) {
		t.Error("alerts.teams is not what the environment and the file say")
	}
	if len(c.Warnings) != 0 {
		t.Errorf("warnings %q", c.Warnings)
	}
}

func TestParseDefaults(t *testing.T) {
	c, err := Parse("min.yaml", []byte("dependencies: {a: {url: http://a.example}}\nroutes:\n- {path: /a, ask: {accept: 'true'}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != ":8080" || c.Admin.Listen != "127.0.0.1:8081" || c.Admin.URL != "http://127.0.0.1:8081" || c.Grace != 15*time.Second {
		t.Errorf("%+v", c)
	}
	d := c.Dependencies[0]
	if d.Timeout != 5*time.Second || d.AttemptTimeout != 3*time.Second {
		t.Errorf("timeouts %s %s", d.Timeout, d.AttemptTimeout)
	}
	if s := d.Settings; s.SlowCall != 2*time.Second || !s.CancelOnTrip {
		t.Errorf("settings %+v", s)
	}
	if a := c.Routes[0].Ask; a.Group != "*" || a.Decide != FirstYes || a.Timeout != 5*time.Second {
		t.Errorf("ask %+v", a)
	}
}

// What is allowed and hardly meant is named, with what to do about it.
func TestParseWarnings(t *testing.T) {
	const (
		a      = "dependencies:\n  a: { url: http://a.example }\n"
		routes = "routes:\n  - path: /{dependency}/*\n"
		off    = "defaults: { breaker: { suspect: off } }\n"
	)
	for _, c := range []struct{ name, yaml, want string }{
		{"none", a + routes, ""},
		{"a learned limit is below any timeout", a + routes + "  - path: /access\n    ask: { accept: 'true', timeout: 1s }\n", ""},
		{
			"an ask that ends before a member can be called slow",
			off + a + routes + "  - path: /access\n    ask: { accept: 'true', timeout: 2s }\n",
			"x.yaml:7:37: the ask's timeout 2s is not above the slow_call of a (2s, the default), and suspect is off, so a hang shows only after the answer went out; " +
				"write suspect: auto, a timeout above 2s, or a slow_call below 2s under breaker: of defaults or of each",
		},
		{
			"before several",
			off + "dependencies:\n" +
				"  a: { url: http://a.example, breaker: { slow_call: 1500ms } }\n" +
				"  b: { url: http://b.example, breaker: { slow_call: 3s } }\n" +
				"  c: { url: http://c.example, breaker: { slow_call: off } }\n" +
				routes + "  - path: /access\n    ask: { accept: 'true', timeout: 1s }\n",
			"x.yaml:9:37: the ask's timeout 1s is not above the slow_call of a (1.5s) and 1 more, and suspect is off, so a hang shows only after the answer went out; " +
				"write suspect: auto, a timeout above 3s, or a slow_call below 1s under breaker: of defaults or of each",
		},
		{
			"the defaults' timeout",
			"defaults: { timeout: 1s, breaker: { suspect: off } }\n" + a + routes + "  - path: /access\n    ask: { accept: 'true' }\n",
			"x.yaml:7:10: the ask's timeout 1s is not above the slow_call of a (2s, the default), and suspect is off, so a hang shows only after the answer went out; " +
				"write suspect: auto, a timeout above 2s, or a slow_call below 1s under breaker: of defaults or of each",
		},
		{
			"a suspect limit without effect",
			"defaults: { breaker: { suspect: 1s } }\ndependencies:\n  a: { url: http://a.example, breaker: { slow_call: 1s } }\n  b: { url: http://b.example }\n  c: { url: http://b.example, breaker: { slow_call: off } }\n" + routes,
			"x.yaml:3:3: suspect is not below slow_call for a, so it changes nothing; write a shorter one, or auto",
		},
		{
			"tokens in plain text", "admin: { listen: ':8081', sign_in: true }\n" + a + routes,
			`x.yaml:1:18: tokens for admin.listen ":8081" can be read on the way; add tls, or say by an https url that something in front has it`,
		},
		{"tokens behind a proxy", "admin: { listen: ':8081', sign_in: true, url: https://x.example }\n" + a + routes, ""},
		{"tokens by tls", "admin: { listen: ':8081', sign_in: true, tls: { cert: a, key: b } }\n" + a + routes, ""},
		{
			"no rule",
			"dependencies:\n  a: { url: http://a.example, breaker: { slow_call: off, consecutive: off, failure_rate: off } }\n" + routes,
			"x.yaml:2:3: failure_rate and consecutive are both off for a, so no run and no share of bad calls ever trips it; leave one of them on",
		},
		{
			"no rule by default",
			"defaults: { breaker: { consecutive: off, failure_rate: off } }\n" +
				"dependencies:\n  a: { url: http://a.example, breaker: { consecutive: 5 } }\n  b: { url: http://b.example }\n  c: { url: http://c.example }\n" + routes,
			"x.yaml:4:3: failure_rate and consecutive are both off for b and 1 more, so no run and no share of bad calls ever trips it; leave one of them on",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			parsed, err := Parse("x.yaml", []byte(c.yaml))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(parsed.Warnings, "\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// G27: every bad input has its messages, whole, in testdata.
func TestParseBad(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		name := filepath.Base(path)
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("RECLOSER_TEST_EMPTY", "")
			c, err := Parse(name, data)
			faults, ok := errors.AsType[Errors](err)
			if !ok || len(faults) == 0 || c != nil {
				t.Fatalf("got %v and %T %v, want faults", c, err, err)
			}
			got := faults.Detail() + "\n"
			if strings.Contains(got, "SECRET") {
				t.Errorf("a message shows a secret:\n%s", got)
			}
			golden := strings.TrimSuffix(path, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
