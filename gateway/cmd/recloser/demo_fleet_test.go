//go:build !race

package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/demo"
	"github.com/recloser-go/recloser/internal/eventually"
)

// demoEnd is how long a demo may take to its end, after that it has to take.
const demoEnd = 5 * time.Minute

// startFleetDemo starts a demo whose temporary files are all in a folder of their own.
func startFleetDemo(t *testing.T, args ...string) (p *process, folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, closed := range []string{folder, filepath.Dir(folder)} { // to the user that PostgreSQL is run by
		if err := os.Chmod(closed, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return start(t, "env", append([]string{"TMPDIR=" + folder, binary, "demo", "--fleet", "3"}, args...)...), folder
}

// nothingLeft fails the test if a gateway of the demo answers, or a file of it is there.
func nothingLeft(t *testing.T, told, folder string) {
	t.Helper()
	panels := regexp.MustCompile(`http://\S+`).FindAllString(told, -1)
	if len(panels) != 3 {
		t.Errorf("%d panels were told, want 3", len(panels))
	}
	for _, panel := range panels {
		u, err := url.Parse(panel)
		if err != nil {
			t.Fatal(err)
		}
		if !refusesConnections(u.Host) {
			t.Errorf("%s is left", panel)
		}
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(left) > 0 {
		t.Errorf("files are left: %q, %v", left, err)
	}
}

// The demo is played to its end on either store. That its promises hold is not for a test
// to say: it shares the machine.
func TestFleetDemo(t *testing.T) {
	for _, c := range []struct {
		store, length string
		told          []string
	}{
		{"redis", "74s", []string{
			"hotel-1 hangs", "cuts it off after", "hotel-1 is back", "The network between gateway-2 and redis is cut",
			"ines, an operator, isolates hotel-5 on gateway-2", "The network of gateway-2 is whole", "redis is killed", "hotel-3 hangs",
			"cuts it off by itself", "redis is started again", "lost everything", "hotel-3 is back", "ines releases hotel-5",
			"What the guests met", "What must hold",
		}},
		{"postgres", "14s", []string{"Starting postgres", "hotel-1 hangs", "cuts it off after", "What the guests met", "unseen"}},
	} {
		t.Run(c.store, func(t *testing.T) {
			t.Parallel()
			p, folder := startFleetDemo(t, "--store", c.store, "--for", c.length, "--report", "-")
			select {
			case <-p.exited:
			case <-time.After(demoEnd):
			}
			if code := p.wait(); code != exitGood {
				t.Errorf("exit code %d", code)
			}
			rest := p.stderr.String() // words give way to data
			for _, want := range c.told {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Errorf("%q is not told, or too early", want)
					continue
				}
				rest = after
			}
			var r demo.FleetReport
			if err := json.Unmarshal([]byte(p.stdout.String()), &r); err != nil {
				t.Fatalf("no report: %v", err)
			}
			if r.Store != c.store || r.LetInWrongly != 0 || len(r.Together.Gateways) != 3 || len(r.Well) != 3 {
				t.Errorf("the report is %+v", r)
			}
			for _, g := range r.Together.Gateways {
				if g.CutOffS == nil || *g.CutOffS <= 0 {
					t.Errorf("%s has not cut off the hotel that hung: %+v", g.Gateway, g)
				}
			}
			nothingLeft(t, p.stderr.String(), folder)
		})
	}
}

// Ctrl-C ends a demo whose store is gone and whose hotel hangs, and nothing of it is left.
func TestFleetDemoIsStopped(t *testing.T) {
	t.Parallel()
	p, folder := startFleetDemo(t, "--store", "redis")
	eventually.True(t, demoEnd, func() bool { return strings.Contains(p.stdout.String(), "hotel-1 hangs") }, "a hotel to hang")
	p.signal(os.Interrupt)
	if code := p.wait(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(p.stderr.String(), "None of its processes is left") {
		t.Error("it does not say so")
	}
	nothingLeft(t, p.stdout.String(), folder)
}
