// Package town plays the partners of a gateway and their guests: hotels on ports
// of this machine that do what a script says, guests who come at evenly spaced
// times, and the figures of what happened to them.
package town

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Paths of a hotel.
const (
	GuestPath = "/guests" // ?n=17: guest number 17
	AskPath   = "/ask"    // ?at=hotel-3: allowed there and nowhere else
	ProbePath = "/health"
)

// By is the header of every answer that a hotel gave itself: what comes without
// it was made by the gateway.
const By = "Hotel"

// Usual is how long a hotel without a fault takes.
const Usual = 3 * time.Millisecond

// tooLate is how long a slow answer takes.
const tooLate = 3 * time.Second

// spread is how far latencies lie apart, as a share of the usual one.
const spread = 1.0 / 6

// Hotel answers on a port of its own as its script says. It is safe for
// concurrent use.
type Hotel struct {
	ID      string
	Latency time.Duration // median; each answer differs by up to a sixth

	server   *http.Server
	listener net.Listener
	served   chan struct{} // closed at its end

	fault    atomic.Pointer[fault]
	reached  atomic.Int64 // calls, not probes, while the fault lasted
	inFlight atomic.Int64
	peak     atomic.Int64 // of inFlight, while the fault lasted
}

type fault struct {
	from, until time.Time
	script      Script
}

// Open starts a hotel.
func Open(id string, latency time.Duration) (*Hotel, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", id, err)
	}
	h := &Hotel{ID: id, Latency: latency, listener: listener, served: make(chan struct{})}
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(h.served)
		_ = h.server.Serve(listener) // that it was closed
	}()
	return h, nil
}

// Close ends it at once, with all that hangs in it.
func (h *Hotel) Close() {
	_ = h.server.Close() // what it cannot close is gone with the process
	<-h.served
}

// Address is host and port.
func (h *Hotel) Address() string { return h.listener.Addr().String() }

// Fault makes it follow a script from one moment until another, and counts anew.
func (h *Hotel) Fault(from, until time.Time, s Script) {
	h.reached.Store(0)
	h.peak.Store(0)
	h.fault.Store(&fault{from, until, s})
}

// Reached is how many calls came while the fault lasted, probes not counted.
func (h *Hotel) Reached() int { return int(h.reached.Load()) }

// Peak is how many calls it had at once, at most, while the fault lasted.
func (h *Hotel) Peak() int { return int(h.peak.Load()) }

// ServeHTTP answers one request.
func (h *Hotel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	inFlight := h.inFlight.Add(1)
	defer h.inFlight.Add(-1)
	n, _ := strconv.ParseUint(r.URL.Query().Get("n"), 10, 64) // none is 0
	act := Serve
	if f := h.fault.Load(); f != nil {
		act = h.act(f, r.URL.Path == ProbePath, n, inFlight)
	}
	latency := time.Duration(float64(h.Latency) * (1 + spread*(2*chance(n)-1)))
	if act == Hang {
		<-r.Context().Done()
		return
	}
	if act == Slow {
		latency = tooLate
	}
	if latency > 0 && !Wait(r.Context(), latency) {
		return
	}
	w.Header().Set(By, h.ID)
	if act == Fail {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if act == Break {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"allowed": `)
		panic(http.ErrAbortHandler)
	}
	answer := `{"allowed": false}`
	if r.URL.Query().Get("at") == h.ID {
		answer = `{"allowed": true}`
	}
	_, _ = io.WriteString(w, answer) // whoever has gone has gone
}

// act looks up what to do, and counts what comes while the fault lasts.
func (h *Hotel) act(f *fault, probe bool, n uint64, inFlight int64) Act {
	now := time.Now()
	if now.Before(f.from) || !now.Before(f.until) {
		return Serve
	}
	for peak := h.peak.Load(); inFlight > peak && !h.peak.CompareAndSwap(peak, inFlight); {
		peak = h.peak.Load()
	}
	if probe {
		return f.script.Probe(now.Sub(f.from))
	}
	h.reached.Add(1)
	return f.script.Call(now.Sub(f.from), n)
}

// Wait returns after d, or at once with false when ctx has ended.
func Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
