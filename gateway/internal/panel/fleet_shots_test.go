//go:build !race

package panel

import (
	"errors"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
)

// fleetHouse is a house of a fleet of three nodes: two dependencies were cut off by all
// together, one by this node alone, one by another alone, and one by hand.
func fleetHouse(t *testing.T) *house {
	t.Helper()
	h := newHouse(t, false, hotels(t, 12)...)
	h.fleet = &fleet.Status{
		Fleet: "parks", Node: "gateway-1", Store: "redis", Mode: fleet.Shared, Since: time.Now().Add(-time.Hour), Contact: time.Now(),
		Nodes: []fleet.NodeStatus{{Name: "gateway-1", Version: "v0.1.0", Settings: 3}, {Name: "gateway-2", Version: "v0.1.0", Settings: 3}, {Name: "gateway-3", Version: "v0.1.0", Settings: 3}},
	}
	h.agreed = map[string]*fleet.BreakerStatus{}
	for _, d := range h.list.All() {
		h.agree(d.ID, recloser.Closed, fleet.Seen{})
	}
	return h
}

// agree has the fleet say that of a dependency, and each node do as it says.
func (h *house) agree(id string, s recloser.State, seen fleet.Seen) *fleet.BreakerStatus {
	b := &fleet.BreakerStatus{Name: id, Record: fleet.Record{State: s, Reason: recloser.ReasonFleet, Note: "5 of 12 calls bad"}, Seen: seen}
	for _, n := range h.fleet.Nodes {
		b.Views = append(b.Views, fleet.View{Node: n.Name, State: s})
	}
	h.agreed[id] = b
	return b
}

// cutOffTogether has hotel-2 cut off by all, of whom one has not said yet that it knows,
// hotel-3 by this node alone, and hotel-4 by another alone.
func (h *house) cutOffTogether() {
	h.t.Helper()
	if err := h.breaker("hotel-2").Follow(recloser.Order{State: recloser.Open, For: 20 * time.Second, Cause: errDown.Error(), Note: "5 of 12 calls bad"}); err != nil {
		h.t.Fatal(err)
	}
	h.refused("hotel-2", 12)
	h.agree("hotel-2", recloser.Open, fleet.Seen{By: 2, Of: 3}).Views[2] = fleet.View{Node: "gateway-3", State: recloser.Closed, Behind: true}
	h.trip("hotel-3")
	h.agree("hotel-3", recloser.Closed, fleet.Seen{By: 1, Of: 3, Who: "gateway-1", Own: true}).Views[0] = fleet.View{Node: "gateway-1", State: recloser.Open, Own: true}
	h.agree("hotel-4", recloser.Closed, fleet.Seen{By: 1, Of: 3, Who: "gateway-3", Own: true}).Views[2] = fleet.View{Node: "gateway-3", State: recloser.Open, Own: true}
}

// storeIsAway has an act on hotel-5 not be known to the others.
func (h *house) storeIsAway() {
	h.t.Helper()
	h.fleet.Mode, h.fleet.Since, h.fleet.Contact = fleet.Kept, time.Now().Add(-12*time.Second), time.Now().Add(-12*time.Second)
	h.fleet.Err = errors.New("dial tcp 10.3.0.9:6379: connect: connection refused")
	if err := h.breaker("hotel-5").Isolate("ines", "their database moves", time.Now().Add(time.Hour)); err != nil {
		h.t.Fatal(err)
	}
	h.agreed["hotel-5"].NotShared = &fleet.Record{State: recloser.Isolated}
	for i := range h.agreed["hotel-5"].Views[1:] {
		h.agreed["hotel-5"].Views[1+i].Behind = true
	}
}

// Pictures of what a fleet looks like, each without a violation, in both themes and on a
// phone.
func TestFleetShots(t *testing.T) {
	h := fleetHouse(t)
	b := newBrowser(t, h)
	look := func(name string, paths map[string]string) {
		t.Helper()
		for page, path := range paths {
			name := "fleet-" + name + "-" + page
			b.open(path)
			for _, theme := range []string{"light", "dark"} {
				b.theme(theme)
				b.desk()
				b.shot(name+"-desk-"+theme, false)
				b.Narrow(name)
				b.shot(name+"-phone-"+theme, false)
				if eval[bool](b, `(() => { const v = document.querySelector('.views'); v?.scrollIntoView({ block: 'center' }); return v !== null; })()`) {
					b.shot(name+"-views-"+theme, false)
				}
			}
			b.accessible(name)
		}
	}
	look("well", map[string]string{"nodes": "/nodes", "detail": "/d/hotel-1"})
	h.cutOffTogether()
	h.fleet.Nodes[1].Doubtful, h.fleet.Nodes[2].Settings = true, 2
	look("doubt", map[string]string{"nodes": "/nodes", "overview": "/", "detail": "/d/hotel-2", "detail-own": "/d/hotel-3", "detail-elsewhere": "/d/hotel-4"})
	h.storeIsAway()
	look("away", map[string]string{"nodes": "/nodes", "overview": "/", "detail": "/d/hotel-5"})
	h.fleet.Mode, h.fleet.Since = fleet.Alone, time.Now().Add(-14*time.Minute)
	look("alone", map[string]string{"nodes": "/nodes"})
	h.fleet.Mode, h.fleet.Err, h.fleet.Uplink, h.fleet.Doubtful = fleet.Shared, nil, true, true
	for i := range h.fleet.Nodes {
		h.fleet.Nodes[i].Doubtful = true
	}
	look("uplink", map[string]string{"nodes": "/nodes", "overview": "/"})
}

// Who comes by keyboard alone gets from the page of nodes to what is not shared yet. When
// it is, the page says so by itself; so does one that shows what all have in common.
func TestFleetPagesAreLive(t *testing.T) {
	h := fleetHouse(t)
	h.storeIsAway()
	b := newBrowser(t, h)
	b.open("/nodes")
	for range 30 {
		if eval[bool](b, `document.activeElement.textContent === 'hotel-5'`) {
			break
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname === '/d/hotel-5' && document.querySelector('[data-live="yes"]') !== null`)
	b.until(`document.querySelector('.head').textContent.includes('Not yet shared')`)

	b.open("/")
	b.until(`document.querySelector('tr[data-id="hotel-5"] .tag')?.textContent === 'not yet shared' && document.querySelector('.card.isolated').textContent.includes('Not yet shared')`)
	h.agreed = map[string]*fleet.BreakerStatus{}
	h.agree("hotel-5", recloser.Isolated, fleet.Seen{})
	h.agree("hotel-2", recloser.Closed, fleet.Seen{}) // as in a fleet: what is seen of it later is told
	h.trip("hotel-2")
	b.until(`document.querySelector('.card.open') !== null`)
	h.agree("hotel-2", recloser.Open, fleet.Seen{By: 2, Of: 3})
	b.until(`document.querySelector('.card.open').textContent.includes('seen by 2 of 3 nodes')`)
	b.until(`document.querySelector('tr[data-id="hotel-5"] .tag') === null && !document.querySelector('.card.isolated').textContent.includes('Not yet shared')`)
	h.fleet = &fleet.Status{Fleet: "parks", Node: "gateway-1", Mode: fleet.Shared, Uplink: true, Nodes: make([]fleet.NodeStatus, 3)}
	h.trip("hotel-3")
	b.until(`document.querySelector('.banner:not([hidden])')?.textContent.includes('Calls of all 3 nodes fail') === true`)
}
