//go:build !race

package panel

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

// Moments are in the reader's own zone, which each page names; a plan has its date, and
// a moment of another year that year.
func TestZone(t *testing.T) {
	h := newHouse(t, false, hotels(t, 2)...)
	from := time.Now().Add(time.Minute).UTC()
	err := h.history.Commit(t.Context(), history.Act{}, history.PutMaintenance(maintenance.Window{
		ID: "k3v7q2ad", Name: "new rooms", Dependencies: []string{"hotel-2"}, From: from, To: from.Add(time.Hour), Effect: maintenance.CutOff, Reason: "they add rooms", By: "ines", Created: from,
	}))
	if err != nil {
		t.Fatal(err)
	}
	h.plans.Look(t.Context())
	if page := h.get("/maintenance", http.StatusOK); !strings.Contains(page, ">"+from.Format("2006-01-02 15:04 UTC")+"</time> – ") {
		t.Errorf("without scripts the plan has no date: %s", page)
	}
	b := newBrowser(t, h)
	const zone = "Pacific/Kiritimati" // 14 h ahead: seldom the gateway's day
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
		return err
	}))
	b.open("/maintenance")
	there := from.Add(14 * time.Hour)
	if when := eval[string](b, `document.querySelector('[data-label="When"]').textContent`); !strings.HasPrefix(when, there.Format("2 Jan, 15:04")) {
		t.Errorf("planned for %q, want %s", when, there)
	}
	if legend := eval[string](b, `document.querySelector('[data-plan] legend [data-zone]').textContent`); legend != zone {
		t.Errorf("the form asks for moments in %q", legend)
	}
	for _, path := range []string{"/", "/d/hotel-1", "/wall", "/timeline", "/maintenance", "/alerts", "/audit", "/nodes"} {
		b.open(path)
		if says := eval[string](b, `document.querySelector('.zone').textContent`); says != "Times are in the zone "+zone+"." {
			t.Errorf("%s: %q", path, says)
		}
	}
	year := there.AddDate(1, 0, 0)
	eval[any](b, `void import(performance.getEntriesByType('resource').find((r) => r.name.includes('/clock')).name).then(({ clock }) => {
		window.nextYear = clock('`+year.Add(-14*time.Hour).Format(time.RFC3339)+`');
	})`)
	b.until(`window.nextYear !== undefined`)
	if got := eval[string](b, `window.nextYear`); got != year.Format("2 Jan 2006, 15:04") {
		t.Errorf("a moment a year ahead: %q, want %s", got, year)
	}
}
