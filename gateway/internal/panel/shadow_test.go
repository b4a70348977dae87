//go:build !race

package panel

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A dependency whose calls all pass, because it is in shadow mode, is nowhere shown as
// cut off: only that it would be.
func TestShadowIsNotShownAsCutOff(t *testing.T) {
	all := hotels(t, 3)
	all[0].Settings.Shadow = true
	h := newHouse(t, false, all...)
	h.trip("hotel-1")
	h.calls("hotel-1", 3, nil)
	for path, wants := range map[string][]string{
		"/":          {"All 3 dependencies are passing calls", "1 would be cut off (shadow)", `class="card shadowed"`, "would be cut off for", "still passing calls", `<tr role="row" class="shadowed"`},
		"/wall":      {"All 3 dependencies are passing calls", "1 would be cut off (shadow)", `class="tile shadowed"`},
		"/d/hotel-1": {"<b>Shadow</b> — would be cut off for", "5 bad calls in a row (limit 5) — <bdi>dial tcp"},
	} {
		page := h.get(path, http.StatusOK)
		for _, want := range wants {
			if !strings.Contains(strings.ReplaceAll(page, "</bdi> — ", " — "), want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
		for _, never := range []string{"card open", "tile open", "head open", "is cut off", ">cut off"} {
			if strings.Contains(page, never) {
				t.Errorf("%s says %q", path, never)
			}
		}
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
	for name, path := range map[string]string{"shadow": "/", "shadow-detail": "/d/hotel-1", "shadow-wall": "/wall"} {
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
