package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

func TestGuestBook(t *testing.T) {
	tests := []struct {
		name   string
		fault  Fault
		path   string
		status int
		want   access
	}{
		{"own guest", NoFault, "/scan?guest=3-000017", 200, access{Allowed: true, Hotel: "hotel-3"}},
		{"own guest, hotel not known", NoFault, "/access?guest=3-000017", 200, access{Allowed: true, Hotel: "hotel-3"}},
		{"another hotel's guest", NoFault, "/access?guest=30-000017", 200, access{Hotel: "hotel-3"}},
		{"nobody's guest", NoFault, "/access?guest=0-000017", 200, access{Hotel: "hotel-3"}},
		{"no guest", NoFault, "/scan", 200, access{Hotel: "hotel-3"}},
		{"errors", Errors, "/scan?guest=3-000017", 500, access{Hotel: "hotel-3", Error: "the guest book cannot be read"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &guestBook{number: 3}
			h.fault.Store(tt.fault)
			w := httptest.NewRecorder()
			h.routes().ServeHTTP(w, httptest.NewRequest(http.MethodGet, tt.path, nil))
			var got access
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if w.Code != tt.status || got != tt.want {
				t.Errorf("got %d %+v, want %d %+v", w.Code, got, tt.status, tt.want)
			}
		})
	}
}

func TestHealthSaysNothingOfTheFault(t *testing.T) {
	h := &guestBook{number: 5}
	h.fault.Store(Errors)
	w := httptest.NewRecorder()
	h.routes().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health", nil))
	if w.Code != http.StatusOK {
		t.Errorf("got %d, want 200", w.Code)
	}
}

func TestGuestBookIsSlow(t *testing.T) {
	h := &guestBook{number: 7}
	h.fault.Store(Slow)
	ctx, cancel := context.WithTimeout(t.Context(), 5*quickAnswer)
	defer cancel()
	w := httptest.NewRecorder()
	h.routes().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/scan?guest=7-1", nil))
	if ctx.Err() == nil || w.Body.Len() > 0 {
		t.Errorf("a slow hotel answered within %s: %s", 5*quickAnswer, w.Body)
	}
}

func TestReachedCountsByTheTimeSent(t *testing.T) {
	h := &guestBook{number: 3}
	routes := h.routes()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, sent := range []time.Duration{9 * time.Second, 10 * time.Second, 29 * time.Second, 30 * time.Second} {
		for _, path := range []string{"/scan", "/access"} {
			target := path + "?guest=3-1&at=" + stamp(start.Add(sent))
			routes.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil))
		}
	}
	routes.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/health?at="+stamp(start.Add(15*time.Second)), nil))

	server := httptest.NewServer(routes)
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{number: 3, url: u}
	got, err := p.reached(t.Context(), start.Add(10*time.Second), start.Add(30*time.Second))
	if err != nil || got != 4 {
		t.Errorf("got %d, %v; want the 4 calls sent in [10 s, 30 s), without probes", got, err)
	}
}

func TestHotelEndsWithItsInput(t *testing.T) {
	commands, in := io.Pipe()
	out, port := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- RunHotel(5, commands, port) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	status := func() int {
		resp, err := http.Get("http://127.0.0.1:" + strings.TrimSpace(line) + "/scan?guest=5-1")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for _, tt := range []struct {
		command string
		want    int
	}{{"errors", 500}, {"", 200}} {
		if _, err := io.WriteString(in, tt.command+"\n"); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, patience, func() bool { return status() == tt.want }, "the hotel to obey "+tt.command)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the hotel ended with %v", err)
	}
}
