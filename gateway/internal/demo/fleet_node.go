package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/child"
	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/tempstore"
)

// storeEnv is where a gateway of the demo finds the URL of its store, which holds a password.
const storeEnv = "RECLOSER_DEMO_STORE"

// node is a gateway of a fleet: a process, and its network to the store.
type node struct {
	*child.Child
	name  string
	relay *tempstore.Relay
	log   nodeLog
	admin *client.Client
	lane  lane // of its guests
}

// fleetConfig returns a gateway's configuration.
func fleetConfig(name, storeKind string, hotels []*process) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
store: { %s: "${%s}" }
fleet: { name: demo, node: %s, window: 3s, reporters: 2 }
defaults:
  breaker: { slow_call: 800ms, open_for: 2s, max_open_for: 4s, trials: 1 }
routes:
  - path: /hotels/{dependency}/*
dependencies:
`, storeKind, storeEnv, name)
	for _, h := range hotels {
		fmt.Fprintf(&b, "  %s: { url: %q }\n", hotelID(h.number), h.url)
	}
	return b.String()
}

// startNode starts a gateway, with its files in folder. Wait for it with await.
func startNode(number int, folder string, store *tempstore.Store, hotels []*process) (n *node, err error) {
	n = &node{name: fmt.Sprintf("gateway-%d", number), lane: lane{hotels: hotels, visits: &visits{}}}
	n.log.serving = make(chan served, 1)
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("demo: find the own program, to run the gateways: %w", err)
	}
	file := filepath.Join(folder, n.name+".yaml")
	if err := os.WriteFile(file, []byte(fleetConfig(n.name, store.Kind(), hotels)), 0o600); err != nil {
		return nil, err
	}
	if n.relay, err = tempstore.NewRelay(store.Addr()); err != nil {
		return nil, err
	}
	// The arguments go before what the environment of the user says.
	cmd := exec.Command(program, "serve", "-c", file, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--storage", "off", "--log-format", "json")
	cmd.Env = append(os.Environ(), storeEnv+"="+store.URL(n.relay.Addr()))
	cmd.Stderr = &n.log
	if n.Child, err = child.Start(cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("demo: start %s: %w", n.name, err), n.relay.Close())
	}
	return n, nil
}

// await waits until the gateway serves.
func (n *node) await(ctx context.Context) error {
	select {
	case at := <-n.log.serving:
		var err error
		n.admin, err = client.New(client.Options{Server: "http://" + at.Admin})
		n.lane.turnstile = viaGateway{newClient(), &url.URL{Scheme: "http", Host: at.Calls}}
		return err
	case <-n.Ended():
		return n.diedOf()
	case <-ctx.Done():
		return fmt.Errorf("demo: %s does not serve: %w", n.name, ctx.Err())
	}
}

// diedOf says how the process ended.
func (n *node) diedOf() error {
	return fmt.Errorf("demo: %s ended by itself: %s %s", n.name, n.LastWords(), n.log.end())
}

func (n *node) panel() string { return n.admin.Server() }

// end kills the gateway. Nobody is left to wait for.
func (n *node) end() error {
	n.Kill()
	<-n.Ended()
	return n.relay.Close()
}

// known is what a gateway knows of a hotel.
type known struct {
	ID    string    `json:"id"`
	State string    `json:"state"`
	Since time.Time `json:"since"`
	Fleet struct {
		State     string `json:"state"`
		NotShared bool   `json:"not_shared"`
		SeenBy    string `json:"seen_by"`
	} `json:"fleet"`
}

// look asks the gateway what it knows of a hotel.
func (n *node) look(ctx context.Context, hotel int) (k known, err error) {
	answer, err := n.admin.Get(ctx, "dependencies/"+hotelID(hotel), nil)
	if err == nil {
		err = answer.Into(&k)
	}
	return k, err
}

// shares asks the gateway how many gateways it knows that share the store, itself too; -1
// while it does not reach it.
func (n *node) shares(ctx context.Context) (int, error) {
	var all struct {
		Fleet struct {
			Mode    string     `json:"mode"`
			Members []struct{} `json:"members"`
		} `json:"fleet"`
	}
	answer, err := n.admin.Get(ctx, "nodes", nil)
	if err == nil {
		err = answer.Into(&all)
	}
	if err != nil || all.Fleet.Mode != "shared" {
		return -1, err
	}
	return len(all.Fleet.Members), nil
}

// isolate is an operator's act on this gateway, and release its end.
func (n *node) isolate(ctx context.Context, hotel int) error {
	_, err := n.admin.Act(ctx, http.MethodPut, "dependencies/"+hotelID(hotel)+"/override", nil,
		map[string]string{"mode": "isolated", "for": "1h", "by": operatorName, "reason": "their database moves"})
	return err
}

func (n *node) release(ctx context.Context, hotel int) error {
	_, err := n.admin.Act(ctx, http.MethodDelete, "dependencies/"+hotelID(hotel)+"/override", url.Values{"by": {operatorName}}, nil)
	return err
}

// served is where a gateway says that it serves.
type served struct {
	Message string `json:"msg"`
	Calls   string `json:"calls"`
	Admin   string `json:"admin"`
}

// nodeLog takes a gateway's log.
type nodeLog struct {
	serving chan served // holds one: the first

	mu   sync.Mutex
	rest string // a line that is not whole yet
	last string
}

func (l *nodeLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest += string(b)
	for {
		text, rest, whole := strings.Cut(l.rest, "\n")
		if !whole {
			return len(b), nil
		}
		l.last, l.rest = text, rest
		var s served
		if json.Unmarshal([]byte(text), &s) == nil && s.Message == "serving" {
			select {
			case l.serving <- s:
			default:
			}
		}
	}
}

// end returns the last line.
func (l *nodeLog) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}
