package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// Fleet is what a gateway knows of those with which it shares a store.
type Fleet struct {
	_        struct{}   `nullable:"true"`
	Name     string     `json:"name"`
	Node     string     `json:"node" doc:"Name of the gateway that answers"`
	Store    string     `json:"store" enum:"redis,postgres,memory"`
	Mode     string     `json:"mode" enum:"shared,kept,alone" doc:"shared: the store is there; kept: it is away, and what the fleet said last holds; alone: it has been away for longer, and each breaker decides for itself"`
	Since    time.Time  `json:"since" doc:"When the store came or went"`
	Contact  *time.Time `json:"contact" doc:"When the store answered last; null: not yet"`
	Fault    string     `json:"fault" doc:"Why the store is of no use; empty if it is"`
	Doubtful bool       `json:"doubtful" doc:"Calls of this gateway fail to half of its dependencies: it does not decide for the others"`
	Uplink   bool       `json:"it_is_us" doc:"So it is with all gateways: it is what they have in common that fails"`
	Outdated bool       `json:"outdated" doc:"Others have settings of a newer revision: this one follows them, and does not decide"`
	Members  []Member   `json:"members" nullable:"false" doc:"The gateways that live, this one too"`
}

// Member is what a gateway says of itself to the others.
type Member struct {
	Node     string `json:"node" doc:"Its name"`
	Version  string `json:"version" doc:"Of Recloser"`
	Revision uint64 `json:"revision" doc:"Of its settings"`
	Doubtful bool   `json:"doubtful" doc:"Calls of it fail to half of its dependencies"`
}

// Shared is what a fleet says of a dependency.
type Shared struct {
	_         struct{} `nullable:"true"`
	State     string   `json:"state" enum:"closed,open,half-open,isolated,held-closed" doc:"What the gateways have agreed on; one of them may be stricter by what it has seen itself"`
	Reason    string   `json:"reason" doc:"Why, in the words of the metrics"`
	By        string   `json:"by" doc:"The operator, if it was one"`
	Note      string   `json:"note" doc:"For people: what the gateways had seen"`
	Decided   string   `json:"decided" doc:"The gateway that wrote it down"`
	SeenBy    string   `json:"seen_by" doc:"Which gateways have seen it fail, in words: 2 of 3 nodes; empty where it is not cut off, or not for its calls"`
	Seen      int      `json:"seen" doc:"Gateways that had seen bad calls when all cut it off; those that have cut it off if apart is true"`
	Of        int      `json:"of" doc:"Gateways there were then; 0 while the store is away"`
	Apart     bool     `json:"apart" doc:"It is cut off by gateways each for itself, not by all together: see nodes"`
	NotShared bool     `json:"not_shared" doc:"An operator's act on this gateway is not yet known to the others"`
}

func exampleFleet() *Fleet {
	return &Fleet{
		Name: "parks", Node: "gateway-1", Store: "redis", Mode: "shared", Since: exampleTime, Contact: &exampleTime,
		Members: []Member{{Node: "gateway-1", Version: "v0.1.0", Revision: 1}, {Node: "gateway-2", Version: "v0.1.0", Revision: 1}},
	}
}

var (
	fleetMode    = metric("fleet_mode", "1 for what the store is to this gateway, else 0; absent if it is alone.", "mode")
	fleetNodes   = metric("fleet_nodes", "Gateways that live, this one too.")
	fleetContact = metric("fleet_contact_seconds", "How long ago the store answered; absent before it did.")
	fleetUnsaid  = metric("fleet_acts_not_shared", "Dependencies with an operator's act on this gateway that the others do not know yet.")
)

func fleetMetrics() []*prometheus.Desc {
	return []*prometheus.Desc{fleetMode, fleetNodes, fleetContact, fleetUnsaid}
}

func (m *gatewayMetrics) collectFleet(s samples) {
	seen, of := m.Fleet()
	if seen == nil {
		return
	}
	for _, mode := range []fleet.Mode{fleet.Shared, fleet.Kept, fleet.Alone} {
		s.gauge(fleetMode, oneIf(seen.Mode == mode), string(mode))
	}
	s.gauge(fleetNodes, float64(len(seen.Nodes)))
	if !seen.Contact.IsZero() {
		s.gauge(fleetContact, time.Since(seen.Contact).Seconds())
	}
	unsaid := 0
	for _, b := range of {
		if b.NotShared != nil {
			unsaid++
		}
	}
	s.gauge(fleetUnsaid, float64(unsaid))
}

// fleetSeen returns what is known of the fleet; nil: the gateway is alone.
func (a *api) fleetSeen() *Fleet {
	s, _ := a.Fleet()
	if s == nil {
		return nil
	}
	f := &Fleet{
		Name: s.Fleet, Node: s.Node, Store: s.Store, Mode: string(s.Mode), Since: stamp(s.Since), Contact: stampOrNull(s.Contact),
		Doubtful: s.Doubtful, Uplink: s.Uplink, Outdated: s.Outdated, Members: []Member{},
	}
	if s.Err != nil {
		f.Fault = cut(s.Err.Error(), maxText)
	}
	for _, n := range s.Nodes {
		f.Members = append(f.Members, Member{n.Name, n.Version, n.Settings, n.Doubtful})
	}
	return f
}

// sharedOf returns what the fleet says of a dependency; nil: it is not shared.
func (a *api) sharedOf(d *dependency.Dependency) *Shared {
	_, of := a.Fleet()
	b := of[d.ID]
	if b == nil {
		return nil
	}
	r := &b.Record
	return &Shared{
		State: r.State.String(), Reason: string(r.Reason), By: r.By, Note: cut(r.Note, maxText), Decided: r.Node,
		SeenBy: cut(b.Seen.String(), maxText), Seen: b.Seen.By, Of: b.Seen.Of, Apart: b.Seen.Own, NotShared: b.NotShared != nil,
	}
}
