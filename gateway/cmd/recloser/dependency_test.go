package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDependencyVerbs(t *testing.T) {
	who := me(t)
	file := filepath.Join(t.TempDir(), "hotel-9.yaml")
	if err := os.WriteFile(file, []byte("url: https://a.example # the new one\ntimeout: 3s\nbreaker: { slow_call: 1s, trials: 3 }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args, stdin        string
		method, path, body string
	}{
		"add": {
			"add hotel-2 url=https://a.example group=coast breaker.slow_call=800ms breaker.trials=3", "", "POST", "/dependencies",
			`{"by":"ME","definition":{"breaker":{"slow_call":"800ms","trials":3},"group":"coast","url":"https://a.example"},"id":"hotel-2"}`,
		},
		"add from a file, otherwise": {
			"add hotel-2 timeout=2s breaker.trials=5 -f " + file + " --reason x", "", "POST", "/dependencies",
			`{"by":"ME","definition":{"breaker":{"slow_call":"1s","trials":5},"timeout":"2s","url":"https://a.example"},"id":"hotel-2","reason":"x"}`,
		},
		"add from stdin": {
			"add hotel-2 -f -", `{"url": "https://a.example"}`, "POST", "/dependencies",
			`{"by":"ME","definition":{"url":"https://a.example"},"id":"hotel-2"}`,
		},
		"set": {
			"set hotel-2 timeout=2s probe=null name=", "", "PATCH", "/dependencies/hotel-2",
			`{"by":"ME","definition":{"name":"","probe":null,"timeout":"2s"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			g.answer(c.method, c.path, 200, one(t, "hotel-2"))
			r := runAsked(t, c.stdin, false, append([]string{"dependency"}, strings.Fields(c.args)...)...)
			acts := g.acts()
			if r.code != exitGood || !strings.Contains(r.stdout, "hotel-2     open: cut off") || len(acts) != 1 {
				t.Fatalf("%+v: %+v", r, acts)
			}
			if want := strings.ReplaceAll(c.body, "ME", who); acts[0].body != want {
				t.Errorf("sent\n%s\nwant\n%s", acts[0].body, want)
			}
		})
	}
	g := newFakeGateway(t)
	g.answer("DELETE", "/dependencies/hotel-2", 204, "")
	if r := run(t, "dependency", "remove", "hotel-2"); r.code != exitGood || r.stderr != "hotel-2 is removed.\n" {
		t.Errorf("%+v", r)
	}
	g.answer("POST", "/dependencies", 422, `{"detail":"validation failed","errors":[{"message":"unknown key \"ulr\"; did you mean \"url\"?","location":"body.definition"}]}`)
	if r := run(t, "dependency", "add", "a", "ulr=x"); r.code != exitUsage || r.stderr != "recloser: definition: unknown key \"ulr\"; did you mean \"url\"?\n" {
		t.Errorf("%+v", r)
	}
	for args, said := range map[string]string{
		"add":                  "name the dependency first",
		"add url=x":            "name the dependency first",
		"add a":                "say what it is",
		"add a url":            `"url" is no KEY=VALUE`,
		"add a =x":             `"=x" is no KEY=VALUE`,
		"add a a=1 a.b=2":      "a has a value of its own",
		"add a -f /nowhere":    "the definition cannot be read",
		"remove":               "name one dependency",
		"add a -f /etc/passwd": "the definition cannot be read",
	} {
		if r := run(t, append([]string{"dependency"}, strings.Fields(args)...)...); r.code != exitUsage || !strings.Contains(r.stderr, said) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}
