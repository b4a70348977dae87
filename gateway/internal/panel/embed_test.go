package panel

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/internal/eventually"
)

// Somebody of the company isolates a dependency from a frame in its CMS, with a token of
// one group, and puts it back.
func TestEmbed(t *testing.T) {
	h := newHouse(t, true, hotels(t, 8)...)
	token := h.token("cms", auth.Operator, "Coast")
	cms := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>CMS</title><link rel="icon" href="data:,"><iframe title="hotel-1" width="600" height="400" src="%s/embed/hotel-1#%s"></iframe>`, h.server.URL, token)
	}))
	t.Cleanup(cms.Close)
	b := newBrowser(t, h)
	b.do(chromedp.Navigate(cms.URL))
	in := h.server.URL + "/embed/hotel-1#" + token
	b.shot("embed-in-cms", false)

	// The driver cannot reach into a frame of another site: the same page, by itself.
	b.do(chromedp.Navigate(in))
	b.until(`document.querySelector('[data-word]').textContent.startsWith('Calls pass for')`)
	b.accessible("embed")
	b.do(chromedp.Click(chromedp.CSS(`[data-begin]`)))
	if on := eval[string](b, `document.querySelector('[data-submit]').textContent`); on != "Isolate hotel-1 for 1 hour" {
		t.Errorf("the button says %q", on)
	}
	b.do(chromedp.Click(chromedp.CSS(`[data-submit]`)))
	b.until(`document.querySelector('[data-fault]').textContent.startsWith('Say why')`)
	b.do(chromedp.SendKeys(chromedp.CSS(`textarea`), "their database moves"), chromedp.Click(chromedp.CSS(`[data-submit]`)))
	eventually.True(t, longest, func() bool { return h.breaker("hotel-1").State() == recloser.Isolated }, "hotel-1 to be isolated")
	b.until(`document.querySelector('[data-begin]').textContent === 'Put back…'`)
	b.shot("embed", false)
	if o := h.breaker("hotel-1").Stats().Override; o.By != "cms" || o.Why != "their database moves" || o.Until.IsZero() {
		t.Errorf("override %+v", o)
	}
	b.do(chromedp.Click(chromedp.CSS(`[data-begin]`)), chromedp.SendKeys(chromedp.CSS(`textarea`), "done"), chromedp.Click(chromedp.CSS(`[data-submit]`)))
	eventually.True(t, longest, func() bool { return h.breaker("hotel-1").State() == recloser.HalfOpen }, "hotel-1 to be put back")
}

// Only sites that are named may show it in a frame, and it tells nothing by itself.
func TestEmbedPolicy(t *testing.T) {
	h := newHouse(t, true, hotels(t, 2)...)
	resp, err := h.server.Client().Get(h.server.URL + "/embed/hotel-1")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasSuffix(csp, "; frame-ancestors http://127.0.0.1:*") || resp.Header.Get("X-Frame-Options") != "" {
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
