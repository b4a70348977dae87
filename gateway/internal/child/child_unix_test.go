//go:build unix

package child

import (
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestLastWords(t *testing.T) {
	for _, c := range []struct {
		name, script string
		end          func(t *testing.T, c *Child)
		want         string
	}{
		{"by itself", "echo no room >&2; exit 3", func(*testing.T, *Child) {}, "exit status 3: no room"},
		{"killed", "exec sleep 1000", func(_ *testing.T, c *Child) { c.Kill() }, "signal: killed"},
		{"told to end", "exec sleep 1000", func(t *testing.T, c *Child) {
			if err := c.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}, "signal: terminated"},
		{"killed while it is stopped", "exec sleep 1000", func(t *testing.T, c *Child) {
			if err := c.Suspend(); err != nil {
				t.Error(err)
			}
			c.Kill()
		}, "signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			runtime.LockOSThread() // see Start
			defer runtime.UnlockOSThread()
			p, err := Start(exec.Command("sh", "-c", c.script))
			if err != nil {
				t.Fatal(err)
			}
			c.end(t, p)
			if got := p.LastWords(); !strings.HasPrefix(got, c.want) {
				t.Errorf("its last words are %q, want %q", got, c.want)
			}
			p.Kill() // changes nothing
		})
	}
	if _, err := Start(exec.Command("/nowhere/at/all")); err == nil {
		t.Error("what is not there was started")
	}
}
