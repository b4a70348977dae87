//go:build !race

package panel

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/auth"
)

func TestAlerts(t *testing.T) {
	h := newHouse(t, false, hotels(t, 8)...)
	if page := h.get("/alerts", http.StatusOK); !strings.Contains(page, "<h1>4 of 4 channels have not been tried yet") || !strings.Contains(page, "Nobody needs to be told") || !strings.Contains(page, "Not tried yet") {
		t.Errorf("with nothing wrong: %s", page)
	}
	h.trip("hotel-1")
	h.trip("hotel-2")
	h.told()
	page := h.get("/alerts", http.StatusOK)
	for _, text := range []string{
		"<h1>2 of 4 channels do not accept messages",
		`id="incident:hotel-1"`, "5 bad calls in a row; of the last 5 calls: 0 good, 5 failed", "there was a message",
		"Told about <bdi>all dependencies</bdi>.", "Told about <bdi>groups Coast, Metro</bdi>.", "Told about <bdi>only what on-call does not take</bdi>.",
		"webhook · ***", "answered 502 Bad Gateway", "next in <time", "1 waiting",
		"<b><bdi>2 of 8 cut off</bdi></b>", `about <a href="/d/hotel-1">hotel-1</a>, <a href="/d/hotel-2">hotel-2</a>`,
	} {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not say %s", text)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
	for query, want := range map[string]int{"": 4, "channel=cms": 1, "result=accepted": 2, "result=accepted&channel=cms": 0, "dependency=hotel-2": 4, "dependency=+hotel-7": 0} {
		if n := strings.Count(h.get("/alerts?"+query, http.StatusOK), "</bdi></b> <span class=\"dim\">to</span>"); n != want {
			t.Errorf("%s: %d messages, want %d", query, n, want)
		}
	}
	if page := h.get("/d/hotel-2", http.StatusOK); !strings.Contains(page, "<b><bdi>2 of 8 cut off</bdi></b>") || !strings.Contains(page, "next in <time") {
		t.Errorf("the dependency's own page has no message: %s", page)
	}
	if page := h.get("/d/hotel-7", http.StatusOK); strings.Contains(page, "cut off</bdi>") {
		t.Errorf("messages about others stand on its page: %s", page)
	}
}

// Channels are of the whole gateway: who sees one group is told so, and finds no way
// there.
func TestAlertsAreForThoseWhoSeeAll(t *testing.T) {
	h := newHouse(t, true, hotels(t, 8)...)
	coast, all := h.token("coast", auth.Operator, "Coast"), h.token("all", auth.Viewer, "")
	as := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	if page := h.get("/alerts", http.StatusForbidden, as(coast)); !strings.Contains(page, "concerns the whole gateway") {
		t.Errorf("who sees one group sees %s", page)
	}
	if page := h.get("/d/hotel-1", http.StatusOK, as(coast)); strings.Contains(page, "Messages") || strings.Contains(page, `href="/alerts"`) {
		t.Errorf("who sees one group is led to messages: %s", page)
	}
	if page := h.get("/alerts", http.StatusOK, as(all)); strings.Contains(page, "data-test") {
		t.Errorf("a viewer can test: %s", page)
	}
}

func TestToldAbout(t *testing.T) {
	others := []admin.Channel{{Name: "a", Fallback: "c"}, {Name: "b", Fallback: "c"}}
	for want, c := range map[string]admin.Channel{
		"all dependencies":               {All: true},
		"group Coast":                    {Groups: []string{"Coast"}},
		"groups Coast, Metro":            {Groups: []string{"Coast", "Metro"}},
		"only what a or b does not take": {Name: "c"},
	} {
		if got := toldAbout(c, others); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

// The button sends a test, says how it went, and the page shows it.
func TestTestsOfChannels(t *testing.T) {
	h := newHouse(t, false, hotels(t, 4)...)
	b := newBrowser(t, h)
	b.open("/alerts")
	b.do(chromedp.Click(chromedp.CSS(`[data-test="operators"]`)))
	b.until(`document.querySelector('[data-toast-text]').textContent === 'operators accepted it.'`)
	b.until(`document.querySelector('[id="channel:operators"] .state b').textContent === 'Accepts messages'`)
	b.do(chromedp.Click(chromedp.CSS(`[data-test=""]`)))
	b.until(`document.querySelector('[data-toast-text]').textContent.includes('cms did not take it: answered 502 Bad Gateway')`)
	b.until(`document.querySelector('h1').textContent.startsWith('2 of 4 channels do not accept messages')`)
	b.shot("alerts-tested", false)
}

// Where there is no incident it is told what is cut off all the same.
func TestQuiet(t *testing.T) {
	for _, tt := range []struct {
		states string
		away   bool
		want   string
	}{
		{"closed held-closed", false, "No dependency is cut off. Nobody needs to be told."},
		{"closed", true, "No dependency is cut off on this node."},
		{"isolated closed isolated isolated", false, "No incident: 3 are cut off by hand."},
		{"open maintenance isolated", true, "No incident: 1 is cut off by the rules, 1 is cut off by hand, 1 is cut off as planned."},
	} {
		var all []admin.Dependency
		for state := range strings.FieldsSeq(tt.states) {
			all = append(all, admin.Dependency{State: state})
		}
		all = append(all, admin.Dependency{State: open, Shadow: true})
		if got := sayQuiet(all, tt.away); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.states, got, tt.want)
		}
	}
}
