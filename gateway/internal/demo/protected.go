package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// guardConfig returns the gateway's configuration. What it does not name is the
// gateway's default: whoever is on this machine needs no token to look and to act.
func guardConfig(hotels []*process, tell string) (*config.Config, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
storage: off
alerts:
  calm: 2s
  webhook: [ { name: the demo's page, url: %q } ]
defaults:
  breaker: { slow_call: 800ms, open_for: 2s, max_open_for: 5s }
routes:
  - path: /hotels/{dependency}/*
  - path: /access
    ask:
      group: "*"
      accept: 'status == 200 && body.allowed == true'
      timeout: 1500ms
dependencies:
`, tell)
	for _, h := range hotels {
		fmt.Fprintf(&b, "  %s: { url: %q }\n", hotelID(h.number), h.url)
	}
	return config.Parse("the demo's config", []byte(b.String()))
}

// protected is the gateway of the protected lane.
type protected struct {
	gateway  *gateway.Gateway
	breakers []*recloser.Breaker // of hotel n at n-1

	mu     sync.Mutex
	events []recloser.Transition
}

// startProtected starts a gateway in front of the hotels, which posts to tell what
// people are told.
func startProtected(ctx context.Context, hotels []*process, tell string) (*protected, error) {
	c, err := guardConfig(hotels, tell)
	if err != nil {
		return nil, err
	}
	g := &protected{}
	if g.gateway, err = gateway.New(gateway.Options{Config: c}); err != nil {
		return nil, err
	}
	for _, d := range g.gateway.Dependencies().All() {
		d.Breaker.Subscribe(g.note)
		g.breakers = append(g.breakers, d.Breaker)
	}
	return g, g.gateway.Start(ctx)
}

func (g *protected) note(t recloser.Transition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events = append(g.events, t)
}

// transitions returns what the breakers have done since then.
func (g *protected) transitions(since time.Time) []recloser.Transition {
	g.mu.Lock()
	defer g.mu.Unlock()
	first := len(g.events)
	for first > 0 && !g.events[first-1].At.Before(since) {
		first--
	}
	return slices.Clone(g.events[first:])
}

// messages returns what people have been told since then, oldest first.
func (g *protected) messages(since time.Time) []string {
	var all []string
	for _, m := range g.gateway.Messages() {
		if !m.At.Before(since) {
			all = append(all, m.String())
		}
	}
	return all
}

// panel returns where people see the gateway.
func (g *protected) panel() string { return "http://" + g.gateway.AdminAddr() }

// stop ends the gateway. Nobody is left to wait for: calls are cut off.
func (g *protected) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = g.gateway.Stop(ctx) // its only error is that calls were cut off
}

// viaGateway is a turnstile that asks the gateway.
type viaGateway struct {
	client *http.Client
	base   *url.URL
}

func (g *protected) turnstile() viaGateway {
	return viaGateway{newClient(), &url.URL{Scheme: "http", Host: g.gateway.Addr()}}
}

func (t viaGateway) scan(ctx context.Context, hotel int, query url.Values) (result, bool) {
	target := t.base.JoinPath("hotels", hotelID(hotel), "scan")
	target.RawQuery = query.Encode()
	var answer access
	status, header, err := get(ctx, t.client, target, &answer)
	switch {
	case err != nil:
		return failed, false
	case status == http.StatusServiceUnavailable && header.Get("Recloser-Reason") == string(recloser.ReasonReleased):
		return released, false
	case status == http.StatusServiceUnavailable && header.Get("Recloser-Reason") != "":
		return refused, false
	case status != http.StatusOK:
		return failed, false
	}
	return answered, answer.Allowed
}

func (t viaGateway) ask(ctx context.Context, query url.Values) (result, bool) {
	target := t.base.JoinPath("access")
	target.RawQuery = query.Encode()
	var answer struct {
		Answer string `json:"answer"`
	}
	status, _, err := get(ctx, t.client, target, &answer)
	if err != nil {
		return unknown, false
	}
	letIn := answer.Answer == "yes"
	switch {
	case status != http.StatusOK:
		return unknown, letIn
	case letIn:
		return yes, true
	case answer.Answer == "no":
		return no, false
	}
	return unknown, false
}
