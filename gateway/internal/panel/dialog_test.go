//go:build !race

package panel

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/internal/eventually"
)

// Somebody isolates a dependency by keyboard alone, is told that a reason is needed,
// gives one, and takes it back.
func TestDialogByKeyboard(t *testing.T) {
	h := newHouse(t, false, hotels(t, 12)...)
	b := newBrowser(t, h)
	b.open("/")
	// The driver sends a key's character even where the page takes the key for itself.
	if passed := eval[bool](b, `document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true }))`); passed {
		t.Error("a slash is typed into the page")
	}
	b.until(`document.activeElement.matches('[data-find]')`)
	b.do(chromedp.KeyEvent("hotel-7"))
	b.until(`[...document.querySelectorAll('tr[data-id]')].filter((r) => r.offsetParent).length === 1`)
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector('dialog').open`)
	if on := eval[string](b, `document.querySelector('[data-submit]').textContent`); on != "Isolate hotel-7 for 1 hour" {
		t.Errorf("the button says %q", on)
	}
	b.shot("dialog", false)
	enter := func() { b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)) }
	enter()
	b.until(`document.querySelector('[data-fault]').textContent.startsWith('Say why')`)
	if s := h.breaker("hotel-7").State(); s != recloser.Closed {
		t.Fatalf("without a reason it is %s", s)
	}
	b.do(chromedp.KeyEvent("their database\nmoves")) // a message has one line for it
	enter()
	b.until(`!document.querySelector('dialog').open`)
	o := h.breaker("hotel-7").Stats().Override
	if o == nil || o.State != recloser.Isolated || o.Why != "their database moves" || o.Until.IsZero() {
		t.Fatalf("override %+v", o)
	}
	b.until(`document.querySelector('.card.isolated h3')?.textContent === 'hotel-7'`) // by the stream
	b.shot("undo", false)
	b.do(chromedp.Click(chromedp.CSS("[data-undo]")))
	eventually.True(t, longest, func() bool { return h.breaker("hotel-7").State() == recloser.Closed }, "the act to be undone")
}

// What was looked at has changed: nobody acts on it unawares.
func TestDialogStaleVersion(t *testing.T) {
	h := newHouse(t, false, hotels(t, 4)...)
	b := newBrowser(t, h)
	b.open("/")
	b.do(chromedp.Click(chromedp.CSS(`tr[data-id="hotel-2"] [data-act]`)))
	b.until(`document.querySelector('dialog').open`)
	h.trip("hotel-2")
	b.do(chromedp.SendKeys(chromedp.CSS("textarea"), "we know"), chromedp.Click(chromedp.CSS("[data-submit]")))
	b.until(`document.querySelector('[data-fault]').textContent.includes('is open (cut off) now')`)
	if h.breaker("hotel-2").Stats().Override != nil {
		t.Fatal("it was isolated all the same")
	}
	b.do(chromedp.Click(chromedp.CSS("[data-submit]")))
	b.until(`!document.querySelector('dialog').open`)
	if h.breaker("hotel-2").State() != recloser.Isolated {
		t.Error("it is not isolated after a second decision")
	}
	b.Faults() // a 409 is an error in the console
}

// An end in the past is refused, in words, by the gateway.
func TestDialogEndInThePast(t *testing.T) {
	h := newHouse(t, false, hotels(t, 4)...)
	b := newBrowser(t, h)
	b.open("/")
	b.do(chromedp.Click(chromedp.CSS(`tr[data-id="hotel-2"] [data-act]`)))
	b.until(`document.querySelector('dialog').open`)
	b.do(chromedp.SendKeys(chromedp.CSS("textarea"), "we know"))
	eval[any](b, `(() => { const u = document.querySelector('[name="until"]'); u.value = '2020-01-01T10:00'; u.dispatchEvent(new Event('input', { bubbles: true })); return 1; })()`)
	b.do(chromedp.Click(chromedp.CSS("[data-submit]")))
	b.until(`document.querySelector('[data-fault]').textContent === 'The end must lie ahead.'`)
	b.Faults() // a 422 is an error in the console
}

// A viewer is shown no buttons; signing in and out works with the page's own forms.
func TestSignInAndRoles(t *testing.T) {
	h := many(t, true)
	viewer, operator := h.token("screen", auth.Viewer, ""), h.token("duty.manager", auth.Operator, "Coast")
	b := newBrowser(t, h)
	signIn := func(token string) {
		t.Helper()
		b.do(chromedp.Navigate(h.server.URL+"/?from=mail"), chromedp.SendKeys(chromedp.CSS(`[name="token"]`), token))
		b.shot("sign-in", false)
		b.do(chromedp.Submit(chromedp.CSS(`[name="token"]`)))
		b.until(`document.querySelector('[data-live="yes"]') !== null`)
		if at := eval[string](b, "location.pathname + location.search"); at != "/?from=mail" {
			t.Errorf("after signing in at %s", at)
		}
	}
	signIn(viewer)
	if n := eval[int](b, `document.querySelectorAll('[data-act]').length`); n > 0 {
		t.Errorf("a viewer sees %d buttons to act", n)
	}
	if apart := eval[float64](b, `(() => {
		const middle = (e) => { const at = document.createRange(); at.selectNodeContents(e); const r = at.getBoundingClientRect(); return (r.top + r.bottom) / 2; };
		return Math.abs(middle(document.querySelector('.who span')) - middle(document.querySelector('.who button')));
	})()`); apart > 1 {
		t.Errorf("the name stands %.1f px higher or lower than the button beside it", apart)
	}
	b.shot("signed-in", false)
	if cookie := eval[string](b, "document.cookie"); cookie != "" {
		t.Errorf("scripts can read the cookie %q", cookie)
	}
	b.do(chromedp.Click(chromedp.CSS(`[action="/sign-out"] button`)))
	b.until(`location.pathname === '/sign-in'`)
	signIn(operator)
	if n := eval[int](b, `document.querySelectorAll('tr[data-id]').length`); n != 10 {
		t.Errorf("who sees one group sees %d dependencies, want 10", n)
	}
	if n := eval[int](b, `document.querySelectorAll('tr [data-act]').length`); n != 10 {
		t.Errorf("an operator sees %d buttons to act, want 10", n)
	}
}
