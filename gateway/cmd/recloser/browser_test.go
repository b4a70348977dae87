package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/internal/eventually"
)

func TestOpener(t *testing.T) {
	for _, c := range []struct {
		name, system string
		env          map[string]string
		want         string
	}{
		{"a server", "linux", nil, ""},
		{"X", "linux", map[string]string{"DISPLAY": ":0"}, "xdg-open"},
		{"Wayland", "linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "xdg-open"},
		{"by ssh", "linux", map[string]string{"SSH_CONNECTION": "10.0.0.7 1 10.0.0.8 22", "WAYLAND_DISPLAY": "wayland-0"}, ""},
		{"by ssh with X", "linux", map[string]string{"SSH_CONNECTION": "10.0.0.7 1 10.0.0.8 22", "DISPLAY": "localhost:10.0"}, "xdg-open"},
		{"a Mac", "darwin", nil, "open"},
		{"a Mac by ssh", "darwin", map[string]string{"SSH_CONNECTION": "10.0.0.7 1 10.0.0.8 22"}, ""},
		{"another system", "windows", nil, ""},
	} {
		if got := opener(c.system, func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A desktop's opener gets the address; a desktop without one, or whose opener fails,
// is no fault.
func TestOpenBrowser(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	t.Setenv("DISPLAY", ":0")
	openBrowser("http://127.0.0.1:1")

	opened := filepath.Join(folder, "opened")
	script := "#!/bin/sh\necho \"$1\" > '" + opened + "'\nexit 3\n"
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	openBrowser("http://127.0.0.1:2")
	eventually.True(t, patience, func() bool {
		text, err := os.ReadFile(opened)
		return err == nil && strings.TrimSpace(string(text)) == "http://127.0.0.1:2"
	}, "the address to be opened")
}

func TestDemoGoesOnOnlyForWhoWatches(t *testing.T) {
	for _, c := range []struct {
		name string
		run  demoRun
		want bool
	}{
		{"who watches", demoRun{}, true},
		{"who wants one", demoRun{once: true}, false},
		{"who wants a verdict", demoRun{check: true}, false},
		{"who wants a report", demoRun{report: "report.json"}, false},
		{"who draws the picture", demoRun{picture: "demo.svg"}, false},
	} {
		if got := c.run.again(); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
