//go:build linux && !race

// Package cutofftest cuts a gateway off from its store as a switch does that fails:
// packets vanish, and neither side is told. For that it runs in a network namespace of its
// own, in which it makes others for machines besides its own. All of it is gone with the
// test's process, however that ends; nothing of it is ever seen on the machine itself.
package cutofftest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// insideEnv holds the gateway's path, and says that this is the process in the namespace.
const insideEnv = "RECLOSER_CUTOFFTEST_GATEWAY"

// binary is the gateway.
var binary = os.Getenv(insideEnv)

func TestMain(m *testing.M) {
	if binary != "" {
		os.Exit(m.Run())
	}
	code, err := runInside()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cutofftest:", err)
		code = 1
	}
	os.Exit(code)
}

// runInside builds the gateway and runs the tests again, in a network of their own.
func runInside() (code int, err error) {
	dir, err := os.MkdirTemp("", "recloser-cutofftest-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	gateway := filepath.Join(dir, "recloser")
	if out, err := exec.Command("go", "build", "-o", gateway, "../cmd/recloser").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, out)
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideEnv+"="+gateway)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if uid := os.Geteuid(); uid != 0 { // who is not root may be so of a namespace of his own
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN}
	}
	runtime.LockOSThread() // Pdeathsig is of the thread
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	if errors.Is(err, fs.ErrPermission) && os.Getenv("CI") == "" {
		fmt.Fprintf(os.Stderr, "cutofftest: NOT RUN: this machine lets nobody have network namespaces (%v). Run it as root, or with user namespaces allowed. "+
			"A network that a proxy cuts is tried everywhere, by fleet/redisstore and fleet/pgstore.\n", err)
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("network namespaces are not to be had: %w; run it as root, or allow user namespaces", err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() < 0 {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// iproute changes the network of the thread that it runs on, a command a line.
func iproute(lines ...string) error {
	for _, line := range lines {
		words := strings.Fields(line)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s(as root on Debian, make test installs iproute2)", line, err, out)
		}
	}
	return nil
}

// The network of the machines; town is the test's own.
const (
	town = "10.77.0.1"
	mask = "/24"
)

// layNetwork makes the switch that all machines are plugged into.
func layNetwork(t *testing.T) {
	t.Helper()
	if err := iproute("ip link set lo up", "ip link add switch type bridge", "ip address add "+town+mask+" dev switch", "ip link set switch up"); err != nil {
		t.Fatal(err)
	}
}

// machine has a network of its own, besides that of the test. The zero value is the test's.
type machine struct {
	port string   // of the switch, that it is plugged into
	ns   *os.File // nil: the test's
}

// newMachine plugs a machine into a port of the switch, under an address.
func newMachine(t *testing.T, port, addr string) *machine {
	t.Helper()
	m := &machine{port: port}
	err := onThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			m.ns, err = os.Open("/proc/thread-self/ns/net")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.ns.Close() })
	err = iproute(
		fmt.Sprintf("ip link add %s type veth peer name %s-far", port, port),
		fmt.Sprintf("ip link set %s-far netns /proc/%d/fd/%d", port, os.Getpid(), m.ns.Fd()),
		fmt.Sprintf("ip link set %s master switch up", port))
	if err == nil {
		err = m.do(func() error {
			return iproute("ip link set lo up", fmt.Sprintf("ip link set %s-far up", port), fmt.Sprintf("ip address add %s%s dev %s-far", addr, mask, port))
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// cut has the switch drop whatever comes from and goes to the machine.
func (m *machine) cut(t *testing.T) { m.set(t, "disabled", 0) }

// heal ends a cut.
func (m *machine) heal(t *testing.T) { m.set(t, "forwarding", 3) }

// set has the machine's port of the switch be so.
func (m *machine) set(t *testing.T, name string, state int) {
	t.Helper()
	is := []byte{}
	err := iproute(fmt.Sprintf("bridge link set dev %s state %d", m.port, state))
	if err == nil {
		is, err = exec.Command("bridge", "link", "show", "dev", m.port).Output()
	}
	if err != nil || !strings.Contains(string(is), " state "+name+" ") {
		t.Fatalf("%v: the port is %s", err, is)
	}
}

// do calls f on the machine: what it listens on, connects to and starts is there.
func (m *machine) do(f func() error) error {
	if m.ns == nil {
		return f()
	}
	return onThread(func() error {
		if err := unix.Setns(int(m.ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// onThread calls f, which changes its thread's network, on one that has that of the test
// again afterwards. The thread must not end with that: servers end with the one that started them.
func onThread(f func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	err = f()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		panic(back) // the thread is of no use to anybody any more
	}
	runtime.UnlockOSThread()
	return err
}

// listen listens on the machine's loopback address.
func (m *machine) listen(t *testing.T) (l net.Listener) {
	t.Helper()
	err := m.do(func() (err error) {
		l, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// client returns a client of what listens on the machine.
func (m *machine) client(t *testing.T) *http.Client {
	tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		err = m.do(func() (err error) {
			conn, err = new(net.Dialer).DialContext(ctx, network, addr)
			return err
		})
		return conn, err
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// established returns how many connections there are on the machine to a port elsewhere
// that TCP holds for good ones.
func (m *machine) established(t *testing.T, port string) (n int) {
	t.Helper()
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	err = m.do(func() (err error) {
		text, err = os.ReadFile("/proc/thread-self/net/tcp")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // number, local, remote, state: 01 is established
		if len(fields) > 3 && fields[3] == "01" && strings.HasSuffix(fields[2], fmt.Sprintf(":%04X", number)) {
			n++
		}
	}
	return n
}
