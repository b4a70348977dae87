//go:build !race

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

// The good trials of a page are those of its half-open time, not of what came after it.
func TestGoodTrialsAreOfTheStateShown(t *testing.T) {
	h := newHouse(t, false, hotels(t, 2)...)
	h.trip("hotel-1")
	h.breaker("hotel-1").TryNow("ines", "")
	h.calls("hotel-1", 1, nil)
	b := newBrowser(t, h)
	for path, of := range map[string]string{"/": ".card", "/d/hotel-1": "main"} {
		b.open(path)
		trials := `document.querySelector('` + of + ` [data-number="trials"]').textContent`
		if got := eval[string](b, trials); got != "1" {
			t.Errorf("%s: %s good trials, want 1", path, got)
		}
		for _, numbers := range []string{`{ judged: 12 }`, `{}`} { // it has closed, and the page not been renewed yet
			eval[any](b, `void import(performance.getEntriesByType('resource').find((r) => r.name.includes('/numbers')).name).then(({ show }) => {
				show({ 'hotel-1': { share: null, rate: 0, p95_ms: 0, last: [0, 0, 0], ...`+numbers+` } });
				window.shown = (window.shown ?? 0) + 1;
			})`)
		}
		b.until(`window.shown === 2`)
		if got := eval[string](b, trials); got != "1" {
			t.Errorf("%s: %s good trials after news of what came later, want 1", path, got)
		}
	}
}
