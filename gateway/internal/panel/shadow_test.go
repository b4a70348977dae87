//go:build !race

package panel

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/internal/eventually"
)

// A dependency whose calls all pass, because it is in shadow mode, is nowhere shown as
// cut off: only that it would be.
func TestShadowIsNotShownAsCutOff(t *testing.T) {
	all := hotels(t, 3)
	all[0].Settings.Shadow = true
	h := newHouse(t, false, all...)
	for _, e := range []history.Event{{At: time.Now().Add(-30 * time.Minute), From: closed, To: open}, {At: time.Now().Add(-20 * time.Minute), From: open, To: closed}} {
		e.Dependency, e.Kind, e.Shadow = "hotel-1", history.KindTransition, true
		h.history.Record(e)
	}
	h.trip("hotel-1")
	h.calls("hotel-1", 3, nil)
	eventually.True(t, longest, func() bool { return strings.Contains(h.get("/alerts", http.StatusOK), "incident:hotel-1") }, "the incident")
	for path, wants := range map[string][]string{
		"/":          {"All 3 dependencies are passing calls", "1 would be cut off (shadow)", `class="card shadowed"`, "would be cut off for", "still passing calls", `<tr role="row" class="shadowed"`},
		"/timeline":  {`class="lane shadowed"`, "Shadow: would be cut off for", "would be cut off (shadow)</b> <span class=\"dim\"><bdi>5 bad calls in a row: dial tcp", "would have been 10 min", "100.00 %"},
		"/alerts":    {`class="card shadowed"`, "<b>Shadow: passing</b>"},
		"/wall":      {"All 3 dependencies are passing calls", "1 would be cut off (shadow)", `class="tile shadowed"`},
		"/d/hotel-1": {"<b>Shadow</b> — would be cut off for", "5 bad calls in a row (limit 5): dial tcp"},
	} {
		page := h.get(path, http.StatusOK)
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
		for _, never := range []string{"card open", "tile open", "head open", "is cut off", ">cut off", "<title>Open", "<b>open</b>"} {
			if strings.Contains(page, never) {
				t.Errorf("%s says %q", path, never)
			}
		}
	}
	if csv := h.get("/timeline.csv", http.StatusOK); !regexp.MustCompile(`(?m)^hotel-1,.*,1\.000000,[0-9.]+,0\.0,0\.0,0,0\.0,0\.0,.*,[1-9][0-9.]*$`).MatchString(csv) {
		t.Errorf("by month it was cut off: %s", csv)
	}
	h.breaker("hotel-1").TryNow("ines", "")
	if page := h.get("/d/hotel-1", http.StatusOK); !strings.Contains(page, "would be on trial for") {
		t.Error("on trial, it is not said that it would be")
	}
	if err := h.breaker("hotel-1").Isolate("ines", "they move", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if page := h.get("/", http.StatusOK); !strings.Contains(page, "1 of 3 dependencies is cut off") {
		t.Error("isolated by hand it is cut off, shadow or not")
	}
	b := newBrowser(t, h)
	h.breaker("hotel-1").Release("ines", "")
	h.trip("hotel-2")
	for name, path := range map[string]string{"shadow": "/", "shadow-detail": "/d/hotel-1", "shadow-wall": "/wall", "shadow-timeline": "/timeline"} {
		b.open(path)
		b.accessible(path)
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			b.desk()
			b.shot(name+"-"+theme, false)
			b.phone()
			b.shot(name+"-phone-"+theme, false)
		}
	}
}
