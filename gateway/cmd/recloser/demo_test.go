package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestDemoRefusesWhatItCannotDo(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "missing", "report.json")
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"no time", []string{"--for", "0s"}, exitUsage, "--for is how long guests come"},
		{"time without a unit", []string{"--for", "45"}, exitUsage, "missing unit"},
		{"wrong colour", []string{"--color", "pink"}, exitUsage, `--color is auto, always or never, not "pink"`},
		{"no such folder", []string{"--report", nowhere}, exitFailed, "name another file with --report"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := execute(t.Context(), append([]string{"demo", "--headless"}, c.args...), &stdout, &stderr); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if stdout.Len() > 0 || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("stdout %q, stderr %q, want %q", stdout.String(), stderr.String(), c.stderr)
			}
		})
	}
}

func TestLocaleIsUTF8(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", true},
		{"", "", "de_DE.UTF-8", true},
		{"", "", "C.utf8", true},
		{"", "", "C", false},
		{"POSIX", "", "de_DE.UTF-8", false},
		{"", "de_DE.ISO-8859-1", "de_DE.UTF-8", false},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		if got := localeIsUTF8(); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
