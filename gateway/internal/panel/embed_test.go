//go:build !race

package panel

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/internal/eventually"
)

// cms is a page of another site with the frame in it. Its name decides whether it may
// have it: a browser takes each name for a site of its own, all of them on this machine.
func cms(t *testing.T, name, frame string) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>CMS</title><link rel="icon" href="data:,"><iframe title="hotel-1" width="600" height="420" src="%s"></iframe>`, frame)
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", name, 1)
}

// Somebody of the company isolates a dependency from a frame in its CMS, with a token of
// one group, and puts it back.
func TestEmbed(t *testing.T) {
	h := newHouse(t, true, hotels(t, 8)...)
	in := h.server.URL + "/embed/hotel-1#" + h.token("cms", auth.Operator, "Coast")
	outer := newBrowser(t, h)
	outer.do(chromedp.Navigate(cms(t, "cms.localhost", in)))
	b := &browser{outer.Frame(in), h}
	b.until(`document.querySelector('[data-word]').textContent.startsWith('Calls have passed for')`)
	outer.shot("embed-in-cms", false)
	b.do(chromedp.Click(chromedp.CSS(`[data-begin]`)))
	if on := eval[string](b, `document.querySelector('[data-submit]').textContent`); on != "Isolate hotel-1 for 1 hour" {
		t.Errorf("the button says %q", on)
	}
	b.do(chromedp.Click(chromedp.CSS(`[data-submit]`)))
	b.until(`document.querySelector('[data-fault]').textContent.startsWith('Say why')`)
	outer.shot("embed-in-cms-asks", false)
	b.do(chromedp.SendKeys(chromedp.CSS(`textarea`), "their database moves"), chromedp.Click(chromedp.CSS(`[data-submit]`)))
	eventually.True(t, longest, func() bool { return h.breaker("hotel-1").State() == recloser.Isolated }, "hotel-1 to be isolated")
	b.until(`document.querySelector('[data-begin]').textContent === 'Put back…'`)
	outer.shot("embed-in-cms-isolated", false)
	if o := h.breaker("hotel-1").Stats().Override; o.By != "cms" || o.Why != "their database moves" || o.Until.IsZero() {
		t.Errorf("override %+v", o)
	}
	b.do(chromedp.Click(chromedp.CSS(`[data-begin]`)), chromedp.SendKeys(chromedp.CSS(`textarea`), "done"), chromedp.Click(chromedp.CSS(`[data-submit]`)))
	eventually.True(t, longest, func() bool { return h.breaker("hotel-1").State() == recloser.HalfOpen }, "hotel-1 to be put back")
}

// A site that is not named gets no frame, whatever token it has.
func TestEmbedInAnotherSite(t *testing.T) {
	h := newHouse(t, true, hotels(t, 2)...)
	b := newBrowser(t, h)
	b.do(chromedp.Navigate(cms(t, "evil.localhost", h.server.URL+"/embed/hotel-1#"+h.token("cms", auth.Operator, "Coast"))))
	refused := func() bool {
		return slices.ContainsFunc(b.Faults(), func(f string) bool { return strings.Contains(f, "frame-ancestors") })
	}
	eventually.True(t, longest, refused, "the browser to refuse the frame")
	b.shot("embed-refused", false)
	b.Faults() // of the same
}

// By itself and on a phone the page is accessible in each of its states.
func TestEmbedAccessible(t *testing.T) {
	h := newHouse(t, true, hotels(t, 8)...)
	b := newBrowser(t, h)
	b.do(chromedp.Navigate(h.server.URL + "/embed/hotel-1#" + h.token("cms", auth.Operator, "Coast")))
	b.until(`document.querySelector('[data-word]').textContent.startsWith('Calls have passed for')`)
	b.accessible("embed")
	b.do(chromedp.Click(chromedp.CSS(`[data-begin]`)))
	b.accessible("embed, asking")
	b.phone()
	b.shot("embed-phone", false)
	b.desk()
	h.trip("hotel-1")
	b.until(`document.querySelector('[data-head]').classList.contains('open')`)
	b.accessible("embed, open")
	h.stop()
	b.until(`document.querySelector('[data-head]').classList.contains('unknown')`)
	b.accessible("embed, not live")
}

// An outage lasts over failed trials: what is counted since the last of them says so.
func TestEmbedTellsSinceWhen(t *testing.T) {
	h := newHouse(t, true, hotels(t, 8)...)
	h.trip("hotel-1")
	was := h.breaker("hotel-1").Save()
	was.OutSince, was.Since = was.At.Add(-2*time.Hour), was.At.Add(-20*time.Second)
	if err := h.breaker("hotel-1").Restore(was); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, h)
	b.do(chromedp.Navigate(h.server.URL + "/embed/hotel-1#" + h.token("cms", auth.Operator, "Coast")))
	b.until(`document.querySelector('[data-head]').classList.contains('open')`)
	says := func() string {
		return eval[string](b, `document.querySelector('[data-word]').textContent + ' ' + document.querySelector('[data-why]').textContent`)
	}
	if text := says(); !regexp.MustCompile(`^Cut off for 2 h, since \S.* · at \S.*: restored · next trial in `).MatchString(text) {
		t.Errorf("open: %q", text)
	}
	b.accessible("embed, in an outage")
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		b.phone()
		b.shot("embed-phone-open-"+theme, false)
	}
	h.breaker("hotel-1").TryNow("ines", "they say it is mended")
	b.until(`document.querySelector('[data-head]').classList.contains('half-open')`)
	if text := says(); !regexp.MustCompile(`^On trial for 2 h, since \S.* · since \S.*: 0 of 2 trials good$`).MatchString(text) {
		t.Errorf("on trial: %q", text)
	}
	h.calls("hotel-1", 2, nil)
	b.until(`document.querySelector('[data-word]').textContent.startsWith('Calls have passed for')`)
	if text := says(); strings.Contains(text, "since") {
		t.Errorf("closed: %q", text)
	}
}

// Only sites that are named may show it in a frame, and it tells nothing by itself.
func TestEmbedPolicy(t *testing.T) {
	h := newHouse(t, true, hotels(t, 2)...)
	resp, err := h.server.Client().Get(h.server.URL + "/embed/hotel-1")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasSuffix(csp, "; frame-ancestors http://cms.localhost:*") || resp.Header.Get("X-Frame-Options") != "" {
		t.Errorf("%q, %q", csp, resp.Header.Get("X-Frame-Options"))
	}
	if page := h.get("/embed/hotel-1", http.StatusOK); strings.Contains(page, "Aurora") {
		t.Error("the page tells a stranger the name")
	}
	none, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	none.embed(w, httptest.NewRequest(http.MethodGet, "/embed/x", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "admin.embed") {
		t.Errorf("without sites: %d %s", w.Code, w.Body)
	}
}
