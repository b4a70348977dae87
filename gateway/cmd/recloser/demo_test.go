package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/internal/eventually"
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
		{"a store of one process", []string{"--fleet", "3", "--store", "memory"}, exitUsage, "--store memory is of one process"},
		{"another store", []string{"--fleet", "3", "--store", "etcd"}, exitUsage, `--store is redis or postgres, not "etcd"`},
		{"a store of nobody", []string{"--store", "redis"}, exitUsage, "say how many, as in --fleet 3"},
		{"a fleet of two", []string{"--fleet", "2"}, exitUsage, "3 to 4, not 2"},
		{"a picture of a fleet", []string{"--fleet", "3", "--picture", "x"}, exitUsage, "--picture is of the demo without --fleet"},
		{"no such folder", []string{"--report", nowhere}, exitFailed, "name another file with --report"},
		{"a folder", []string{"--report", t.TempDir()}, exitFailed, "is a directory: name another file with --report"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := execute(t.Context(), append([]string{"demo", "--headless"}, c.args...), &stdout, &stderr, unkept); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if stdout.Len() > 0 || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("stdout %q, stderr %q, want %q", stdout.String(), stderr.String(), c.stderr)
			}
		})
	}
}

// A report is there as a whole or not at all, and nothing else is left beside it.
func TestDemoReport(t *testing.T) {
	old := []byte("of the run before\n")
	for _, c := range []struct {
		name, length string
		stop         bool
		code         int
	}{
		{"played to its end", "300ms", false, exitGood},
		{"stopped", "1h", true, exitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			fresh, there := filepath.Join(folder, "fresh.json"), filepath.Join(folder, "there.json")
			if err := os.WriteFile(there, old, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, report := range []string{fresh, there} {
				p := start(t, binary, "demo", "--headless", "--for", c.length, "--report", report)
				if c.stop {
					eventually.True(t, patience, func() bool { return strings.Contains(p.stdout.String(), "Its panel") }, "the demo to run")
					p.signal(os.Interrupt)
				}
				if code := p.wait(); code != c.code {
					t.Errorf("exit code %d, want %d", code, c.code)
				}
				text, err := os.ReadFile(report)
				switch {
				case !c.stop && !json.Valid(text):
					t.Errorf("%s: %v, no JSON: %q", report, err, text)
				case c.stop && report == fresh && !errors.Is(err, fs.ErrNotExist):
					t.Errorf("%s: %v, it holds %q", report, err, text)
				case c.stop && report == there && !bytes.Equal(text, old):
					t.Errorf("%s: %v, it holds %q", report, err, text)
				}
			}
			left, err := filepath.Glob(filepath.Join(folder, ".*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left beside the report: %q, %v", left, err)
			}
		})
	}
}

func TestOutputTakesNobodysPlace(t *testing.T) {
	folder := t.TempDir()
	target, link, socket := filepath.Join(folder, "target"), filepath.Join(folder, "link"), filepath.Join(folder, "socket")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, file := range []string{link, socket} {
		before, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		o, err := newOutput("report", file)
		if err != nil {
			t.Fatal(err)
		}
		o.content.WriteString("new")
		_ = o.put(io.Discard) // nothing can be written to a socket
		after, err := os.Lstat(file)
		if err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s was %v and is %v, %v", file, before.Mode(), after.Mode(), err)
		}
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "new" {
		t.Errorf("behind the link: %q, %v", text, err)
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
