package redisstore_test

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
)

// TestMain keeps go-redis quiet: most tests are of servers that fail. Those that run in
// parallel wait, most of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	redisstore.LogTo(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestLogTo(t *testing.T) {
	var said safeBuffer
	redisstore.LogTo(slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { redisstore.LogTo(slog.New(slog.DiscardHandler)) })
	server := redistest.Start(t)
	server.Kill()
	if err := firstUse(t.Context(), open(t, redisstore.Options{Addrs: []string{server.Addr}})); err == nil {
		t.Fatal("a dead server answers")
	}
	if text := said.String(); !strings.Contains(text, "level=DEBUG") || !strings.Contains(text, "failed to dial") {
		t.Errorf("logged: %q", text)
	}
}
