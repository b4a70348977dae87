package client

import (
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"
)

func streams(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

// A stream that breaks goes on after the last message, and says that it broke.
func TestStreamResumes(t *testing.T) {
	var resumed []string // one connection after the other
	g := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
		resumed = append(resumed, r.Header.Get("Last-Event-ID"))
		switch len(resumed) {
		case 1:
			streams(w, ": hello\n\nid: 7\nevent: transition\ndata: {\"id\":7}\n\nid: 8\ndata: {\ndata: }\n\nid: 9\ndata: half")
		default:
			streams(w, "id:9\nevent:act\ndata:{\"id\":9}\n\n")
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got []Message
	lost := 0
	for m, err := range g.client(t, Options{Timeout: time.Nanosecond}).Stream(ctx, 5, func(error) { lost++ }) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, m); len(got) == 3 {
			break
		}
	}
	want := []Message{{7, "transition", []byte(`{"id":7}`)}, {8, "", []byte("{\n}")}, {9, "act", []byte(`{"id":9}`)}}
	if !slices.EqualFunc(got, want, func(a, b Message) bool {
		return a.ID == b.ID && a.Kind == b.Kind && string(a.Data) == string(b.Data)
	}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !slices.Equal(resumed, []string{"5", "8"}) || lost != 1 {
		t.Errorf("opened after %q, lost %d times", resumed, lost)
	}
}

// What will not change by asking again ends the stream.
func TestStreamRefused(t *testing.T) {
	for kind, answer := range map[Kind]http.HandlerFunc{
		NotAllowed: says(403, "application/problem+json", `{"detail":"no"}`),
		NotFound:   says(404, "application/problem+json", `{"detail":"no"}`),
	} {
		g := newGateway(t, answer)
		n := 0
		for _, err := range g.client(t, Options{}).Stream(t.Context(), 0, func(err error) { t.Error(err) }) {
			wantError(t, err, kind, "no")
			n++
		}
		if n != 1 || len(g.asked()) != 1 {
			t.Errorf("%s: said %d times, asked %d times", kind, n, len(g.asked()))
		}
	}
}

func TestStreamEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
		streams(w, "id: 1\ndata: {}\n\n")
		<-r.Context().Done()
	})
	for _, err := range g.client(t, Options{}).Stream(ctx, 0, func(err error) { t.Error(err) }) {
		if err != nil {
			t.Error(err)
		}
		cancel()
	}
	cancel()
}
