package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigShow(t *testing.T) {
	newFakeGateway(t)
	golden(t, "config-running.txt", run(t, "config", "show", "--running").stdout)
	golden(t, "config-running.json", run(t, "config", "show", "--running", "-o", "json").stdout)
	file := writeConfig(t, goodConfig)
	t.Setenv("RECLOSER_LISTEN", ":9090")
	r := run(t, "config", "show", "-c", file)
	for _, part := range []string{"listen  ", ":9090", "RECLOSER_LISTEN", "dependencies.a.url", "http://a.example", file + ":1", "default"} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("no %q in\n%s", part, r.stdout)
		}
	}
	var all struct {
		Settings []struct{ Path, Value, Origin string }
	}
	if err := json.Unmarshal([]byte(run(t, "config", "show", "-c", file, "-o", "json").stdout), &all); err != nil || len(all.Settings) < 20 {
		t.Errorf("%v: %+v", err, all)
	}
	if r := run(t, "config", "show", "-c", file, "--running"); r.code != exitUsage || !strings.Contains(r.stderr, "leave out -c") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "config", "show", "-c", "/nowhere.yaml"); r.code != exitBadConfig {
		t.Errorf("%+v", r)
	}
}

func TestConfigSchemaIsJSON(t *testing.T) {
	var schema map[string]any
	r := run(t, "config", "schema")
	if err := json.Unmarshal([]byte(r.stdout), &schema); err != nil || schema["properties"] == nil || r.code != exitGood {
		t.Errorf("%v: %+v", err, r)
	}
}

// What init writes is a config that check takes, and nothing is written over.
func TestConfigInit(t *testing.T) {
	isolate(t)
	file := filepath.Join(t.TempDir(), "recloser.yaml")
	if r := run(t, "config", "init", file); r.code != exitGood || r.stdout != "" || !strings.Contains(r.stderr, "is written") {
		t.Fatalf("%+v", r)
	}
	written, err := os.ReadFile(file)
	if err != nil || string(written) != run(t, "config", "init").stdout || len(written) == 0 {
		t.Errorf("%v: %d bytes are written", err, len(written))
	}
	if r := run(t, "check", file); r.code != exitGood || r.stderr != "" {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, "config", "init", file); r.code != exitFailed || !strings.Contains(r.stderr, "stays as it is") {
		t.Errorf("%+v", r)
	}
	if now, _ := os.ReadFile(file); string(now) != "mine" {
		t.Errorf("written over: %s", now)
	}
	if r := run(t, "config", "init", "/nowhere/recloser.yaml"); r.code != exitFailed || !strings.Contains(r.stderr, "cannot be written") {
		t.Errorf("%+v", r)
	}
}

func TestReload(t *testing.T) {
	g := newFakeGateway(t)
	g.answer("POST", "/reload", 200, `{"changed":"added hotel-7","restart":[]}`)
	const done = "The config is in force: added hotel-7. Every breaker kept its state.\n"
	if r := run(t, "reload", "--reason", "hotel-7 is new"); r.code != exitGood || r.stderr != done {
		t.Errorf("%+v", r)
	}
	g.answer("POST", "/reload", 200, `{"changed":"added hotel-7","restart":["admin.tls.cert","storage"]}`)
	if r := run(t, "reload"); r.code != exitGood || r.stderr != done+"These need a restart: admin.tls.cert, storage\n" {
		t.Errorf("%+v", r)
	}
	if got, want := g.acts()[0].body, `{"reason":"hotel-7 is new","by":"`+me(t)+`"}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	g.answer("POST", "/reload", 422, `{"detail":"the config in force stays","errors":[{"message":"recloser.yaml:2:3: unknown key"}]}`)
	if r := run(t, "reload"); r.code != exitBadConfig || r.stderr != "recloser: the config in force stays\nrecloser.yaml:2:3: unknown key\n" {
		t.Errorf("%+v", r)
	}
}
