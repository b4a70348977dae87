//go:build unix

package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const configOfChild = "RECLOSER_TEST_GATEWAY"

// TestGatewayAsAProcess is no test of its own: it is the gateway of
// TestG24_OwnStallCutsNobodyOff, until its input ends.
func TestGatewayAsAProcess(t *testing.T) {
	yaml := os.Getenv(configOfChild)
	if yaml == "" {
		return
	}
	g, log := startGateway(t, yaml)
	fmt.Println("listening on", g.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "changed state") {
			fmt.Print("changed: ", line)
		}
	}
	fmt.Println("the end")
}

// G24: the gateway itself stands still for half a second, under load. That is as
// long as no dependency may take; but it is not theirs.
func TestG24_OwnStallCutsNobodyOff(t *testing.T) {
	hotel := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
		}
	}))
	defer hotel.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestGatewayAsAProcess$")
	child.Env = append(os.Environ(), configOfChild+"="+fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
defaults: { breaker: { slow_call: 400ms, consecutive: 1, spread: off } }
dependencies: { a: { url: %q }, b: { url: %q }, c: { url: %q } }
routes: [ { path: "/hotels/{dependency}/*" } ]
`, hotel.URL, hotel.URL, hotel.URL))
	end, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("it does not start")
	}
	base := "http://" + strings.TrimPrefix(lines.Text(), "listening on ")

	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	var callers sync.WaitGroup
	over := time.After(2 * time.Second)
	stall, goOn := time.After(700*time.Millisecond), time.After(1200*time.Millisecond)
	next := time.NewTicker(5 * time.Millisecond)
	defer next.Stop()
	calls := 0
	for running := true; running; {
		select {
		case <-stall:
			_ = child.Process.Signal(syscall.SIGSTOP)
		case <-goOn:
			_ = child.Process.Signal(syscall.SIGCONT)
		case <-over:
			running = false
		case <-next.C:
			path := base + "/hotels/" + string("abc"[calls%3]) + "/x"
			calls++
			callers.Go(func() {
				resp, err := client.Get(path)
				if err != nil || resp.StatusCode != http.StatusOK || resp.Body.Close() != nil {
					t.Errorf("got %v, %v", resp, err)
				}
			})
		}
	}
	callers.Wait()
	_ = end.Close()
	for lines.Scan() && lines.Text() != "the end" {
		t.Error(lines.Text())
	}
	_, _ = io.Copy(io.Discard, out)
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
	if calls < 100 {
		t.Errorf("only %d calls: the machine is too busy to say anything", calls)
	}
}
