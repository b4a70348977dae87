//go:build !race

package panel

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/eventually"
)

// A maintenance of many dependencies is planned, faults in it are said in words, it is
// taken back; one that comes again is planned in a zone; one is ended, and the end undone.
func TestPlanInBrowser(t *testing.T) {
	h := newHouse(t, false, hotels(t, 12)...)
	b := newBrowser(t, h)
	b.open("/maintenance")
	set := func(name, value string) {
		t.Helper()
		eval[bool](b, `(() => { const e = document.querySelector('[data-plan] [name="`+name+`"]'); e.value = '`+value+`'; e.dispatchEvent(new Event('change', { bubbles: true })); return true; })()`)
	}
	tick := func(name, value string) {
		t.Helper()
		eval[bool](b, `document.querySelector('[data-plan] [name="`+name+`"][value="`+value+`"]').click() ?? true`)
	}
	submit := func() { b.do(chromedp.Click(chromedp.CSS(`[data-plan-submit]`))) }
	faulty := func(want string) {
		t.Helper()
		submit()
		b.until(`document.querySelector('[data-plan-fault]').textContent.includes('` + want + `')`)
	}
	local := func(d time.Duration) string { return time.Now().Add(d).Format("2006-01-02T15:04") }

	faulty("Choose a group or a dependency. Say until when. Say why: everybody who looks sees it.")
	set("reason", "new database")
	faulty("Choose a group or a dependency. Say until when.")
	tick("groups", "Coast")
	tick("dependencies", "hotel-12")
	if says := eval[string](b, `document.querySelector('[data-plan-submit]').textContent`); says != "Plan to cut off 1 group and hotel-12" {
		t.Errorf("the button says %q", says)
	}
	faulty("Say until when.")
	set("from", local(-2*time.Hour))
	set("to", local(-time.Hour))
	faulty("The end must lie ahead.")
	set("to", local(time.Hour))
	submit()
	eventually.True(t, longest, func() bool {
		return h.breaker("hotel-1").State() == recloser.Isolated && h.breaker("hotel-12").State() == recloser.Isolated && h.breaker("hotel-11").State() == recloser.Closed
	}, "the group and hotel-12 to be cut off")
	b.until(`document.querySelector('.stack tbody').textContent.includes('In force')`)
	b.do(chromedp.Click(chromedp.CSS("[data-undo]")))
	eventually.True(t, longest, func() bool { return h.breaker("hotel-12").State() != recloser.Isolated }, "the plan to be taken back")
	b.until(`document.querySelector('.stack tbody').textContent.includes('Nothing is planned')`)

	tick("kind", "weekly")
	faulty("Choose a group or a dependency. Choose a day of the week.")
	tick("dependencies", "hotel-2")
	tick("dependencies", "hotel-3")
	tick("days", "sat")
	tick("days", "sun")
	set("zone", "Nowhere/Land")
	set("reason", "backup")
	faulty("is no time zone")
	set("zone", "America/New_York")
	submit()
	b.until(`document.querySelector('.stack tbody').textContent.includes('sat, sun from 03:00 for 1h (America/New_York)')`)
	if all := eval[string](b, `document.querySelector('.stack tbody').textContent`); !strings.Contains(all, "hotel-2, hotel-3") {
		t.Errorf("planned: %s", all)
	}
	b.shot("plan-weekly", false)

	b.do(chromedp.Click(chromedp.CSS("[data-end]")), chromedp.Click(chromedp.CSS("[data-end-submit]")))
	b.until(`document.querySelector('[data-end-dialog] [data-fault]').textContent.startsWith('Say why')`)
	b.do(chromedp.SendKeys(chromedp.CSS("[data-end-dialog] textarea"), "they do without"), chromedp.Click(chromedp.CSS("[data-end-submit]")))
	b.until(`document.querySelector('.stack tbody').textContent.includes('Nothing is planned')`)
	b.do(chromedp.Click(chromedp.CSS("[data-undo]")))
	b.until(`document.querySelector('.stack tbody').textContent.includes('sat, sun from 03:00 for 1h (America/New_York)')`)
	b.Faults() // a 422 is an error in the console
}
