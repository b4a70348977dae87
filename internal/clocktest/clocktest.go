// Package clocktest has programs that a test starts see a clock that is wrong. It needs a
// C compiler, and Linux.
package clocktest

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed testdata/clock.c
var source []byte

// A Clock is one that is wrong, for programs that are started with its Env and ask the C
// library for the time, which Go's do not.
type Clock struct{ library, file string }

// New returns a clock that is right until it is Set.
func New(t testing.TB) *Clock {
	t.Helper()
	// Not t.TempDir, which is closed to the users that servers are run by.
	dir, err := os.MkdirTemp("", "recloser-clock-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := &Clock{library: filepath.Join(dir, "clock.so"), file: filepath.Join(dir, "seconds")}
	text := filepath.Join(dir, "clock.c")
	if err := os.WriteFile(text, source, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // for those users
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-O1", "-o", c.library, text).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v (as root on Debian, make test installs it)\n%s", err, out)
	}
	c.Set(t, 0)
	return c
}

// Set sets by how much the clock is wrong, in whole seconds, also for programs that run.
func (c *Clock) Set(t testing.TB, by time.Duration) {
	t.Helper()
	file, err := os.OpenFile(c.file, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // as above
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var seconds [8]byte
	binary.NativeEndian.PutUint64(seconds[:], uint64(by/time.Second))
	if _, err := file.WriteAt(seconds[:], 0); err != nil {
		t.Fatal(err)
	}
}

// Env is what to add to the environment of a program.
func (c *Clock) Env() []string {
	return []string{"LD_PRELOAD=" + c.library, "RECLOSER_TEST_CLOCK=" + c.file}
}
