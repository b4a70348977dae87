//go:build !race

package panel

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// With 500 dependencies a slash, a few keys and Tab lead to the one that is looked for,
// and only rows that changed are touched.
func TestManyRows(t *testing.T) {
	h := newHouse(t, false, hotels(t, 500)...)
	for _, id := range []string{"hotel-3", "hotel-77", "hotel-499"} {
		h.trip(id)
	}
	b := newBrowser(t, h)
	b.open("/")
	if n := eval[int](b, `document.querySelectorAll('tr[data-id]').length`); n != 500 {
		t.Fatalf("%d rows", n)
	}
	eval[bool](b, `document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true }))`)
	b.do(chromedp.KeyEvent("hotel-499"))
	b.until(`[...document.querySelectorAll('tr[data-id]')].filter((r) => r.offsetParent).length === 1`)
	eval[any](b, `(() => {
		window.touched = new Set();
		new MutationObserver((all) => all.forEach(({ target }) => {
			const at = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
			if (at && !at.closest('time')) touched.add(at.closest('[data-id]')?.dataset.id); // clocks go on
		})).observe(document.querySelector('.list'), { subtree: true, childList: true, characterData: true });
	})()`)
	h.trip("hotel-250")
	b.until(`document.querySelector('h1').textContent.startsWith('4 of 500')`)
	b.until(`document.querySelector('.card[data-id="hotel-250"]') !== null`)
	if n := eval[int](b, `touched.size`); n > 20 {
		t.Errorf("one trip changed text in %d rows", n)
	}
	if rows := eval[int](b, `[...document.querySelectorAll('tr[data-id]')].filter((r) => r.offsetParent).length`); rows != 1 {
		t.Errorf("%d rows are shown after it, want the one that was looked for", rows)
	}
}

// Who wants nothing to move sees nothing move.
func TestReducedMotion(t *testing.T) {
	h := newHouse(t, false, hotels(t, 4)...)
	h.trip("hotel-1")
	b := newBrowser(t, h)
	b.open("/")
	moves := func() bool {
		return eval[bool](b, `[...document.querySelectorAll('*')].some((e) => { const s = getComputedStyle(e); return s.transitionDuration !== '0s' || s.animationName !== 'none' || s.scrollBehavior !== 'auto'; })`)
	}
	if !moves() {
		t.Error("nothing moves anyhow: there is nothing to be reduced")
	}
	b.theme("light") // and reduced motion
	if moves() {
		t.Error("something moves")
	}
}
