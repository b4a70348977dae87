package demo

import (
	"context"
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

// An outage is seen on the panel and on the page, both of which open without a token.
func TestOutageInBrowser(t *testing.T) {
	b := browsertest.New(t)
	type addresses struct{ panel, page string }
	opened, ended := make(chan addresses, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	var out strings.Builder
	go func() {
		_, err := Run(ctx, Options{
			// Long enough for a browser on a busy machine to see it.
			Script: Script{FaultsFrom: 2 * time.Second, FaultsUntil: 17 * time.Second, Length: 25 * time.Second},
			Out:    &out, Again: true,
			Opened: func(panel, page string) { opened <- addresses{panel, page} },
		})
		ended <- err
	}()
	var at addresses
	select {
	case at = <-opened:
	case err := <-ended:
		t.Fatal(err)
	}
	b.Open(at.panel)
	b.Until(`document.querySelector('.card.open') !== null`)
	b.Shot("demo-run-panel", false)
	b.Open(at.page)
	const waiting = `(way) => Number(document.querySelector('#' + way + ' [data-waiting]').textContent)`
	b.Until(`((of) => of('without') >= 30 && of('with') < of('without') / 3)(` + waiting + `)`)
	b.Until(`document.querySelector('.paper.open') !== null`)
	b.Shot("demo-run-during", true)
	b.Until(`document.title === 'All hotels are well again. – Recloser demo'`)
	b.Until(`document.querySelector('.paper.closed') !== null`)
	b.Until(`document.querySelector('#past-name') !== null`)
	b.Shot("demo-run-again", true)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	b.Until(`document.querySelector('[data-live] b').textContent === 'Ended'`)
	if !strings.Contains(out.String(), "Outage 1, the last that was played to its end") {
		t.Errorf("the output does not end with a report:\n%s", out.String())
	}
	b.Clean()
}
