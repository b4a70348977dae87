package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Every setting is shown, with the line it is from; -update writes it anew.
func TestShow(t *testing.T) {
	t.Setenv("TEAMS_URL", teamsURL)
	const golden = "testdata/whole.txt"
	c, err := Load("testdata/whole.yaml", Override{"grace", "7s", "flag --grace"})
	if err != nil {
		faults, _ := errors.AsType[Errors](err)
		t.Fatal(faults.Detail())
	}
	var b strings.Builder
	for _, s := range c.Show() {
		fmt.Fprintf(&b, "%s\t%s\t%s\n", s.Path, s.Value, s.Origin)
	}
	got := b.String()
	if strings.Contains(got, "sig=") {
		t.Error("a secret is shown")
	}
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
}

// What is shown can be written again, and means the same.
func TestShownValuesCanBeWritten(t *testing.T) {
	t.Setenv("TEAMS_URL", teamsURL)
	c, err := Load("testdata/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines := make(map[string][]string)
	for _, s := range c.Show() {
		if rest, ok := strings.CutPrefix(s.Path, "dependencies.all."); ok && !strings.HasPrefix(rest, "labels") {
			section, key, nested := strings.Cut(rest, ".")
			if !nested {
				section, key = "", rest
			}
			lines[section] = append(lines[section], fmt.Sprintf("%s: %q", key, s.Value))
			if s.Value[0] >= '0' && s.Value[0] <= '9' || s.Value == "true" || s.Value == "false" {
				last := len(lines[section]) - 1
				lines[section][last] = key + ": " + s.Value
			}
		}
	}
	file := "dependencies: { all: { " + strings.Join(lines[""], ", ")
	delete(lines, "")
	for section, keys := range lines {
		file += ", " + section + ": { " + strings.Join(keys, ", ") + " }"
	}
	file += " } }\nroutes: [ { path: '/{dependency}/*' } ]\n"
	again, err := Parse("again.yaml", []byte(file))
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	for _, change := range again.Diff(c).Changed {
		if strings.HasPrefix(change.Path, "dependencies.all.") && !strings.Contains(change.Path, ".labels") {
			t.Errorf("%v in\n%s", change, file)
		}
	}
}

func TestExample(t *testing.T) {
	c, err := Parse("recloser.yaml", []byte(Example()))
	if err != nil {
		faults, _ := errors.AsType[Errors](err)
		t.Fatal(faults.Detail())
	}
	if len(c.Warnings) > 0 || len(c.Dependencies) != 2 || len(c.Routes) != 2 {
		t.Errorf("%+v", c)
	}
	for i, line := range strings.Split(Example(), "\n") {
		if len(line) > 110 {
			t.Errorf("line %d is too long for a terminal", i+1)
		}
	}
}

// What stands behind a # is a setting too.
func TestExampleUncommented(t *testing.T) {
	t.Setenv("TEAMS_WEBHOOK", teamsURL)
	var lines []string
	for _, line := range strings.Split(Example(), "\n")[4:] {
		text := strings.TrimLeft(line, " ")
		if after, ok := strings.CutPrefix(text, "# listen:"); ok {
			lines[len(lines)-1] = "  listen:" + after // in its stead
			continue
		}
		if after, ok := strings.CutPrefix(text, "# "); ok {
			line = line[:len(line)-len(text)] + after
		}
		lines = append(lines, line)
	}
	c, err := Parse("recloser.yaml", []byte(strings.Join(lines, "\n")))
	if err != nil {
		faults, _ := errors.AsType[Errors](err)
		t.Fatal(faults.Detail())
	}
	if c.Admin.TLS == nil || !c.Admin.SignIn || c.Dependencies[0].Probe == nil || c.Dependencies[0].Retry.Attempts != 2 || len(c.Alerts.Channels) != 1 || c.Routes[1].RateLimit == nil {
		t.Errorf("%+v", c)
	}
}
