//go:build !race

package panel

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser/internal/eventually"
)

// A card appears by the stream, with no load of the page, and what was typed stays.
func TestCardAppearsByTheStream(t *testing.T) {
	h := newHouse(t, false, hotels(t, 8)...)
	b := newBrowser(t, h)
	b.open("/")
	eval[bool](b, `window.same = true`)
	b.do(chromedp.SendKeys(chromedp.CSS(`[data-find]`), "park"))
	h.trip("hotel-3")
	b.until(`document.querySelector('.card.open h3')?.textContent === 'hotel-3'`)
	b.until(`document.querySelector('h1').textContent === '1 of 8 dependencies is cut off'`)
	b.until(`document.title.startsWith('1 of 8')`)
	if !eval[bool](b, `window.same === true && document.querySelector('[data-find]').value === 'park' && document.activeElement.matches('[data-find]')`) {
		t.Error("the page was loaded anew, or what was typed is gone")
	}
	if n := eval[int](b, `[...document.querySelectorAll('tr[data-id]')].filter((r) => !r.hidden).length`); n != 2 {
		t.Errorf("%d rows are shown after the change, want the 2 that fit the search", n)
	}
	if n := eval[int](b, `[...document.querySelectorAll('tr[data-id] .cell-state b')].length`); n != 8 || eval[bool](b, `document.querySelector('[data-same]') !== null`) {
		t.Errorf("%d whole rows after the change, want all 8", n)
	}
	if loaded := b.loads(); len(loaded) == 0 || loaded[0] != "?row=&row=hotel-3" {
		t.Errorf("the page was loaded with %q, want with the row of hotel-3", loaded)
	}
	h.refused("hotel-3", 12)
	b.until(`document.querySelector('.card.open [data-number="refused"]').textContent === '12'`)
	h.calls("hotel-5", 4, errDown)
	b.until(`document.querySelector('.card.at-risk h3')?.textContent === 'hotel-5'`)
}

// loads are the queries with which the page of all dependencies was loaded.
func (b *browser) loads() []string {
	return eval[[]string](b, `performance.getEntriesByType('resource').map((e) => new URL(e.name)).filter((u) => u.pathname === '/').map((u) => u.search)`)
}

// A page may take long to come; what changed is shown at once all the same, and that the
// rest of it is behind.
func TestSlowPage(t *testing.T) {
	h := newHouse(t, false, hotels(t, 8)...)
	b := newBrowser(t, h)
	b.open("/")
	come := make(chan struct{})
	h.slow.Store(&come)
	row := func(id, says, key string) {
		t.Helper()
		b.until(fmt.Sprintf(`(() => {
			const row = document.querySelector('tr[data-id="%s"]');
			return row.querySelector('[data-says]').textContent === '%s' && row.dataset.state === '%[3]s' && row.classList.contains('%[3]s')
				&& row.querySelector('.mark').classList.contains('%[3]s') && row.querySelector('use').getAttribute('href') === '#mark:%[3]s';
		})()`, id, says, key))
	}
	headline := func(want string) {
		t.Helper()
		b.until(fmt.Sprintf(`document.querySelector('h1').textContent === '%s'`, want))
	}
	h.trip("hotel-3")
	row("hotel-3", "Open: cut off", "open")
	headline("1 of 8 dependencies is cut off")
	b.until(`document.querySelector('[data-live]').dataset.live === 'late' && /^\d+ s behind$/.test(document.querySelector('[data-live] b').textContent)`)
	h.trip("hotel-7")
	row("hotel-7", "Open: cut off", "open")
	headline("2 of 8 dependencies are cut off")
	if err := h.breaker("hotel-5").HoldClosed("kim", "we know", time.Time{}); err != nil {
		t.Fatal(err)
	}
	row("hotel-5", "Held closed: passing", "held-closed")
	h.breaker("hotel-3").Reset("kim", "mended")
	row("hotel-3", "Closed: passing", "closed")
	headline("1 of 8 dependencies is cut off")
	if loads := b.loads(); len(loads) > 1 {
		t.Fatalf("a page came: %q", loads)
	}
	close(come)
	b.until(`document.querySelector('[data-live] b').textContent === 'Live' && document.querySelectorAll('.card').length === 2`)
	headline("1 of 8 dependencies is cut off 1 passing by hand")
}

// The script's words for states are the pages'.
func TestScriptKnowsTheWords(t *testing.T) {
	script, err := static.ReadFile("static/states.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states() {
		if s.Key != atRisk && !strings.Contains(string(script), s.Key+": '"+s.Says()+"'") && !strings.Contains(string(script), "'"+s.Key+"': '"+s.Says()+"'") {
			t.Errorf("it does not know %s: %s", s.Key, s.Says())
		}
	}
}

