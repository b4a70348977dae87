package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Whatever is wrong with how a secret is written, no message shows it.
func TestNoMessageShowsASecret(t *testing.T) {
	const rest = "dependencies: { a: { url: http://a.example } }\nroutes: [ { path: /*, dependency: a } ]\n"
	for _, section := range []string{
		`teams: [{ulr: "https://x/SECRET"}]`,
		`teams: "https://x/SECRET"`,
		`teams: ["https://x/SECRET"]`,
		`teams: [["https://x/SECRET"]]`,
		`teams: {"https://x/SECRET": 1}`,
		`teams: [{url: ["https://x/SECRET"]}]`,
		`teams: [{url: &x "https://x/SECRET"}]`,
		`teams: [{url: !x "https://x/SECRET"}]`,
		`teams: [{url:"https://x/SECRET"}]`,
		`teams: [{url:https://x/SECRET}]`,
		`teams: [{name: "https://x/SECRET", url: "https://x"}, {name: "https://x/SECRET", url: "https://x"}]`,
		`teams: [{name: "https://x/SECRET\n", url: "https://x"}]`,
		`teams: [{url: "file:https://x/SECRET"}]`,
		`teams: [{url: "${https://x/SECRET}"}]`,
		`teams: [{url: "${https://x/SECRET"}]`,
		`teams: [{url: "ftp://x/SECRET"}]`,
		`teams: [{url: "https://x/%zzSECRET"}]`,
		`teams: [{url: "https://x", "https://x/SECRET": 1}]`,
		`teams: [{url: "https://x", url: "https://x/SECRET"}]`,
		`slack: [{url: "https://x/SECRET"}]`,
		`webhook: "https://x/SECRET"`,
		`tems: [{url: "https://x/SECRET"}]`,
		`"https://x/SECRET"`,
		`["https://x/SECRET"]`,
		`teams: [{url: "https://x/SECRET}]`,
		`teams: [{url: "https://x/SECRET"}`,
		`teams: [{url: @SECRET}]`,
		"\n  teams:\n  - url: >-\n      ftp://x/\n      SECRET\n    colour: red",
		"\n  teams:\n  - name: x\n    url:\n      - SECRET",
		"\n  teams:\n\t- url: SECRET",
		"\n  teams:\n  - url: \"https://x/\n      SECRET",
	} {
		for _, file := range []string{
			rest + "alerts: " + brace(section) + "\n",
			"alerts: " + brace(section) + "\n" + rest,
			rest + "alrets: " + brace(section) + "\n",
			rest + "admin: { alerts: " + brace(section) + " }\n",
			"alerts: {}\nalerts: " + brace(section) + "\n" + rest,
			"--- {}\n---\nalerts: " + brace(section) + "\n" + rest,
			"- alerts: " + brace(section) + "\n",
		} {
			if strings.Contains(file, "alrets") && !strings.Contains(section, "://") || strings.Contains(file, "admin: {") && strings.Contains(section, "\n") {
				continue // nothing says that this is one
			}
			wantNoSecret(t, file)
		}
	}
	for _, section := range []string{
		`headers: { A: "SECRET\n" }`, `headers: { "SECRET x": 1 }`, `headers: [SECRET]`, `headers: SECRET`, `headers: { A: [SECRET] }`, `headers: { A: x, A: SECRET }`,
		`headers: { A: "file:SECRET" }`, `headers: { A: "${SECRET x}" }`, `haeders: { A: SECRET }`, `[SECRET]`, `headers: { A: &x SECRET }`, `headers: { A: SECRET`,
		"\n  headers:\n    A:\n      - SECRET", "\n  headers:\n    A: x\n    A: SECRET", "\n  headers:\n\t- SECRET",
	} {
		for _, endpoint := range []string{"", "endpoint: 'http://127.0.0.1:4318', "} {
			if !strings.ContainsAny(section[:1], "[\n") {
				section = endpoint + section
			}
			wantNoSecret(t, rest+"traces: "+brace(section)+"\n")
			wantNoSecret(t, "traces: "+brace(section)+"\n"+rest)
			wantNoSecret(t, "- traces: "+brace(section)+"\n")
		}
	}
	for _, value := range []string{
		`user:SECRET@host/x`, `"http://user:SECRET@host"`, `"http://user:SECRET@[::1"`, `"http://user:SECRET%zz@h"`, `"http://SECRET@h"`, `SECRET@h`,
		`"http://user:SEC RET SECRET@h"`, `"http://user:SECRET/x@h"`, `"http://user:99999/SECRET@h"`, `"ftp://user:SECRET@h"`, `"//user:SECRET@h"`,
		`"http://user:SECRET?x@h"`, `"http://user:SECRET#x@h"`, "\"http://user:SECRET\n      x@h\"", "\"http://user:x\n      SECRET@h\"", "|\n      http://user:SECRET@h",
		`["http://user:SECRET@h"]`, `{"http://user:SECRET@h": 1}`, `!x "http://user:SECRET@h"`, `"http://user:SECRET@h`, `{user:SECRET@h`,
	} {
		for _, key := range []string{
			"dependencies: { a: { url: %s } }", "dependencies: { a: { ulr: %s } }", "dependencies: { a: { name: %s, colour: x } }", "dependencies: { a: { timeout: %s } }",
			"dependencies: { a: { breaker: { trials: %s } } }", "dependencies: { a: %s }", "dependencies: %s", "dependencies: [ %s ]", "dependencies: { a: { breaker: { jitter: %s } } }",
			"listen: %s", "admin: { listen: %s }", "admin: { url: %s }", "grace: %s", "routes: %s", "routes: [ { path: %s } ]", "routes: [ { dependency: %s } ]",
			"routes: [ { path: /x, ask: { accept: %s } } ]", "routes: [ { path: /x, ask: { group: %s } } ]", "routes: [ { path: /x, ask: { decide: %s } } ]",
			"routes: [ { path: /x, release_on_trip: %s } ]", "upstream: %s", "%s",
		} {
			wantNoSecret(t, fmt.Sprintf(key, value)+"\n")
			wantNoSecret(t, strings.Replace(fmt.Sprintf(key, value), ": ", ":\n  ", 1)+"\n")
		}
		if !strings.ContainsAny(value, "\n[{!") {
			wantNoSecret(t, "dependencies: { "+value+": { url: http://a.example } }\n")
			wantNoSecret(t, "dependencies: { a: { "+value+": 1 } }\n")
		}
	}
}

func brace(section string) string {
	if strings.ContainsAny(section[:1], "\"[\n") {
		return section
	}
	return "{ " + section + " }"
}

func wantNoSecret(t *testing.T, file string) {
	t.Helper()
	_, err := Parse("x.yaml", []byte(file))
	faults, _ := errors.AsType[Errors](err)
	if got := faults.Detail(); strings.Contains(got, "SECRET") {
		t.Errorf("of\n%s\nthis is told:\n%s", file, got)
	}
}

func TestCredentialsAreNamed(t *testing.T) {
	for value, want := range map[string]bool{
		"user:pass@host/x": true, "http://user:pass@[::1": true, "http://user:pass%zz@h": true, "http://user@h": true, "http://user:a/b@h": true,
		"http://h/@x": false, "http://h:80/a@b": false, "host": false,
	} {
		_, err := Parse("x.yaml", fmt.Appendf(nil, "dependencies: { a: { url: %q } }\nroutes: [ { path: /*, dependency: a } ]\n", value))
		if got := err != nil && strings.Contains(err.Error(), "credentials in a url are not sent; remove the user and password"); got != want {
			t.Errorf("%s: %v", value, err)
		}
	}
}
