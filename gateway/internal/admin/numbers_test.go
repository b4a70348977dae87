package admin

import (
	"net/http"
	"testing"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
)

// With numbers a stream carries, again and again, those that changed; and comes even
// if none did, so that silence means something.
func TestStreamNumbers(t *testing.T) {
	w := newWhole(t)
	f := w.follow(w.serve(), func(r *http.Request) { r.URL.RawQuery = "numbers=true" })
	var first map[string]Numbers
	if f.want("numbers", &first); len(first) != 4 {
		t.Errorf("at first of %d dependencies, want all 4", len(first))
	}
	w.calls("hotel-1", 3, errDown)
	var then map[string]Numbers
	for len(then) == 0 {
		f.want("numbers", &then)
	}
	if n, ok := then["hotel-1"]; !ok || len(then) != 1 || n.Judged != 3 || n.Run != 3 || !n.AtRisk || n.Share != nil {
		t.Errorf("%+v", then)
	}
	var last map[string]Numbers
	if f.want("numbers", &last); len(last) != 0 {
		t.Errorf("nothing changed, and %+v came", last)
	}
}

// What is spared is added up for the reader, of all that he sees and of no more.
func TestStreamSpared(t *testing.T) {
	w := newWhole(t, signIn)
	server := w.serve()
	all, coast := w.token("all", auth.Viewer, ""), w.token("coast", auth.Viewer, "coast")
	w.trip("hotel-1")
	w.trip("bank")
	w.calls("hotel-1", 2, recloser.ErrOpen)
	w.calls("bank", 3, recloser.ErrOpen)
	for _, tt := range []struct {
		token func(*http.Request)
		want  int64
	}{{all, 5}, {coast, 2}} {
		f := w.follow(server, tt.token, func(r *http.Request) { r.URL.RawQuery = "numbers=true" })
		var spared Spared
		if f.want("spared", &spared); spared != (Spared{uint64(tt.want), 2000 * tt.want}) {
			t.Errorf("%+v, want %d calls", spared, tt.want)
		}
	}
}
