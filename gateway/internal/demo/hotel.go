package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	quickAnswer = 30 * time.Millisecond
	slowAnswer  = 4 * time.Second
)

// RunHotel runs one hotel: an HTTP server on a free loopback port with a guest
// book. It writes its port as the first line to out, then takes a fault a line
// from in ("slow", "errors", "" for none) and returns when in ends, because
// then whoever started it is gone.
func RunHotel(number int, in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("hotel %d: %w", number, err)
	}
	h := &guestBook{number: number}
	server := &http.Server{
		Handler:           h.routes(),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if _, err := fmt.Fprintln(out, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return errors.Join(err, server.Close())
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		h.fault.Store(Fault(lines.Text()))
	}
	err = server.Close()
	if cause := <-served; !errors.Is(cause, http.ErrServerClosed) {
		err = errors.Join(cause, err)
	}
	return errors.Join(lines.Err(), err)
}

// guestBook is what a hotel knows: its guests, and who has asked about them.
type guestBook struct {
	number int
	fault  atomic.Value // Fault

	mu    sync.Mutex
	asked []int64 // when the turnstiles sent their calls, in Unix microseconds
}

func (h *guestBook) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /scan", h.answer)
	mux.HandleFunc("GET /access", h.answer)
	mux.HandleFunc("GET /reached", h.reached)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	return mux
}

// access is a hotel's answer to /scan and /access.
type access struct {
	Allowed bool   `json:"allowed"`
	Hotel   string `json:"hotel"`
	Error   string `json:"error,omitempty"`
}

// answer looks a guest up. The call is counted by the time at which it was
// sent, not at which it was read: a stopped process reads later what came to
// it meanwhile.
func (h *guestBook) answer(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if sent, err := strconv.ParseInt(query.Get("at"), 10, 64); err == nil {
		h.mu.Lock()
		h.asked = append(h.asked, sent)
		h.mu.Unlock()
	}
	fault, _ := h.fault.Load().(Fault)
	if !pause(r.Context(), answerTime(fault)) {
		return
	}
	if fault == Errors {
		writeJSON(w, http.StatusInternalServerError, access{Hotel: hotelID(h.number), Error: "the guest book cannot be read"})
		return
	}
	writeJSON(w, http.StatusOK, access{Allowed: guest(query.Get("guest")).staysAt(h.number), Hotel: hotelID(h.number)})
}

// reached says how many calls were sent in [from, until), in Unix microseconds.
func (h *guestBook) reached(w http.ResponseWriter, r *http.Request) {
	from, err1 := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
	until, err2 := strconv.ParseInt(r.URL.Query().Get("until"), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	count := 0
	h.mu.Lock()
	for _, at := range h.asked {
		if at >= from && at < until {
			count++
		}
	}
	h.mu.Unlock()
	writeJSON(w, http.StatusOK, count)
}

func answerTime(f Fault) time.Duration {
	if f == Slow {
		return slowAnswer
	}
	return quickAnswer*9/10 + rand.N(quickAnswer/5)
}

// pause waits, and returns false if ctx ended before that.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// guest is the code on a guest's pass: the number of the hotel, 0 for a guest
// of none of them, and the guest's own number.
type guest string

func newGuest(hotel, n int) guest { return guest(fmt.Sprintf("%d-%06d", hotel, n)) }

func (g guest) staysAt(hotel int) bool {
	return strings.HasPrefix(string(g), strconv.Itoa(hotel)+"-")
}
