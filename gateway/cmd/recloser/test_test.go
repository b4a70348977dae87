package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	goodScenario = "settings consecutive=1 jitter=off\n0ms  call -> fail\n     expect open, retry after 5s\n"
	failing      = "settings consecutive=1 jitter=off\n0ms  call -> fail\n     expect closed, 7 events   # not so\n1s   expect retry after ?\n"
	misspelt     = "settings consecutve=1\n0ms  cal -> ok\n"
	hanging      = "0s  every 50ms: check\n    every 100ms for 5s: call -> hang\n5s  expect open, got refused\n"
	download     = "0s  every 100ms for 5s: call -> ok in 1500ms then 1m\n2m  expect closed, good 50\n"
)

const hotels = `dependencies:
  hotel-1: { url: http://a.example, breaker: { consecutive: off, failure_rate: off } }
  hotel-2: { url: http://b.example, timeout: 1s }
routes:
  - path: /{dependency}/*
`

func writeScenario(t *testing.T, dir, name, content string) string {
	t.Helper()
	file := filepath.Join(dir, name+".scenario")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTestCommandLine(t *testing.T) {
	dir, inside := t.TempDir(), filepath.Join(t.TempDir(), "a")
	if err := os.MkdirAll(filepath.Join(inside, "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	good, fails := writeScenario(t, dir, "good", goodScenario), writeScenario(t, dir, "fails", failing)
	wrong, hangs := writeScenario(t, dir, "wrong", misspelt), writeScenario(t, dir, "hangs", hanging)
	loads := writeScenario(t, dir, "loads", download)
	writeScenario(t, inside, "one", goodScenario)
	writeScenario(t, filepath.Join(inside, "b"), "two", goodScenario)
	partly := t.TempDir()
	writeScenario(t, partly, "there", goodScenario)
	if err := os.Symlink("nowhere", filepath.Join(partly, "gone.scenario")); err != nil {
		t.Fatal(err)
	}
	cfg, single := writeConfig(t, hotels), writeConfig(t, "dependencies: { a: { url: http://a.example } }\nroutes: [ { path: /*, dependency: a } ]\n")
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // parts; "" is nothing at all
	}{
		{"good", []string{good}, exitGood, "ok    good  (2 expectations, 0s of virtual time)\n", ""},
		{"fails", []string{good, fails}, exitFailed, "1 of 2 scenarios good", ""},
		{"the line is shown", []string{fails}, exitFailed, fails + ":3, at 0s\n      expect closed, 7 events   # not so\n  want     closed\n  seen     open\n  want     events 7\n  seen     1\n  breaker  open (cut off): 1 bad", ""},
		{"the next ones run", []string{fails}, exitFailed, "want     retry after ?\n  seen     4s\n", ""},
		{"not a scenario", []string{wrong}, exitBadConfig, "0 of 1 scenario good, 1 not played: ", wrong + `:1:10: "consecutve" is not a setting; did you mean "consecutive"?` + "\n    settings consecutve=1\n             ^\n" + wrong + `:2:6: "cal" is not something that can happen; did you mean "call"?`},
		{"goes on", []string{wrong, good}, exitBadConfig, "FAIL  wrong  (not played)\nok    good ", "did you mean"},
		{"cannot be read", []string{partly}, exitBadConfig, "1 of 2 scenarios good, 1 not played: 2 expectations", "recloser: the scenario cannot be read: open " + partly},
		{"a folder", []string{inside}, exitGood, "2 of 2 scenarios good", ""},
		{"a folder as go names it", []string{inside + "/..."}, exitGood, "2 of 2 scenarios good", ""},
		{"nothing", nil, exitUsage, "", "recloser: name at least one scenario file, or a folder of them\nTry recloser test --help.\n"},
		{"no such file", []string{dir + "/x.scenario"}, exitUsage, "", "there is no scenario "},
		{"empty folder", []string{t.TempDir()}, exitUsage, "", "there is no *.scenario in "},
		{"wrong output", []string{"-o", "xml", good}, exitUsage, "", `--output is text, json or junit, not "xml"`},
		{"dependency of nothing", []string{"--dependency", "a", good}, exitUsage, "", "name that with -c"},
		{"of a config", []string{"-c", cfg, "--dependency", "hotel-2", hangs}, exitGood, "ok    hangs", "With the settings of hotel-2 in " + cfg},
		{"of another dependency", []string{"-c", cfg, "--dependency", "hotel-1", hangs}, exitFailed, "want     open\n  seen     closed", "With the settings of hotel-1"},
		{"answers are in time", []string{"-c", cfg, "--dependency", "hotel-1", loads}, exitGood, "ok    loads", "With the settings"},
		{"answers are late", []string{"-c", cfg, "--dependency", "hotel-2", loads}, exitFailed, "want     closed", "With the settings"},
		{"of the only one", []string{"-c", single, hangs}, exitGood, "ok    hangs", "With the settings of a in "},
		{"of none of two", []string{"-c", cfg, hangs}, exitUsage, "", "has 2 dependencies: name one with --dependency"},
		{"of one that is not there", []string{"-c", cfg, "--dependency", "hotl-1", hangs}, exitUsage, "", `no dependency "hotl-1"; did you mean "hotel-1"?`},
		{"of a wrong config", []string{"-c", wrong, hangs}, exitBadConfig, "", wrong},
		{"update of others", []string{"-c", cfg, "--update", hangs}, exitUsage, "", "leave out -c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := execute(t.Context(), append([]string{"test"}, c.args...), &stdout, &stderr, unkept); code != c.code {
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

func TestTestOutputsAreRead(t *testing.T) {
	dir := t.TempDir()
	files := []string{writeScenario(t, dir, "good", goodScenario), writeScenario(t, dir, "fails", failing), writeScenario(t, dir, "wrong", misspelt)}
	output := func(format string) []byte {
		var stdout bytes.Buffer
		if code := execute(t.Context(), append([]string{"test", "-o", format}, files...), &stdout, io.Discard, unkept); code != exitBadConfig {
			t.Errorf("%s: exit code %d", format, code)
		}
		return stdout.Bytes()
	}
	var report struct {
		Good, Failed int
		Scenarios    []struct {
			Name     string
			Good     bool
			Error    string
			Failures []struct {
				Line       int
				Mismatches []struct{ Want, Seen string }
			}
		}
	}
	if err := json.Unmarshal(output("json"), &report); err != nil || report.Good != 1 || report.Failed != 2 ||
		report.Scenarios[1].Error != "" || report.Scenarios[2].Good || !strings.Contains(report.Scenarios[2].Error, "wrong.scenario:2:6: ") ||
		report.Scenarios[1].Failures[0].Line != 3 || report.Scenarios[1].Failures[0].Mismatches[1].Seen != "1" {
		t.Errorf("%v: %+v", err, report)
	}
	if first, again := output("json"), output("json"); !bytes.Equal(first, again) {
		t.Error("the same results are written in two ways")
	}
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Cases    []struct {
			Name    string  `xml:"name,attr"`
			Failure *string `xml:"failure"`
			Error   *string `xml:"error"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(output("junit"), &suite); err != nil || suite.Tests != 3 || suite.Failures != 1 || suite.Errors != 1 ||
		suite.Cases[0].Failure != nil || suite.Cases[1].Error != nil || suite.Cases[2].Failure != nil ||
		suite.Cases[2].Error == nil || !strings.Contains(*suite.Cases[2].Error, "wrong.scenario:2:6: ") || !strings.Contains(*suite.Cases[1].Failure, "want     closed") {
		t.Errorf("%v: %+v", err, suite)
	}
}

func TestTestUpdate(t *testing.T) {
	file := writeScenario(t, t.TempDir(), "fails", failing)
	var stdout, stderr bytes.Buffer
	if code := execute(t.Context(), []string{"test", "--update", file}, &stdout, &stderr, unkept); code != exitGood {
		t.Errorf("exit code %d: %s%s", code, stdout.String(), stderr.String())
	}
	if !strings.Contains(stderr.String(), file+": 3 values written") {
		t.Error(stderr.String())
	}
	got, err := os.ReadFile(file)
	want := strings.NewReplacer("closed, 7 events   #", "open, 1 events     #", "?", "4s").Replace(failing)
	if err != nil || string(got) != want {
		t.Errorf("%v: written\n%s\nwant\n%s", err, got, want)
	}
}

func TestTestHelpIsShort(t *testing.T) {
	var stdout bytes.Buffer
	execute(t.Context(), []string{"test", "--help"}, &stdout, os.Stderr, unkept)
	if n := strings.Count(stdout.String(), "\n"); n >= 24 {
		t.Errorf("%d lines:\n%s", n, stdout.String())
	}
	if n := len(regexp.MustCompile(`(?m)^  recloser test`).FindAllString(stdout.String(), -1)); n < 3 {
		t.Errorf("%d examples", n)
	}
	for _, part := range []string{"https://github.com/recloser-go/recloser/blob/main/docs/SCENARIOS.md\n", "\nExit code: 0 "} {
		if !strings.Contains(stdout.String(), part) { // who has the binary alone has no docs folder
			t.Errorf("no %q in\n%s", part, stdout.String())
		}
	}
}

// What README and docs/SCENARIOS.md promise of a clone.
func TestRepositoryScenarios(t *testing.T) {
	var stdout bytes.Buffer
	if code := execute(t.Context(), []string{"test", "../../../scenario/testdata"}, &stdout, os.Stderr, unkept); code != exitGood {
		t.Errorf("exit code %d:\n%s", code, stdout.String())
	}
}
