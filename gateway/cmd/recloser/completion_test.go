package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// completed returns what the shell would offer.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	r := run(t, append([]string{"__completeNoDesc"}, words...)...)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	return lines[:len(lines)-1] // the last one is for the shell's script
}

func TestCompletion(t *testing.T) {
	newFakeGateway(t)
	for _, c := range []struct{ words, want string }{
		{"isolate|", "bank hotel-1 hotel-2 hotel-3 hotel-4 hotel-5"},
		{"isolate|hotel-1|hotel-", "hotel-2 hotel-3 hotel-4 hotel-5"},
		{"status|co", "coast"},
		{"maintenance|add|b", "bank"},
		{"dependency|remove|b", "bank"},
		{"events|--dependency|b", "bank"},
		{"events|--kind|", "transition probe act gateway maintenance"},
		{"token|create|--group|", "coast money mountain"},
		{"token|create|--role|", "viewer operator admin"},
		{"isolate|--group|m", "money mountain"},
		{"iso", "isolate"},
	} {
		if got := strings.Join(completed(t, strings.Split(c.words, "|")...), " "); got != c.want {
			t.Errorf("%s: offered %q, want %q", c.words, got, c.want)
		}
	}
}

// Without a gateway that answers soon, the names are those of the file here.
func TestCompletionOfTheFile(t *testing.T) {
	g := newFakeGateway(t)
	over := make(chan struct{})
	g.handle("GET", "/dependencies", func(http.ResponseWriter, *http.Request) { <-over })
	defer close(over)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, completeFrom), []byte(goodConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if got := strings.Join(completed(t, "isolate", ""), " "); got != "a b" {
		t.Errorf("offered %q", got)
	}
	t.Chdir(t.TempDir())
	if got := strings.Join(completed(t, "isolate", ""), " "); got != "" {
		t.Errorf("offered %q", got)
	}
}
