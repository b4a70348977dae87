package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What was in the file is never half gone: it is another file that is written.
func TestTestUpdateReplacesTheFile(t *testing.T) {
	dir, links := t.TempDir(), t.TempDir()
	file := writeScenario(t, dir, "fails", failing)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(links, "link.scenario")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()

	var stderr bytes.Buffer
	if code := execute(t.Context(), []string{"test", "--update", link}, io.Discard, &stderr, unkept); code != exitGood {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if was, err := io.ReadAll(old); err != nil || string(was) != failing {
		t.Errorf("%v: the old file was overwritten with\n%s", err, was)
	}
	if now, err := os.ReadFile(file); err != nil || !strings.Contains(string(now), "expect open, 1 events") {
		t.Errorf("%v: written\n%s", err, now)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v: the mode is %s, want that of before", err, info.Mode())
	}
	if to, err := os.Readlink(link); err != nil || to != file {
		t.Errorf("%v: the link leads to %q", err, to)
	}
	onlyFile(t, dir, file)
	onlyFile(t, links, link)
}

// A limit on the size of files stands for a disk that is full.
func TestTestUpdateOnAFullDisk(t *testing.T) {
	dir, content := t.TempDir(), failing+strings.Repeat("# a comment\n", 1000)
	file := writeScenario(t, dir, "fails", content)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 1 && exec "$0" test --update "$1"`, binary, file).CombinedOutput()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != exitBadConfig || !strings.Contains(string(out), "the scenario cannot be written: ") {
		t.Errorf("%v: %s", err, out)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != content {
		t.Errorf("%v: %d of %d bytes are left", err, len(now), len(content))
	}
	onlyFile(t, dir, file)
}

func TestTestUpdateThatFailsChangesNothing(t *testing.T) {
	dir := t.TempDir()
	file := writeScenario(t, dir, "fails", failing)
	if err := os.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if code := execute(t.Context(), []string{"test", "--update", file}, io.Discard, &stderr, unkept); code != exitBadConfig {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if want := "the scenario cannot be written: "; !strings.Contains(stderr.String(), want) {
		t.Errorf("got %q, want %q", stderr.String(), want)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != failing {
		t.Errorf("%v: written\n%s", err, now)
	}
	onlyFile(t, dir, file)
}

func onlyFile(t *testing.T, dir, file string) {
	t.Helper()
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 || all[0].Name() != filepath.Base(file) {
		t.Errorf("%v: there are %v, want %s alone", err, all, file)
	}
}

func TestTestReadsFilesAlone(t *testing.T) {
	dir := t.TempDir()
	pipe, long := filepath.Join(dir, "pipe.scenario"), filepath.Join(dir, "long.scenario")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(long, []byte(goodScenario), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(long, 1<<40); err != nil { // with nothing in it, so it takes no room
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		pipe: "the scenario cannot be read: " + pipe + " is not a regular file",
		long: "the file is longer than 10000 lines or 1 MiB",
	} {
		var stderr bytes.Buffer
		if code := execute(t.Context(), []string{"test", file}, io.Discard, &stderr, unkept); code != exitBadConfig || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s", file, code, stderr.String())
		}
	}
}
