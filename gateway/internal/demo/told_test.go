package demo

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/channel"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

const cloudEvent = "application/cloudevents+json; charset=utf-8"

// tell posts a body and returns the answer's status.
func tell(h http.Handler, kind, body string) int {
	r := httptest.NewRequest(http.MethodPost, tellPath, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// What the gateway's webhook channel sends is understood, and counts once.
func TestToldTakesTheGatewaysEvents(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	body, err := channel.Event(message.Message{
		ID: "a/1", Kind: message.Isolated, At: at, Of: 12,
		Items: []message.Item{{Dependency: "hotel-3", Name: "hotel-3", Why: message.Why{Note: "<b>by hand</b>", By: "ines"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var p told
	for range 2 {
		if code := tell(&p, cloudEvent, string(body)); code != http.StatusNoContent {
			t.Fatalf("status %d, want 204", code)
		}
	}
	all := p.list()
	if len(all) != 1 {
		t.Fatalf("%d notices of one message that came twice", len(all))
	}
	got := all[0]
	if len(got.Facts) == 0 || !strings.Contains(strings.Join(got.Facts, "\n"), "<b>by hand</b>") {
		t.Errorf("facts %q, want the operator's words in one", got.Facts)
	}
	got.Facts = nil
	if want := (notice{ID: "a/1", Kind: "isolated", Title: "hotel-3 is cut off by hand", About: "hotel-3", At: at}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestToldRefusesWhatIsNoEvent(t *testing.T) {
	for _, tt := range []struct {
		name, kind, body string
		want             int
	}{
		{"what a form of another site sends", "text/plain", `{"id":"1"}`, http.StatusUnsupportedMediaType},
		{"of no kind", "", `{"id":"1"}`, http.StatusUnsupportedMediaType},
		{"no JSON", cloudEvent, `hotel-3 is cut off`, http.StatusBadRequest},
		{"without an id", cloudEvent, `{"data":{"title":"x"}}`, http.StatusBadRequest},
		{"without end", cloudEvent, `{"id":"` + strings.Repeat("x", 2<<20) + `"}`, http.StatusBadRequest},
	} {
		var p told
		if got := tell(&p, tt.kind, tt.body); got != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, got, tt.want)
		}
		if all := p.list(); len(all) > 0 {
			t.Errorf("%s: taken as %+v", tt.name, all)
		}
	}
}
