//go:build !race

package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/browsertest"
)

// axe is what looks whether everybody can use a page.
const axe = "../panel/testdata/vendor/axe.min.js"

// moments of the script, by name.
func moments() map[string]view {
	before := duringOutage()
	before.now, before.outage, before.events, before.told = 4*time.Second, outage{}, nil, nil
	before.with = viewOf(nil, before.now)
	before.with.hotels = rowsOf(func(n int) row { return directRow(nil, n, before.outage, before.now) })
	before.without = before.with
	after := duringOutage()
	after.again, after.number, after.now = true, 3, 33*time.Second
	after.outage.ended, after.outage.until = true, 30*time.Second
	for n := range 2 {
		after.past = append(after.past, outcome{n + 1, crowdMet{4, 860 * ms}, crowdMet{1481, 20020 * ms}})
	}
	byHand := after
	byHand.with.hotels = append([]row{{state: "isolated", mark: markTrouble, look: trying, id: "hotel-1", status: "isolated: cut off by hand", detail: "set by hand"}}, after.with.hotels...)
	byHand.told = append(byHand.told, notice{ID: "2", Kind: "isolated", Title: strings.Repeat("unbroken", 25), About: "hotel-1", Facts: []string{"<script>alert(1)</script>", strings.Repeat("x", 200)}})
	return map[string]view{"before": before, "during": duringOutage(), "after": after, "by-hand": byHand}
}

// Everybody can use the page at every moment of the script, in both themes, on a
// phone, and nothing on it is not allowed to be there.
func TestPageForEverybody(t *testing.T) {
	b := browsertest.New(t)
	for name, v := range moments() {
		p, err := openPage()
		if err != nil {
			t.Fatal(err)
		}
		p.serve(func() view { return v })
		b.Open(p.url())
		b.Accessible(axe, name)
		for _, theme := range []string{"light", "dark"} {
			b.Theme(theme)
			b.Desk()
			b.Shot("demo-"+name+"-desk-"+theme, true)
			b.Narrow(name)
			b.Shot("demo-"+name+"-phone-"+theme, true)
		}
		p.close()
		b.Until(`document.querySelector('[data-live] b').textContent === 'Ended'`)
		b.Accessible(axe, name+", then ended")
		b.Clean()
	}
}

// A demo that was killed could not say goodbye: the page notices.
func TestPageNotLive(t *testing.T) {
	p, err := openPage()
	if err != nil {
		t.Fatal(err)
	}
	p.serve(duringOutage)
	defer p.close()
	b := browsertest.New(t)
	b.Open(p.url())
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	b.Until(`document.querySelector('[data-live] b').textContent === 'Not live' && !document.querySelector('[data-not-live]').hidden`)
	if !browsertest.Eval[bool](b, `document.documentElement.hasAttribute('data-stale')`) {
		t.Error("what is shown still has its colours")
	}
	b.Shot("demo-not-live", false)
	b.Accessible(axe, "not live")
}
