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
		Name: "hotel-1", Record: fleet.Record{State: recloser.Open, Reason: recloser.ReasonFleet, Seen: 2, Nodes: 3},
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
	tell("/nodes", "All gateways of parks", "redis: in reach for", "gateway-1</bdi> (this one)", "&lt;i&gt;2", "its network is in doubt")
	tell("/d/hotel-1", "All together", "bad calls were seen by 2 of 3 nodes")
	h.fleet.Mode, h.fleet.Err, h.fleet.Doubtful, h.fleet.Outdated = fleet.Alone, errors.New("connection refused"), true, true
	h.agreed["hotel-1"].NotShared = &fleet.Record{State: recloser.Isolated}
	tell("/nodes", "away for", "each gateway looks after itself", "connection refused", "does not decide for the others", "newer revision")
	tell("/d/hotel-1", "not known to the others yet")
}
