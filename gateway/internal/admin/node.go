package admin

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// Node is one process of the fleet.
type Node struct {
	Node         string            `json:"node" doc:"Its name"`
	Version      string            `json:"version" doc:"Of Recloser"`
	Since        time.Time         `json:"since" doc:"When it started"`
	Ready        bool              `json:"ready" doc:"It accepts calls"`
	Uplink       bool              `json:"it_is_us" doc:"So many dependencies hang at once that it is rather this node's own network"`
	Storage      Storage           `json:"storage" doc:"Where history and acts are kept"`
	Bulkhead     *Bulkhead         `json:"bulkhead" doc:"Of all calls together; null: none"`
	Limited      map[string]uint64 `json:"limited" nullable:"false" doc:"Requests beyond the rate limit of their route, since the start, by its path: of routes that have one"`
	Certificates []Certificate     `json:"certificates" nullable:"false" doc:"Of the listeners that have one"`
	Reload       *ReloadStatus     `json:"reload" doc:"The last reload of the configuration; null before the first"`
}

// Storage is where history and acts are kept.
type Storage struct {
	OnDisk bool       `json:"on_disk" doc:"An act that was acknowledged outlives a restart"`
	Path   string     `json:"path" doc:"Of the file; empty: it is memory only, as was asked for"`
	Fault  string     `json:"fault" doc:"Why it is not on disk, and what to do; empty if all is as it should be"`
	Since  *time.Time `json:"since" doc:"Since when it is so"`
	Lost   uint64     `json:"lost" doc:"Events that were given up, for want of a disk"`
}

// Certificate is that of one listener.
type Certificate struct {
	Listener  string    `json:"listener" doc:"The setting that names its address"`
	GoodUntil time.Time `json:"good_until"`
	Fault     string    `json:"fault" doc:"Why what its files hold now is not in force; empty if it is"`
}

// ReloadStatus is how the last reload went.
type ReloadStatus struct {
	_     struct{}  `nullable:"true"`
	At    time.Time `json:"at"`
	Taken bool      `json:"taken" doc:"The configuration was put in force; else the one before still is"`
	Fault string    `json:"fault" doc:"Why it was not"`
}

// NodeList is all processes of the fleet.
type NodeList struct {
	Nodes []Node `json:"nodes" nullable:"false" doc:"The process that answers"`
	Fleet *Fleet `json:"fleet" doc:"Those with which it shares a store; null: it is alone"`
}

// Me is who asks.
type Me struct {
	Name    string `json:"name" doc:"As the audit would call you"`
	Role    string `json:"role" enum:"viewer,operator,admin" doc:"What you may do"`
	Group   string `json:"group" doc:"You see and act on this one only; empty: all"`
	From    string `json:"from" doc:"Address that your request comes from"`
	Token   string `json:"token" doc:"ID of your token; empty: you have none and need none"`
	SignIn  bool   `json:"sign_in" doc:"Everybody needs one"`
	Version string `json:"version" doc:"Of the gateway"`
}

// Settings is the configuration in force.
type Settings struct {
	File     string           `json:"file"`
	Settings []config.Setting `json:"settings" nullable:"false" doc:"Every one, with where it comes from; secrets are ***"`
}

// ReloadRequest says who reloads and why.
type ReloadRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why"`
	By     string `json:"by,omitempty" maxLength:"100" doc:"Who; noted beside the token's name"`
}

// Reloaded is what a reload did.
type Reloaded struct {
	Changed string   `json:"changed" doc:"What differs from the configuration before, in a line"`
	Restart []string `json:"restart" nullable:"false" doc:"Settings whose value in the file holds only after a restart"`
}

type (
	nodesOutput  struct{ Body NodeList }
	meOutput     struct{ Body Me }
	configOutput struct{ Body Settings }
	reloadInput  struct{ Body *ReloadRequest }
	reloadOutput struct{ Body Reloaded }
)

