package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const goodConfig = `dependencies: { a: { url: http://a.example }, b: { url: http://b.example } }
routes:
  - path: /{dependency}/*
`

// unkept takes the log of a command and forgets it.
func unkept(*logger) {}

func TestCommandLine(t *testing.T) {
	good := writeConfig(t, goodConfig)
	warned := writeConfig(t, goodConfig+"  - { path: /ask, ask: { accept: 'true', timeout: 1s } }\ndefaults: { breaker: { suspect: off } }\n")
	bad := writeConfig(t, strings.Replace(goodConfig, "url", "ulr", 1))
	missing := filepath.Join(t.TempDir(), "recloser.yaml")
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // parts; "" is nothing at all
	}{
		{"no command", nil, exitGood, "recloser serve -c", ""},
		{"version", []string{"version"}, exitGood, "recloser ", ""},
		{"completion", []string{"completion", "bash"}, exitGood, "__recloser", ""},
		{"check", []string{"check", good}, exitGood, "ok: 2 dependencies, 1 route\n", ""},
		{"check warns", []string{"check", warned}, exitGood, "ok: 2 dependencies, 2 routes\n", "warning: " + warned + ":4:51: the ask's timeout 1s is not above the slow_call of a (2s, the default) and 1 more"},
		{"check finds", []string{"check", bad}, exitBadConfig, "", bad + `:1:22: unknown key "ulr"; did you mean "url"?`},
		{"check as serve takes it", []string{"check", "-c", good}, exitGood, "ok: 2 dependencies, 1 route\n", ""},
		{"check both ways", []string{"check", "-c", good, warned}, exitGood, good + ": ok: 2 dependencies, 1 route\n" + warned + ": ok", "warning: "},
		{"check goes on", []string{"check", bad, good}, exitBadConfig, good + ": ok: 2 dependencies, 1 route\n", "did you mean"},
		{"check of nothing", []string{"check"}, exitUsage, "", "recloser: name at least one file to check\nTry recloser check --help.\n"},
		{"no file", []string{"check", missing}, exitBadConfig, "", "recloser: there is no config file " + missing},
		{"serve without a file", []string{"serve", "-c", missing}, exitBadConfig, "", "recloser: there is no config file " + missing},
		{"serve without -c", []string{"serve", good}, exitUsage, "", "serve takes its config file with -c: recloser serve -c " + good + "\nTry recloser serve --help.\n"},
		{"misspelt command", []string{"srve"}, exitUsage, "", "serve"},
		{"unknown flag", []string{"serve", "--confg", good}, exitUsage, "", "unknown flag: --confg\nTry recloser serve --help.\n"},
		{"what is no command of config", []string{"config", "shwo"}, exitUsage, "", `unknown command "shwo" of config; did you mean "show"?`},
		{"too much", []string{"version", "1"}, exitUsage, "", "unknown command"},
		{"wrong format", []string{"serve", "-c", good, "--log-format", "xml"}, exitUsage, "", `--log-format is text or json, not "xml"`},
		{"wrong level", []string{"serve", "-c", good, "--log-level", "loud"}, exitUsage, "", `--log-level is debug, info, warn or error, not "loud"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := execute(t.Context(), c.args, &stdout, &stderr, unkept); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, out := range []struct{ name, got, want string }{{"stdout", stdout.String(), c.stdout}, {"stderr", stderr.String(), c.stderr}} {
				if !strings.Contains(out.got, out.want) || out.want == "" && out.got != "" {
					t.Errorf("%s:\n%s\nwant %q", out.name, out.got, out.want)
				}
			}
		})
	}
}

// The command lines that the documents show are ones that the program takes.
func TestDocumentsShowCommandsThatAreThere(t *testing.T) {
	documents, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, document := range append(documents, "../../../README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?m)(?:^|`)(?:bin/)?recloser ([a-z]+[^`\\n]*)").FindAllStringSubmatch(string(text), -1) {
			shown++
			var stdout, stderr bytes.Buffer
			if code := execute(t.Context(), append(strings.Fields(m[1]), "--help"), &stdout, &stderr, unkept); code != exitGood {
				t.Errorf("%s: recloser %s: %s", document, m[1], stderr.String())
			}
		}
	}
	if shown < 5 {
		t.Errorf("found %d command lines: the pattern is wrong", shown)
	}
}
