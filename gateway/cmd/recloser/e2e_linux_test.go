//go:build !race

package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// peak returns the most memory that the process has had since the last call.
func (p *process) peak() int64 {
	p.t.Helper()
	dir := fmt.Sprint("/proc/", p.cmd.Process.Pid, "/")
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		p.t.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		p.t.Fatalf("no VmHWM in %s", status)
	}
	kB, _ := strconv.ParseInt(string(m[1]), 10, 64)
	if err := os.WriteFile(dir+"clear_refs", []byte("5"), 0); err != nil { // the peak begins anew
		p.t.Fatal(err)
	}
	return kB << 10
}

// zeros is a body of so many bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// G20: an upload of a quarter of a gigabyte takes no more memory than one of 16 MiB,
// whatever the protocol. A client that reads slowly is served to the end, however
// much longer than every time limit that takes.
func TestLargeBodiesTakeNoMemory(t *testing.T) {
	const size, slowly = 256 << 20, 64 << 20
	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodPost {
			_, _ = fmt.Fprint(w, n)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(slowly))
		_, _ = io.Copy(w, zeros(slowly))
	}))
	defer hotel.Close()
	n := startNode(t, head+fmt.Sprintf(`
limits: { body_idle: 400ms, header_timeout: 400ms, idle: 400ms }
dependencies: { hotel-1: { url: %q, timeout: 400ms, attempt_timeout: 400ms, body_idle: 400ms, breaker: { slow_call: 300ms } } }
`, hotel.URL)+proxyRoute)
	h2c := new(http.Protocols)
	h2c.SetUnencryptedHTTP2(true)
	for name, tr := range map[string]*http.Transport{"HTTP/1.1": {}, "HTTP/2": {Protocols: h2c}} {
		client := &http.Client{Transport: tr, Timeout: 2 * patience}
		upload := func(size int64) {
			resp, err := client.Post(n.calls+"/hotels/hotel-1/x", "image/png", zeros(size))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != fmt.Sprint(size) || resp.Body.Close() != nil {
				t.Errorf("%s: %q bytes arrived, %v", name, got, err)
			}
		}
		upload(16 << 20)
		small := n.peak()
		upload(size)
		if large := n.peak(); large > small+small/2 {
			t.Errorf("%s: at most %d MiB were used for a small upload, and %d for a large one", name, small>>20, large>>20)
		}

		resp, err := client.Get(n.calls + "/hotels/hotel-1/x")
		if err != nil {
			t.Fatal(err)
		}
		ticker := time.NewTicker(10 * time.Millisecond)
		var read int64
		for err == nil {
			<-ticker.C
			var some int64
			some, err = io.CopyN(io.Discard, resp.Body, slowly/75)
			read += some
		}
		ticker.Stop()
		if !errors.Is(err, io.EOF) || read != slowly {
			t.Errorf("%s: the slow reader got %d of %d bytes, %v", name, read, slowly, err)
		}
		if slow := n.peak(); slow > small+small/2 {
			t.Errorf("%s: %d MiB were used for a slow reader", name, slow>>20)
		}
		_ = resp.Body.Close()
		client.CloseIdleConnections()
	}
	if s := n.state("hotel-1"); s.State != "closed" || s.Totals.Failed+s.Totals.Slow > 0 {
		t.Errorf("it counted as %+v", s)
	}
}

