package panel

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// The page of a dependency tells how the last trial ended, apart from what opened it.
func TestLastTrialIsShown(t *testing.T) {
	h := newHouse(t, false, hotels(t, 2)...)
	h.trip("hotel-1")
	if page := h.get("/d/hotel-1", http.StatusOK); strings.Contains(page, "Last trial") {
		t.Error("a trial is shown, and there was none")
	}
	h.breaker("hotel-1").TryNow("ines", "")
	h.calls("hotel-1", 1, errors.New("still <down>"))
	page := h.get("/d/hotel-1", http.StatusOK)
	if _, trial, _ := strings.Cut(page, "Last trial"); !strings.Contains(trial, "<b>Bad</b>") || !strings.Contains(trial, "still &lt;down&gt;") {
		t.Errorf("the last trial is not shown:\n%s", page)
	}
	h.breaker("hotel-1").TryNow("ines", "")
	h.calls("hotel-1", 1, nil)
	page = h.get("/d/hotel-1", http.StatusOK)
	if _, trial, _ := strings.Cut(page, "Last trial"); !strings.Contains(trial, "<b>Good</b>") {
		t.Errorf("the last trial is not shown:\n%s", page)
	}
	b := newBrowser(t, h)
	b.open("/d/hotel-1")
	b.shot("detail-last-trial", true)
}
