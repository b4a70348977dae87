//go:build !race

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
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// linkOf is the link of a message about a dependency that asks for an act.
func linkOf(t *testing.T, panel, id string, kind message.Kind) string {
	t.Helper()
	links := message.Message{Kind: kind, Panel: panel, Items: []message.Item{{Dependency: id}}}.Links()
	if len(links) != 2 {
		t.Fatalf("links %+v", links)
	}
	return links[1].URL
}

// A link of a message opens the dialog for what it names, once, and acts on nothing.
func TestLinksOfMessages(t *testing.T) {
	h := newHouse(t, false, hotels(t, 4)...)
	if err := h.breaker("hotel-2").HoldClosed("ines", "we know", noon.AddDate(100, 0, 0)); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, h)
	says := func(want string) {
		t.Helper()
		b.until(`document.querySelector('dialog').open`)
		if on := eval[string](b, `document.querySelector('[data-submit]').textContent`); on != want {
			t.Errorf("the button says %q, want %q", on, want)
		}
		if address := eval[string](b, `location.search`); address != "" {
			t.Errorf("the address still asks: %s", address)
		}
	}
	b.do(chromedp.Navigate(linkOf(t, h.server.URL, "hotel-1", message.Started)))
	says("Isolate hotel-1 for 1 hour")
	if h.breaker("hotel-1").State() != recloser.Closed {
		t.Error("looking at a link isolated it")
	}
	b.do(chromedp.Navigate(linkOf(t, h.server.URL, "hotel-2", message.Held)))
	says("Put back hotel-2 to automatic")
	if h.breaker("hotel-2").State() != recloser.HeldClosed {
		t.Error("looking at a link put it back")
	}
	b.do(chromedp.Navigate(linkOf(t, h.server.URL, "hotel-3", message.Held)))
	b.until(`document.querySelector('[data-toast-text]').textContent.startsWith('Nothing was set by hand on hotel-3')`)
	b.open("/d/hotel-1")
	if eval[bool](b, `document.querySelector('dialog').open`) {
		t.Error("a dialog opens though nobody asked")
	}
}

// Who follows the link in a mail, on another site, and is not signed in, comes to the
// dialog by way of the sign-in. Who may not act is told so.
func TestLinksOfMessagesAfterSignIn(t *testing.T) {
	h := newHouse(t, true, hotels(t, 4)...)
	operator, viewer := h.token("duty.manager", auth.Operator, ""), h.token("screen", auth.Viewer, "")
	mail := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Mail</title><link rel="icon" href="data:,"><a href="%s">Isolate it…</a>`, linkOf(t, h.server.URL, "hotel-1", message.Started))
	}))
	t.Cleanup(mail.Close)
	follow := func() *browser {
		b := newBrowser(t, h)
		b.do(chromedp.Navigate(strings.Replace(mail.URL, "127.0.0.1", "localhost", 1)), chromedp.Click(chromedp.CSS("a")))
		return b
	}
	signIn := func(b *browser, token string) {
		b.until(`location.pathname === '/sign-in' && document.querySelector('[name="token"]') !== null`)
		b.do(chromedp.SendKeys(chromedp.CSS(`[name="token"]`), token), chromedp.Submit(chromedp.CSS(`[name="token"]`)))
	}
	b := follow()
	signIn(b, operator)
	b.until(`document.querySelector('dialog')?.open === true`)
	if on := eval[string](b, `document.querySelector('[data-submit]').textContent`); on != "Isolate hotel-1 for 1 hour" {
		t.Errorf("the button says %q", on)
	}
	b.do(chromedp.Navigate(strings.Replace(mail.URL, "127.0.0.1", "localhost", 1)), chromedp.Click(chromedp.CSS("a")))
	b.until(`location.pathname === '/d/hotel-1' && document.querySelector('dialog')?.open === true`) // signed in, and no cookie came with the link
	b = follow()
	signIn(b, viewer)
	b.until(`document.querySelector('.note')?.textContent.includes('takes the role operator') === true`)
	if s := h.breaker("hotel-1").State(); s != recloser.Closed {
		t.Errorf("hotel-1 is %s", s)
	}
}