// G25: clients make up keys, and that takes no memory; one that is open stays so.
func TestKeysOfClientsTakeNoMemory(t *testing.T) {
	t.Setenv("GOGC", "50") // what is in use counts, not what is left for later
	h := newHotels(t, 1, ", key: { header: X-Property, max: 200 }, breaker: { consecutive: 2, spread: off, open_for: 1h, max_open_for: 1h }")
	h.all[0].Now(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Property") == "sick" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	n := startNode(t, head+h.lines+proxyRoute)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: patience}
	defer client.CloseIdleConnections()
	call := func(key string) int {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, n.calls+"/hotels/hotel-1/x", nil)
		req.Header.Set("X-Property", key)
		resp, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return 0
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for call("sick") != http.StatusServiceUnavailable {
	}
	made := 0
	makeUp := func(many int) {
		var clients sync.WaitGroup
		for c := range 8 {
			clients.Go(func() {
				for i := range many / 8 {
					if got := call(fmt.Sprintf("%d-%d-%d", made, c, i)); got != http.StatusOK {
						t.Errorf("got %d", got)
					}
				}
			})
		}
		clients.Wait()
		made += many
	}
	makeUp(2000)
	few := n.peak()
	makeUp(10000)
	if many := n.peak(); many > few+few/2 {
		t.Errorf("%d MiB with 2 000 keys, %d MiB with 12 000", few>>20, many>>20)
	}
	if got := call("sick"); got != http.StatusServiceUnavailable {
		t.Errorf("the sick one is forgotten: %d", got)
	}
	n.end(syscall.SIGKILL)
	n.start()
	if got := call("sick"); got != http.StatusServiceUnavailable {
		t.Errorf("after a crash: %d", got)
	}
}

// disk is one that can be full, with the storage of a gateway.
type disk struct {
	dir        string // where this process finds it
	says       string // what people are told when it is full
	fill, free func()
}

// onSmallDisk serves with its storage on a small file system in memory, in a name
// space of its own.
func onSmallDisk(t *testing.T, config string) (*node, disk) {
	t.Helper()
	dir := t.TempDir()
	n := &node{t: t, file: writeConfig(t, config+"storage: "+filepath.Join(dir, "recloser.db")+"\n")}
	n.process = start(t, "unshare", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size=640k none "$1" && exec "$0" serve -c "$2" --log-format json`, binary, dir, n.file)
	serving := n.line("serving")
	n.calls, n.admin = "http://"+serving["calls"].(string), "http://"+serving["admin"].(string)
	d := disk{dir: fmt.Sprintf("/proc/%d/root%s", n.cmd.Process.Pid, dir), says: "make room"}
	ballast := filepath.Join(d.dir, "ballast")
	d.fill = func() {
		file, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := io.Copy(file, zeros(1<<30)); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk has no end: %v", err)
		}
	}
	d.free = func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	return n, d
}

// onLimitedFiles serves with a limit on how long its files may become, where there
// are no name spaces.
func onLimitedFiles(t *testing.T, config string) (*node, disk) {
	t.Helper()
	n := startNode(t, config)
	limit := func(most uint64) {
		if err := unix.Prlimit(n.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return n, disk{filepath.Dir(n.file), "look at its disk", func() { limit(4096) }, func() { limit(unix.RLIM_INFINITY) }}
}

// G28: the disk is full. Calls go on, breakers trip and operators act; the log, the API
// and a metric say that nothing is written down; and once there is room all of it is,
// and the file is whole.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	serve := onSmallDisk
	if exec.CommandContext(t.Context(), "unshare", "--map-root-user", "--mount", "true").Run() != nil {
		serve = onLimitedFiles
	}
	h := newHotels(t, 2, ", breaker: { consecutive: 1, open_for: 1h, max_open_for: 1h }")
	n, disk := serve(t, head+h.lines+proxyRoute)
	n.must(http.MethodPut, "/dependencies/hotel-2/override", `{"mode": "isolated", "for": "1h", "reason": "before"}`)
	disk.fill()

	type storage struct {
		OnDisk bool `json:"on_disk"`
		Fault  string
	}
	state := func() (s storage) {
		var all struct{ Nodes []struct{ Storage storage } }
		n.api(http.MethodGet, "/nodes", "", &all)
		return all.Nodes[0].Storage
	}
	eventually.True(t, patience, func() bool {
		n.must(http.MethodPut, "/dependencies/hotel-2/override", `{"mode": "held-closed", "for": "1h", "reason": "meanwhile"}`)
		return !state().OnDisk
	}, "the disk to be full")
	if s := state(); !strings.Contains(s.Fault, disk.says) {
		t.Errorf("the API says %q", s.Fault)
	}
	if a := get(n.admin + "/metrics"); !strings.Contains(a.body, "recloser_history_ok 0") {
		t.Errorf("no metric says so: %s", grep(a.body, "history"))
	}
	if !strings.Contains(n.stderr.String(), "history is not being written") {
		t.Error("the log does not say so")
	}
	if a := get(n.calls + "/hotels/hotel-2/x"); a.status != http.StatusOK {
		t.Errorf("a call: %+v", a)
	}
	h.all[0].Now(gatewaytest.Answer(http.StatusInternalServerError, ""))
	get(n.calls + "/hotels/hotel-1/x")
	n.await("hotel-1", "open")

	disk.free()
	copied := filepath.Join(t.TempDir(), "recloser.db")
	n.signal(syscall.SIGSTOP) // an instant of its disk, as after a loss of power
	copyStorage(t, disk.dir, copied)
	n.signal(syscall.SIGCONT)
	mustBeWhole(t, copied)
	eventually.True(t, 2*patience, func() bool { return state().OnDisk }, "it to be written again")
	n.signal(syscall.SIGSTOP)
	copyStorage(t, disk.dir, copied)
	mustBeWhole(t, copied)
	m := &node{t: t, file: writeConfig(t, head+h.lines+proxyRoute+"storage: "+copied+"\n")}
	m.start()
	if s := m.state("hotel-2"); s.State != "held-closed" || s.Override.Reason != "meanwhile" {
		t.Errorf("hotel-2 is %+v", s)
	}
	m.await("hotel-1", "open")
	n.signal(syscall.SIGCONT)
}

func copyStorage(t *testing.T, dir, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(filepath.Join(dir, "recloser.db"+suffix))
		if err == nil {
			err = os.WriteFile(to+suffix, bytes.Clone(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// mustBeWhole has SQLite look through a database.
func mustBeWhole(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the storage is %q, %v", verdict, err)
	}
}
