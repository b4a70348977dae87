package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/eventually"
)

// States of a process, as the kernel writes them.
const (
	stopped = "T"
	zombie  = "Z"
)

// hotelsOf returns the processes of a demo's hotels, by PID, with their states.
func hotelsOf(t *testing.T, parent int) map[int]string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	hotels := map[int]string{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		_, after, _ := strings.Cut(string(text), ") ") // after the name: state, parent, ...
		fields := strings.Fields(after)
		cmdline, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || len(fields) < 2 || fields[1] != strconv.Itoa(parent) || !strings.Contains(string(cmdline), HotelCommand) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		hotels[pid] = fields[0]
	}
	return hotels
}

// lives reports whether the process is there and still runs.
func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(after, zombie)
}

func TestRun(t *testing.T) {
	var out strings.Builder
	// Short enough for a test: hotel-3's first trial falls after its recovery.
	script := Script{FaultsFrom: time.Second, FaultsUntil: 4 * time.Second, Length: 8 * time.Second}
	result, err := Run(t.Context(), Options{Script: script, Paper: Paper{Out: &out}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(out.String())
		}
	})
	if left := hotelsOf(t, os.Getpid()); len(left) > 0 {
		t.Errorf("%d hotels are left: %v", len(left), left)
	}

	with, without := result.Report.Lanes.Protected, result.Report.Lanes.Unprotected
	for _, id := range []string{"hotel-3", "hotel-7"} {
		a, b := with.Hotels[id], without.Hotels[id]
		if b.WaitedOver1s < 2*max(1, a.WaitedOver1s) {
			t.Errorf("%s: %d guests waited with Recloser and %d without, want half or fewer", id, a.WaitedOver1s, b.WaitedOver1s)
		}
		if a.MaxWaitMS >= b.MaxWaitMS {
			t.Errorf("%s: longest wait %d ms with Recloser and %d ms without", id, a.MaxWaitMS, b.MaxWaitMS)
		}
		if a.FirstRefusalS == nil || a.Refused == 0 {
			t.Errorf("%s: nobody was turned away: %+v", id, a)
		}
		if b.Refused != 0 || b.FirstRefusalS != nil {
			t.Errorf("%s: %d guests were turned away without Recloser", id, b.Refused)
		}
		if 2*b.CallsReached < 3*a.CallsReached {
			t.Errorf("%s: %d calls reached it with Recloser and %d without", id, a.CallsReached, b.CallsReached)
		}
	}
	if a, b := with.Hotels["hotel-5"], without.Hotels["hotel-5"]; b.CallsReached < 2*a.CallsReached || b.Failed < 2*a.Failed {
		t.Errorf("hotel-5: with Recloser %+v, without %+v", a, b)
	}
	for id, h := range with.Hotels {
		if h.Fault == NoFault && (h.OK == 0 || h.Failed+h.Refused > 0) {
			t.Errorf("%s is well: %+v", id, h)
		}
	}
	for name, asks := range map[string]Asks{"with": with.Asks, "without": without.Asks} {
		if asks.Yes == 0 || asks.No == 0 || asks.Unknown == 0 {
			t.Errorf("asks %s Recloser: %+v, want some of each answer", name, asks)
		}
	}
	var states []recloser.State
	for _, tr := range result.Report.Transitions {
		if tr.Dependency == "hotel-3" {
			states = append(states, tr.To)
		}
	}
	if want := []recloser.State{recloser.Open, recloser.HalfOpen, recloser.Closed}; !slices.Equal(states, want) {
		t.Errorf("hotel-3 became %v, want %v", states, want)
	}
	for _, want := range []string{"hotel-3 hangs", "hotel-3 open: cut off", "hotel-3 half-open: on trial", "of 12 cut off", ", since "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q", want)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Options{Script: Script{time.Millisecond, time.Hour, time.Hour}, Paper: Paper{Out: &strings.Builder{}}})
		ended <- err
	}()
	eventually.True(t, patience, func() bool { return inState(hotelsOf(t, os.Getpid()), stopped) == 2 }, "two hotels to be stopped")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	if left := hotelsOf(t, os.Getpid()); len(left) > 0 {
		t.Errorf("%d hotels are left: %v", len(left), left)
	}
}

// A run that goes on with one outage after another tells of the last whole one.
func TestRunAgain(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out lockedBuffer
	type ended struct {
		result Result
		err    error
	}
	done := make(chan ended, 1)
	go func() {
		result, err := Run(ctx, Options{Again: true, Paper: Paper{Out: &out}, Script: Script{FaultsFrom: 300 * ms, FaultsUntil: 900 * ms, Length: 1200 * ms}})
		done <- ended{result, err}
	}()
	eventually.True(t, patience, func() bool { return strings.Contains(out.String(), "outage 3") }, "a third outage")
	stop()
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	text := out.String()
	if !strings.Contains(text, "Outage 2, the last that was played to its end") {
		t.Errorf("which outage the report is about is not said:\n%s", text)
	}
	if n := strings.Count(text, "hotel-3 hangs"); n < 2 {
		t.Errorf("hotel-3 hung %d times in two outages", n)
	}
	// Each outage has a book of its own: 11 guests of a hotel in 1.2 s, not twice as many.
	if h := got.result.Report.Lanes.Unprotected.Hotels["hotel-1"]; h.OK+h.Failed < 6 || h.OK+h.Failed > 13 {
		t.Errorf("hotel-1 had %d guests, want those of one outage", h.OK+h.Failed)
	}
	if left := hotelsOf(t, os.Getpid()); len(left) > 0 {
		t.Errorf("%d hotels are left: %v", len(left), left)
	}
}

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestRunFailsIfAHotelDies(t *testing.T) {
	ended := make(chan error, 1)
	go func() {
		_, err := Run(t.Context(), Options{Script: Script{time.Hour, time.Hour, time.Hour}, Paper: Paper{Out: &strings.Builder{}}})
		ended <- err
	}()
	var hotels map[int]string
	eventually.True(t, patience, func() bool {
		hotels = hotelsOf(t, os.Getpid())
		return len(hotels) == 2*hotelsPerLane
	}, "all hotels to run")
	for pid := range hotels {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		break
	}
	err := <-ended
	if err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("Run returned %v, want how the hotel ended", err)
	}
	if left := hotelsOf(t, os.Getpid()); len(left) > 0 {
		t.Errorf("%d hotels are left: %v", len(left), left)
	}
}

// However the demo's process ends, its hotels do not outlive it, the stopped
// ones included.
func TestNoProcessIsLeft(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			demo := exec.Command(self, endlessDemo)
			if err := demo.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				_ = demo.Wait()
				close(ended)
			}()
			t.Cleanup(func() {
				_ = demo.Process.Kill()
				<-ended
			})
			var hotels map[int]string
			eventually.True(t, patience, func() bool {
				hotels = hotelsOf(t, demo.Process.Pid)
				return len(hotels) == 2*hotelsPerLane && inState(hotels, stopped) == 2
			}, "two of 24 hotels to be stopped")
			if err := demo.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			<-ended
			for pid := range hotels {
				eventually.True(t, patience, func() bool { return !lives(pid) }, fmt.Sprintf("hotel %d to end", pid))
			}
		})
	}
}

func inState(hotels map[int]string, state string) int {
	n := 0
	for _, s := range hotels {
		if s == state {
			n++
		}
	}
	return n
}
