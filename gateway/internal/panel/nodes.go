package panel

import (
	"context"
	"net/http"

	"github.com/recloser-go/recloser/gateway/internal/admin"
)

// nodes is the page of the gateway's processes.
type nodes struct {
	admin.NodeList
	Newest   uint64   // revision of the settings that a node has
	Unshared []string // dependencies with an act on this node that the others do not know
}

func (p *Panel) nodes(ctx context.Context, v *view, _ *http.Request) error {
	n := nodes{NodeList: admin.NodeList{Nodes: v.read.Nodes(ctx), Fleet: v.read.Fleet()}}
	if n.Fleet != nil {
		for _, m := range n.Fleet.Members {
			n.Newest = max(n.Newest, m.Revision)
		}
		for _, d := range v.read.Dependencies(ctx) {
			if d.Fleet != nil && d.Fleet.NotShared {
				n.Unshared = append(n.Unshared, d.ID)
			}
		}
	}
	v.Page, v.Title, v.Renew, v.Of = "nodes", "Nodes", 10, n
	return nil
}