func (a *api) registerNode() {
	node := Node{
		Node: "gateway-1", Version: "v0.1.0", Since: exampleTime, Ready: true, Storage: Storage{OnDisk: true, Path: "/var/lib/recloser/recloser.db"},
		Bulkhead: &Bulkhead{InFlight: 12, Limit: 8192}, Limited: map[string]uint64{"/access": 3}, Certificates: []Certificate{{Listener: "admin.listen", GoodUntil: exampleTime.AddDate(0, 3, 0)}},
	}
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "list-nodes", Method: http.MethodGet, Path: "/api/v1/nodes",
			Summary: "The gateway's processes",
		},
		role: auth.Viewer, answer: NodeList{[]Node{node}, exampleFleet()},
	}, func(ctx context.Context, _ *struct{}) (*nodesOutput, error) {
		return &nodesOutput{NodeList{a.nodes(ctx), a.fleetSeen()}}, nil
	})
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "me", Method: http.MethodGet, Path: "/api/v1/me",
			Summary: "Who you are, and what you may do",
		},
		role: auth.Viewer, answer: Me{Name: "cms", Role: "operator", Group: "coast", From: "10.0.0.7", Token: "k3v7q2ab", SignIn: true, Version: "v0.1.0"},
	}, func(ctx context.Context, _ *struct{}) (*meOutput, error) {
		return &meOutput{a.me(ctx)}, nil
	})
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "get-config", Method: http.MethodGet, Path: "/api/v1/config",
			Summary: "The configuration in force",
			Errors:  []int{http.StatusNotImplemented},
		},
		role: auth.Admin, whole: true,
		answer: Settings{File: "recloser.yaml", Settings: []config.Setting{{Path: "dependencies.hotel-1.breaker.slow_call", Value: "2s", Origin: "default"}}},
	}, func(context.Context, *struct{}) (*configOutput, error) {
		if a.Config == nil {
			return nil, absent("configuration to show")
		}
		c := a.Config()
		out := &configOutput{Settings{File: c.File, Settings: c.Show()}}
		if out.Body.Settings == nil {
			out.Body.Settings = []config.Setting{}
		}
		return out, nil
	})
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "reload", Method: http.MethodPost, Path: "/api/v1/reload",
			Summary:     "Read the configuration anew",
			Description: "It is put in force as a whole or, if there is a fault in it, not at all: 422 says which. Breakers keep their state.",
			Errors:      []int{http.StatusNotImplemented},
		},
		role: auth.Admin, whole: true, request: ReloadRequest{Reason: "new partner", By: "ines"},
		answer: Reloaded{Changed: "added hotel-7; grace: 10s -> 20s", Restart: []string{"admin.tls.cert"}},
	}, a.reload)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "version", Method: http.MethodGet, Path: "/version",
			Summary: "The version of this program",
		},
		role: auth.Viewer, answer: Version{Version: "v0.1.0", Go: "go1.26.0"},
	}, a.version)
}

func (a *api) nodes(ctx context.Context) []Node {
	n := a.node()
	if r := n.Reload; r != nil && r.Fault != "" && auth.From(ctx).Group != "" {
		r.Fault = "why is shown to those who see all groups" // it quotes the configuration
	}
	if auth.From(ctx).Group != "" {
		n.Limited = map[string]uint64{} // it names all routes
	}
	return []Node{n}
}

func (a *api) me(ctx context.Context) Me {
	c := auth.From(ctx)
	return Me{
		Name: c.Name, Role: string(c.Role), Group: c.Group, From: c.From, Token: c.Token, SignIn: a.Auth.SignIn, Version: a.Version,
	}
}

func (a *api) node() Node {
	n := Node{
		Node: a.Node, Version: a.Version, Since: stamp(a.Started), Ready: a.Ready(), Uplink: a.Uplink != nil && a.Uplink.Us(),
		Certificates: []Certificate{},
	}
	if a.History != nil {
		s := a.History.Status()
		n.Storage = Storage{OnDisk: s.OnDisk, Path: s.Path, Fault: s.Fault, Since: stampOrNull(s.Since), Lost: s.Lost}
	}
	if b := a.Limit; b != nil {
		n.Bulkhead = &Bulkhead{InFlight: b.InFlight(), Limit: b.Limit(), Refused: b.Refused()}
	}
	n.Limited = a.limited()
	for _, listener := range slices.Sorted(maps.Keys(a.Certificates)) {
		s := a.Certificates[listener].Status()
		c := Certificate{Listener: listener, GoodUntil: stamp(s.NotAfter)}
		if s.Fault != nil {
			c.Fault = cut(s.Fault.Error(), maxCause)
		}
		n.Certificates = append(n.Certificates, c)
	}
	if a.Reloads != nil {
		if r := a.Reloads(); !r.Last.IsZero() {
			n.Reload = &ReloadStatus{At: stamp(r.Last), Taken: r.Fault == "", Fault: r.Fault}
		}
	}
	return n
}

// limited returns how many requests for each route with a rate limit were beyond it.
func (a *api) limited() map[string]uint64 {
	all := make(map[string]uint64)
	if a.Config == nil || a.Limiters == nil {
		return all
	}
	for _, r := range a.Config().Routes {
		if r.RateLimit != nil {
			all[r.Path] = a.Limiters.Refused(r.Path)
		}
	}
	return all
}

func (a *api) reload(ctx context.Context, in *reloadInput) (*reloadOutput, error) {
	if a.Reload == nil {
		return nil, absent("configuration to reload")
	}
	var req ReloadRequest
	if in.Body != nil {
		req = *in.Body
	}
	w, err := whoActs(ctx, "body", req.By, req.Reason)
	if err != nil {
		return nil, err
	}
	// The file is the truth of what it says, so there is nothing to keep before it
	// is read, and what became of it is known only then.
	entry := a.entry("reload", "", w, time.Time{})
	changes, fault := a.Reload(ctx)
	if fault != nil {
		entry.Result = "not done: " + cut(fault.Error(), maxCause)
	}
	err = a.commit(context.WithoutCancel(ctx), entry)
	switch {
	case fault != nil:
		return nil, huma.Error422UnprocessableEntity("nothing was changed: " + fault.Error())
	case err != nil:
		return nil, huma.Error503ServiceUnavailable("the configuration was reloaded, but that could not be written down; the gateway's log says why")
	}
	a.logAct(ctx, "target", entry)
	out := &reloadOutput{Reloaded{Restart: append([]string{}, changes.Restart...)}}
	out.Body.Changed = changes.String()
	return out, nil
}
