package panel

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
)

// The page of nodes tells who shares the store and what has become of it; a dependency's
// page what all have agreed on.
func TestFleetIsShown(t *testing.T) {
	h := newHouse(t, false, hotels(t, 3)...)
	h.fleet = &fleet.Status{
		Fleet: "parks", Node: "gateway-1", Store: "redis", Mode: fleet.Shared, Since: time.Now().Add(-time.Hour), Contact: time.Now(),
		Nodes: []fleet.NodeStatus{{Name: "gateway-1", Version: "v0.1.0"}, {Name: "<i>2", Version: "v0.1.0", Doubtful: true}},
	}
	h.agreed = map[string]*fleet.BreakerStatus{"hotel-1": {
		Name: "hotel-1", Record: fleet.Record{State: recloser.Open, Reason: recloser.ReasonFleet, Note: "5 of 12 calls bad"}, Seen: fleet.Seen{By: 2, Of: 3},
		Views: []fleet.View{{Node: "gateway-1", State: recloser.Open}, {Node: "<i>2", State: recloser.Closed, Behind: true}},
	}}
	tell := func(path string, want ...string) {
		t.Helper()
		page := h.get(path, http.StatusOK)
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("%s does not tell %q", path, w)
			}
		}
	}
	h.trip("hotel-1")
	tell("/nodes", "Fleet <bdi>parks", "redis, in reach for", "gateway-1</bdi></b> <span class=\"dim\">this one", "&lt;i&gt;2", "in doubt")
	tell("/d/hotel-1", "<p class=\"dim\">seen by <bdi>2 of 3 nodes</bdi>", "All together", "&lt;i&gt;2", "no word from it")
	tell("/", "seen by <bdi>2 of 3 nodes</bdi>")
	h.fleet.Mode, h.fleet.Err, h.fleet.Nodes[1].Settings = fleet.Alone, errors.New("connection refused"), 2
	h.agreed["hotel-1"].NotShared = &fleet.Record{State: recloser.Isolated}
	tell("/nodes", "away for", "each node looks after itself", "connection refused", "as they were heard last", "so it does not decide for the others", "revision 0, <span class=\"warn\">older", "href=\"/d/hotel-1\"")
	tell("/d/hotel-1", "Not yet shared")
	tell("/alerts", "The store is away: calls go on")
	tell("/", "<span class=\"tag\">not yet shared", "Not yet shared")
	h.fleet.Uplink = true
	tell("/wall", "Calls of all 2 nodes fail to half of what they call")
}
