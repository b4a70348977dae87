// Package deploytest tries what is in deploy with the programs that it is for:
// the gateway as it is built for an image, Prometheus, Alertmanager's amtool and
// systemd.
package deploytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

const (
	patience = 60 * time.Second // for what takes seconds on an idle machine
	deploy   = "../../deploy/"
)

// binary is the gateway, built once by TestMain.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "recloser-deploytest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "recloser")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/recloser").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// run runs a program to its end.
func run(t *testing.T, name string, args ...string) (out string, err error) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: as root on Debian, make test installs it", err)
	}
	text, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(text), err
}

// start runs a program until the test ends, and returns what it says on stderr.
func start(t *testing.T, name string, args ...string) *gatewaytest.Log {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: as root on Debian, make test installs it", err)
	}
	said := &gatewaytest.Log{}
	cmd := exec.Command(path, args...)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		<-exited
		if t.Failed() {
			t.Logf("%s %q said:\n%s", name, args, said)
		}
	})
	return said
}

// await waits until the pattern is said and returns its first group.
func await(t *testing.T, said *gatewaytest.Log, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	eventually.True(t, patience, func() bool {
		found = re.FindStringSubmatch(said.String())
		return found != nil
	}, pattern)
	return found[1]
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace replaces what must be there.
func replace(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("no %q in\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}
