package demo

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// notice is a message to people, as a program of one's own gets it.
type notice struct {
	ID    string
	Kind  string // started, ended, ...
	Title string
	Facts []string
	About string // the dependency, if it is about one only
	At    time.Time
}

// told is what people were told. It takes the gateway's CloudEvents as an
// http.Handler, and is safe for concurrent use.
type told struct {
	mu  sync.Mutex
	all []notice
}

// ServeHTTP takes one message. One that comes again is known by its ID.
func (t *told) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Nothing that a page of another site can send without asking is taken.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/cloudevents+json" {
		http.Error(w, "send a CloudEvent: application/cloudevents+json", http.StatusUnsupportedMediaType)
		return
	}
	var event struct {
		ID      string    `json:"id"`
		Subject string    `json:"subject"`
		Time    time.Time `json:"time"`
		Data    struct {
			Title string `json:"title"`
			Text  string `json:"text"`
			Kind  string `json:"kind"`
		} `json:"data"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&event); err != nil || event.ID == "" {
		http.Error(w, "this is no CloudEvent of an alert", http.StatusBadRequest)
		return
	}
	n := notice{ID: event.ID, Kind: event.Data.Kind, Title: event.Data.Title, About: event.Subject, At: event.Time}
	_, facts, _ := strings.Cut(event.Data.Text, "\n")
	for fact := range strings.Lines(facts) {
		n.Facts = append(n.Facts, strings.TrimSpace(fact))
	}
	t.add(n)
	w.WriteHeader(http.StatusNoContent)
}

func (t *told) add(n notice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(t.all, func(old notice) bool { return old.ID == n.ID }) {
		return
	}
	t.all = append(t.all, n)
}

// list returns all of it, oldest first.
func (t *told) list() []notice {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all)
}
