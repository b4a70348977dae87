package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// manager stands for systemd: it hears what services say.
func manager(t *testing.T, name string) *gatewaytest.Log {
	t.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	heard := &gatewaytest.Log{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := socket.Read(buf)
			if err != nil {
				return
			}
			_, _ = heard.Write(append(buf[:n:n], ';'))
		}
	}()
	t.Cleanup(func() {
		_ = socket.Close()
		<-done
	})
	return heard
}

func TestServeTellsSystemd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	heard := manager(t, name)
	t.Setenv("NOTIFY_SOCKET", name)
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", "")
	p, _, _ := startGateway(t, deadConfig)
	said := func(pattern string) {
		t.Helper()
		eventually.True(t, patience, func() bool { return regexp.MustCompile(pattern).MatchString(heard.String()) }, pattern)
	}
	said(`READY=1;`)
	said(`(WATCHDOG=1;){3}`)
	p.signal(syscall.SIGHUP)
	said(`RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*;(WATCHDOG=1;)*READY=1;`)
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != exitGood {
		t.Errorf("exit code %d", code)
	}
	said(`STOPPING=1;`)
	if n := strings.Count(heard.String(), "STOPPING=1"); n != 1 {
		t.Errorf("stopping was said %d times", n)
	}
}

// What is not asked for by whoever reads little is said to systemd all the same.
func TestServeTellsSystemdWithAQuietLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	heard := manager(t, name)
	t.Setenv("NOTIFY_SOCKET", name)
	p := start(t, binary, "serve", "-c", writeConfig(t, deadConfig), "--log-level", "error")
	eventually.True(t, patience, func() bool { return strings.Contains(heard.String(), "READY=1;") }, "READY=1")
	if out := p.stderr.String(); out != "" {
		t.Errorf("logged %s", out)
	}
}

func TestNotify(t *testing.T) {
	isolate(t)
	// To nobody, and to one who is not there.
	notify("READY=1")
	t.Setenv("NOTIFY_SOCKET", "/nowhere/at/all")
	notify("READY=1")
	name := strings.ReplaceAll(t.TempDir(), "/", "-")
	heard := manager(t, "@"+name)
	t.Setenv("NOTIFY_SOCKET", "@"+name)
	notify("READY=1")
	eventually.True(t, patience, func() bool { return heard.String() == "READY=1;" }, "READY=1")
}

func TestWatchdogTime(t *testing.T) {
	for _, c := range []struct {
		usec, pid string
		want      time.Duration
	}{
		{"", "", 0},
		{"30000000", "", 30 * time.Second},
		{"30000000", "1", 0},
		{"x", "", 0},
		{"0", "", 0},
		{"-5", "", 0},
		{"1", "", 0},
		{"2000000", strconv.Itoa(os.Getpid()), 2 * time.Second},
	} {
		t.Setenv("WATCHDOG_USEC", c.usec)
		t.Setenv("WATCHDOG_PID", c.pid)
		if got := watchdogTime(); got != c.want {
			t.Errorf("%q of %q: %s, want %s", c.usec, c.pid, got, c.want)
		}
	}
}
