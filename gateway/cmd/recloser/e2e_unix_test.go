//go:build unix && !race

package main

import (
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
)

// G24: the gateway itself stands still for most of a second under load, twice. It
// is nobody's failure, although each call then took longer than any may; and whoever
// hangs afterwards is cut off.
func TestOwnStallUnderLoad(t *testing.T) {
	h := newHotels(t, 3, ", breaker: { slow_call: 650ms, suspect: 600ms, consecutive: 1, spread: off }")
	for _, hotel := range h.all {
		hotel.Now(gatewaytest.Slow(50*time.Millisecond, gatewaytest.Yes()))
	}
	n := startNode(t, head+h.lines+proxyRoute)
	var bad, good atomic.Int64
	load := newLoad(t, n.calls, pathsOf(3), 40, func(_ string, _ time.Time, _ time.Duration, status int) {
		if status == http.StatusOK {
			good.Add(1)
		} else {
			bad.Add(1)
		}
	})
	for range 2 {
		<-time.After(400 * time.Millisecond)
		n.signal(syscall.SIGSTOP)
		<-time.After(800 * time.Millisecond)
		n.signal(syscall.SIGCONT)
	}
	<-time.After(400 * time.Millisecond)
	load.end()
	if log := n.stderr.String(); bad.Load() > 0 || strings.Contains(log, "changed state") {
		t.Errorf("%d of %d calls were bad", bad.Load(), bad.Load()+good.Load())
	}
	if good.Load() < 60 {
		t.Errorf("only %d calls: the machine is too busy to say anything", good.Load())
	}
	h.all[0].Now(gatewaytest.Hang())
	load = newLoad(t, n.calls, pathsOf(3), 40, func(string, time.Time, time.Duration, int) {})
	n.await("hotel-1", "open")
	load.end()
}
