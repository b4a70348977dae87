//go:build !race

package panel

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Pictures of all pages in both themes and on a phone, for people to look at: make
// shots.
func TestShots(t *testing.T) {
	h := many(t, false)
	h.told()
	b := newBrowser(t, h)
	for name, path := range map[string]string{
		"overview": "/", "detail": "/d/hotel-8", "detail-isolated": "/d/hotel-34", "detail-held": "/d/hotel-36", "detail-trial": "/d/hotel-14",
		"wall": "/wall", "timeline": "/timeline?back=6h", "timeline-week": "/timeline?back=7d", "maintenance": "/maintenance", "alerts": "/alerts", "audit": "/audit", "nodes": "/nodes",
	} {
		b.open(path)
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			b.desk()
			b.shot(name+"-desk-"+theme, false)
			b.phone()
			if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 390 {
				widest := eval[[]string](b, `[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 390 && !e.closest('.wide')).slice(0, 5).map((e) => e.outerHTML.slice(0, 90))`)
				t.Errorf("%s scrolls sideways on a phone: %d px, by %q", path, wide, widest)
			}
			b.shot(name+"-phone-"+theme, false)
		}
	}
}

// The same where nothing is wrong, and on a big screen.
func TestShotsAllWell(t *testing.T) {
	h := newHouse(t, false, hotels(t, 12)...)
	h.record("hotel-4", -46*time.Minute, closed, open, "5 bad calls in a row")
	h.record("hotel-4", -30*time.Minute, open, closed, "")
	h.busy()
	b := newBrowser(t, h)
	b.theme("light")
	for name, path := range map[string]string{"overview": "/", "detail": "/d/hotel-3", "wall": "/wall", "maintenance": "/maintenance", "alerts": "/alerts"} {
		b.open(path)
		b.shot("well-"+name, false)
	}
	big := newBrowser(t, many(t, false))
	big.theme("dark")
	big.open("/wall")
	big.do(chromedp.EmulateViewport(1920, 1080))
	big.shot("wall-big", false)
}

// A wall is as large as its screen allows, and stays so when more is to be seen.
func TestWallFits(t *testing.T) {
	h := newHouse(t, false, hotels(t, 12)...)
	b := newBrowser(t, h)
	b.open("/wall")
	b.do(chromedp.EmulateViewport(1920, 1080))
	b.untilItFits()
	b.until(`document.querySelector('main').style.zoom >= 1.5`)
	for _, id := range []string{"hotel-1", "hotel-3", "hotel-5", "hotel-9"} {
		h.trip(id)
	}
	b.until(`document.querySelectorAll('.card').length === 4`)
	b.untilItFits()
	b.shot("wall-few", false)
}

// untilItFits waits until all of a wall is seen.
func (b *browser) untilItFits() {
	b.until(`document.documentElement.scrollHeight <= innerHeight && document.querySelector('main').style.zoom >= 1`)
}

// Names of 200 characters without a space, of right-to-left script and of emoji stay in
// their places.
func TestHostileNamesInBrowser(t *testing.T) {
	all := hotels(t, 4)
	all[0].Name = strings.Repeat("unbroken", 25)
	all[1].Name = "مرحبا بالعالم \u202e<script>alert(1)</script>"
	all[2].Name = strings.Repeat("🏨🏝️", 40)
	all[3].ID = strings.Repeat("long-id-", 8)
	all[3].Group = strings.Repeat("group", 40)
	h := newHouse(t, false, all...)
	for _, d := range h.list.All() {
		h.trip(d.ID)
	}
	b := newBrowser(t, h)
	for name, path := range map[string]string{"": "/", "-detail": "/d/" + all[3].ID, "-wall": "/wall", "-timeline": "/timeline", "-maintenance": "/maintenance", "-alerts": "/alerts"} {
		b.open(path)
		b.desk()
		if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 1440 {
			t.Errorf("%s scrolls sideways: %d px", path, wide)
		}
		b.shot("hostile"+name+"-desk", false)
		b.phone()
		if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 390 {
			t.Errorf("%s scrolls sideways on a phone: %d px", path, wide)
		}
		b.shot("hostile"+name+"-phone", false)
	}
	b.open("/")
	b.do(chromedp.Click(chromedp.CSS(`tr[data-id="hotel-2"] [data-act]`)))
	b.until(`document.querySelector('dialog').open`)
	if says := eval[string](b, `document.querySelector('dialog h2').textContent`); says != "hotel-2 مرحبا بالعالم  <script>alert(1)</script>" {
		t.Errorf("the dialog says %q", says)
	}
	b.shot("hostile-dialog-phone", false)
	b.do(chromedp.Navigate(h.server.URL + "/embed/hotel-2"))
	b.until(`document.querySelector('[data-word]').textContent.startsWith('Cut off')`)
	if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("the embedded page scrolls sideways on a phone: %d px", wide)
	}
	b.shot("hostile-embed-phone", false)
}
