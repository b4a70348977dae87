package config

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

func runtimeConfig(t *testing.T) *Config {
	t.Helper()
	c, err := Parse("x.yaml", []byte("admin: { allow_targets: [ 169.254.10.0/24 ] }\ndefaults: { timeout: 4s, breaker: { slow_call: 1s } }\n"+oneDependency+oneRoute))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDependencyAtRunTime(t *testing.T) {
	c := runtimeConfig(t)
	for _, definition := range []string{
		"url: https://b.example\nname: Bay\nbreaker:\n  trials: 3\n",
		`{"url":"https://b.example","name":"Bay","breaker":{"trials":3}}`,
		"{\n\t\"url\": \"https:\\/\\/b.example\",\n\t\"name\":\t\"Bay\",\n\t\"breaker\"\t: {\n\t\t\"trials\": 3\n\t}\n}\n",
	} {
		d, err := c.Dependency("b", []byte(definition))
		if err != nil {
			t.Errorf("%s: %v", definition, err)
			continue
		}
		if d.ID != "b" || d.Name != "Bay" || d.URL.String() != "https://b.example" || d.Timeout != 4*time.Second ||
			d.Settings.SlowCall != time.Second || d.Settings.Trials != 3 || d.Probe != nil || d.Bulkhead != 1024 {
			t.Errorf("%s: %+v", definition, d)
		}
	}
	if len(c.Dependencies) != 1 {
		t.Error("it was added to the config")
	}
}

func TestDependencyAtRunTimeFaults(t *testing.T) {
	c := runtimeConfig(t)
	for _, tt := range []struct{ id, definition, want string }{
		{"b", "{\n\t\"url\": \"https://b.example\",\n\t\"timout\": \"5s\"\n}", `definition of b:3:2: unknown key "timout"; did you mean "timeout"?`},
		{"b", `{"url": "https://b.example", "timeout": 5}`, `definition of b:1:41: "5" is not a duration; write a unit, such as 5s`},
		{"b", "", "definition of b:1:1: the file is empty; write at least url:"},
		{"b", "null", `definition of b:1:1: dependency "b" has no url; add url: with its address`},
		{"b", "name: x", `definition of b:1:1: dependency "b" has no url; add url: with its address`},
		{"b", "[]", "definition of b:1:1: here must be a mapping with "},
		{"b\n/c", "url: http://b.example", "definition:1:1: \"b\\n/c\" cannot be the id of a dependency; "},
		{"b", "url: http://127.0.0.1:8081", "definition of b:1:6: http://127.0.0.1:8081 is the gateway's own admin.listen address"},
		{"b", "url: file:///etc/passwd", `definition of b:1:6: a url begins with http:// or https://, not "file://"`},
		{"b", "url: http://169.254.169.254/latest", "definition of b:1:6: 169.254.169.254 is a link-local or metadata address, which nobody may add at run time; "},
		{"b", "url: 'http://[::ffff:169.254.169.254]/'", "definition of b:1:6: ::ffff:169.254.169.254 is a link-local or metadata address"},
		{"b", "url: 'http://[fe80::1%25eth0]/'", "definition of b:1:6: fe80::1%eth0 is a link-local"},
		{"b", "url: 'https://user:SECRET@b.example'", "definition of b:1:6: credentials in a url are not sent"},
	} {
		d, err := c.Dependency(tt.id, []byte(tt.definition))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "SECRET") || d.ID != "" {
			t.Errorf("%q: got\n%v\nwant\n%s", tt.definition, err, tt.want)
		}
	}
	if _, err := c.Dependency("b", []byte("url: http://169.254.10.7")); err != nil {
		t.Errorf("it is allowed: %v", err)
	}
}

func TestMayTarget(t *testing.T) {
	c := runtimeConfig(t)
	for address, want := range map[string]bool{
		"10.0.0.1": true, "127.0.0.1": true, "8.8.8.8": true, "2001:db8::1": true, "64:ff9b::8.8.8.8": true,
		"169.254.10.9": true, "::ffff:169.254.10.9": true,
		"169.254.169.254": false, "::ffff:169.254.169.254": false, "64:ff9b::a9fe:a9fe": false, "fe80::1": false, "fe80::1%eth0": false,
		"fd00:ec2::254": false, "100.100.100.200": false, "168.63.129.16": false, "224.0.0.1": false,
	} {
		if got := c.Admin.MayTarget(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