// A page that does not come is asked for again, and then of all rows.
func TestPageThatDoesNotCome(t *testing.T) {
	h := newHouse(t, false, hotels(t, 4)...)
	b := newBrowser(t, h)
	b.open("/")
	h.breaks.Store(2)
	h.trip("hotel-3")
	b.until(`document.querySelector('.card.open h3')?.textContent === 'hotel-3'`)
	if loads := b.loads(); len(loads) < 3 || loads[0] != "?row=&row=hotel-3" || loads[len(loads)-1] != "" {
		t.Errorf("the page was loaded with %q, want twice in vain, then whole", loads)
	}
}

// An address does not grow with what changed at once.
func TestManyRowsAtOnce(t *testing.T) {
	h := newHouse(t, false, hotels(t, 4)...)
	b := newBrowser(t, h)
	b.open("/")
	renew := func(rows, before int) string {
		t.Helper()
		run(b, chromedp.Evaluate[bool](fmt.Sprintf(`(async () => {
			const live = await import(performance.getEntriesByType('resource').find((e) => /\/live-\w+\.js$/.test(e.name)).name);
			live.refresh(Array.from({ length: %d }, (_, i) => 'hotel-' + i));
			return true;
		})()`, rows), chromedp.EvalAwaitPromise))
		eventually.True(t, longest, func() bool { return len(b.loads()) > before }, "the page")
		return b.loads()[before]
	}
	if got := renew(200, 0); strings.Count(got, "row=") != 201 {
		t.Errorf("200 rows were asked for with %.100q", got)
	}
	if got := renew(201, 1); got != "" {
		t.Errorf("201 rows were asked for with %.100q, want the whole page", got)
	}
}

// When the gateway is gone the page says so, and shows nothing as if it were so.
func TestNotLive(t *testing.T) {
	h := many(t, false)
	b := newBrowser(t, h)
	b.open("/")
	h.stop()
	b.untilNotLive()
	if word := eval[string](b, `document.querySelector('[data-live] b').textContent`); word != "Not live" {
		t.Errorf("the sign says %q", word)
	}
	if grey := eval[string](b, `getComputedStyle(document.querySelector('main')).filter`); grey != "grayscale(1)" {
		t.Errorf("what is shown is not grey: %s", grey)
	}
	counted := eval[string](b, `document.querySelector('[data-until]').textContent`)
	b.until(`/came ([6-9]|1\d) s ago/.test(document.querySelector('[data-not-live]').textContent)`) // the age is told
	if now := eval[string](b, `document.querySelector('[data-until]').textContent`); now != counted {
		t.Errorf("nobody knows what goes on, and the page counts on: %s, then %s", counted, now)
	}
	b.shot("not-live-desk-light", false)
	b.phone()
	b.theme("dark")
	b.shot("not-live-phone-dark", false)
}

func (b *browser) untilNotLive() {
	b.until(`document.documentElement.hasAttribute('data-stale') && document.querySelector('[data-not-live]').checkVisibility() && document.querySelector('[data-live]').dataset.live === 'no'`)
}

// pages are all that are live.
func pages() []string {
	return []string{"/", "/d/hotel-3", "/wall", "/timeline", "/maintenance", "/alerts", "/audit", "/nodes"}
}

func TestAccessible(t *testing.T) {
	well, bad := newHouse(t, false, hotels(t, 12)...), many(t, false)
	bad.told()
	for name, h := range map[string]*house{"all well": well, "many open": bad} {
		b := newBrowser(t, h)
		for _, path := range pages() {
			b.open(path)
			b.accessible(name + " " + path)
		}
	}
}

// So are those that are not live, and the dialog.
func TestAccessibleOthers(t *testing.T) {
	h := newHouse(t, false, hotels(t, 12)...)
	b := newBrowser(t, h)
	b.do(chromedp.Navigate(h.server.URL + "/sign-in"))
	b.accessible("sign-in")
	b.do(chromedp.Navigate(h.server.URL + "/d/nobody"))
	b.accessible("problem")
	b.open("/")
	b.do(chromedp.Click(chromedp.CSS(`tr[data-id="hotel-1"] [data-act]`)))
	b.until(`document.querySelector('dialog').open`)
	b.accessible("dialog")
	b.Faults() // a 404 is an error in the console
}

// Each page is so, too, when it is not live: here because the stream hangs.
func TestAccessibleNotLive(t *testing.T) {
	h := many(t, false)
	h.told()
	h.mute.Store(true)
	b := newBrowser(t, h)
	for _, path := range pages() {
		b.do(chromedp.Navigate(h.server.URL + path))
		b.untilNotLive()
		b.accessible("not live " + path)
	}
}
