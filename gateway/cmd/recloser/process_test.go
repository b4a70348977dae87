package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

const (
	patience    = 20 * time.Second // for what takes milliseconds on an idle machine
	upstreamEnv = "RECLOSER_TEST_UPSTREAM"
)

// binary is the program under test, built once by TestMain.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(upstreamEnv) != "" {
		serveUpstream()
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // those that run in parallel wait, most of the time
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "recloser-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "recloser")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// serveUpstream is a dependency in a process of its own. It says where it is on
// stdout and ends when its stdin does, so it never outlives the test.
func serveUpstream() {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(socket.Addr())
	go http.Serve(socket, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:errcheck // ends with the process
		fmt.Fprintf(w, `{"allowed": true, "path": %q}`, r.URL.Path)
	}))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// process is a running program that the test has started.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *gatewaytest.Log
	stderr *gatewaytest.Log
	exited chan struct{}
}

// start runs a program until the test ends.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(name, args...), stdout: &gatewaytest.Log{}, stderr: &gatewaytest.Log{}, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // its ProcessState says how it ended
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails if it has ended
		<-p.exited
		if t.Failed() {
			t.Logf("%s %q said:\n%s%s", name, args, p.stdout, p.stderr)
		}
	})
	return p
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns the exit code, -1 if a signal ended the process.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatal("the process does not end")
		return 0
	}
}

// line waits for a line of the JSON log with that message.
func (p *process) line(message string) map[string]any {
	p.t.Helper()
	var found map[string]any
	eventually.True(p.t, patience, func() bool {
		lines := bufio.NewScanner(strings.NewReader(p.stderr.String()))
		for lines.Scan() {
			var entry map[string]any
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry["msg"] == message {
				found = entry
				return true
			}
		}
		return false
	}, fmt.Sprintf("the log line %q", message))
	return found
}

// startGateway serves a config and returns the addresses of its listeners.
func startGateway(t *testing.T, config string) (p *process, calls, admin string) {
	t.Helper()
	return serveFile(t, writeConfig(t, config))
}

// serveFile is startGateway with a config that is in a file already.
func serveFile(t *testing.T, file string) (p *process, calls, admin string) {
	t.Helper()
	p = start(t, binary, "serve", "-c", file, "--log-format", "json")
	serving := p.line("serving")
	return p, "http://" + serving["calls"].(string), "http://" + serving["admin"].(string)
}

func writeConfig(t *testing.T, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recloser.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// startUpstream runs serveUpstream in a process of its own.
func startUpstream(t *testing.T) (p *process, addr string) {
	t.Helper()
	t.Setenv(upstreamEnv, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p = &process{t: t, cmd: exec.Command(self), exited: make(chan struct{})}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		<-p.exited
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, line[:len(line)-1]
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func get(url string) answer {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{err: err}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body), err}
}

// refusesConnections reports whether nobody listens there.
func refusesConnections(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
