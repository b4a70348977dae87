package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/probe"
	"github.com/recloser-go/recloser/internal/vtime"
)

// The roles that one node of a fleet has for all.
const (
	roleSender = "sender" // of messages
	roleProber = "prober"
)

// member is this gateway's part in a fleet. Without a store it is nil, and each of its
// methods says what holds for a gateway that is alone.
type member struct {
	store   fleet.Store
	node    *fleet.Node
	version string
	probe   func(context.Context, string) error
	log     *slog.Logger

	mu     sync.Mutex
	joined []*dependency.Dependency // as the list of dependencies was when it was looked at last
	met    bool                     // the store was there once
	had    map[string]bool          // roles that this node had while it was
	known  *fleet.Status            // not older than knownFor; not to be changed
	of     map[string]*fleet.BreakerStatus
	lookAt time.Time // when known is that old
}

// knownFor is how long a look at the fleet serves all who ask.
const knownFor = 200 * time.Millisecond

// newMember opens the store that c names, which need not be there; nil if it names none
// and none is given.
func newMember(c *config.Config, store fleet.Store, version string, probe func(context.Context, string) error, log *slog.Logger) (_ *member, err error) {
	switch {
	case store != nil:
	case !c.Store.Shared():
		return nil, nil
	default:
		if store, err = OpenStore(c, log); err != nil {
			return nil, err
		}
	}
	m := &member{store: store, version: version, probe: probe, log: log, had: make(map[string]bool)}
	m.node, err = fleet.New(m.settings(&c.Fleet), store)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fleet in %s: %w", c.File, err), store.Close())
	}
	return m, nil
}

func (m *member) settings(f *config.Fleet) fleet.Config {
	return fleet.Config{
		Fleet: f.Name, Node: f.Node, Version: m.version, Settings: uint64(f.Revision),
		Rule:  fleet.Rule{Window: f.Window, Failures: f.Failures, Rate: f.Rate, Reporters: f.Reporters},
		Probe: m.probe,
	}
}

// reload puts other settings in force, but for the names of fleet and node.
func (m *member) reload(f *config.Fleet) {
	if m == nil {
		return
	}
	if err := m.node.Update(m.settings(f)); err != nil {
		m.log.Error("the settings of the fleet stay as they were", "error", err)
	}
}

// OpenStore opens the store that c names. It need not be there yet: an error says what
// is wrong with the config.
func OpenStore(c *config.Config, log *slog.Logger) (store fleet.Store, err error) {
	if s := c.Store; s.Postgres != "" {
		store, err = pgstore.Open(pgstore.Options{URL: s.Postgres.Reveal(), Schema: s.Prefix})
	} else {
		store, err = openRedis(s, log)
	}
	if err != nil {
		return nil, fmt.Errorf("store in %s: %w", c.File, err)
	}
	return store, nil
}

func openRedis(s config.Store, log *slog.Logger) (fleet.Store, error) {
	o, err := redisstore.ParseURL(s.Redis.Reveal())
	if err != nil {
		return nil, err
	}
	if o.Prefix == "" {
		o.Prefix = s.Prefix
	}
	redisstore.LogTo(log)
	return redisstore.Open(o)
}

// start begins to follow the fleet.
func (m *member) start() error {
	if m == nil {
		return nil
	}
	return errors.Join(m.node.Seek(roleSender), m.node.Seek(roleProber), m.node.Start())
}

// stop leaves the fleet.
func (m *member) stop() {
	if m != nil {
		m.node.Close()
	}
}

// close ends the connections to the store.
func (m *member) close() {
	if m == nil {
		return
	}
	if err := m.store.Close(); err != nil {
		m.log.Warn("the store was not closed", "error", err)
	}
}

// leads reports whether this node does for all what one node does. While the store is
// away it is the node that did so last, as far as that one knows; messages are sent by
// some of the others, too, as that one may not have seen what they have to tell. A node that
// has not met the others since it started knows of nobody who would.
func (m *member) leads(role string) bool {
	if m == nil {
		return true
	}
	holds := m.node.Holds(role)
	s, _ := m.status()
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Mode == fleet.Shared {
		m.had[role], m.met = holds, true
	}
	now := time.Now()
	return holds || m.had[role] || role == roleSender && standsIn(s, now) || !m.met && now.Sub(s.Since) >= standInAfter
}

// While the store has been away for standInAfter, the first standIns nodes by name tell
// what they see themselves: enough for an outage that the last sender has no calls of, and
// not a message of each of fifty nodes.
const (
	standInAfter = 10 * time.Second
	standIns     = 3
)

// standsIn reports whether a node with that status is one of those.
func standsIn(s *fleet.Status, now time.Time) bool {
	before := 0
	for i := range s.Nodes {
		if s.Nodes[i].Name < s.Node {
			before++
		}
	}
	return s.Mode != fleet.Shared && now.Sub(s.Since) >= standInAfter && before < standIns
}

// status returns what is known of the fleet, and of each breaker by name; nil if this
// gateway is alone.
func (m *member) status() (*fleet.Status, map[string]*fleet.BreakerStatus) {
	if m == nil {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); !now.Before(m.lookAt) {
		known := m.node.Status()
		m.known, m.lookAt = &known, now.Add(knownFor)
		m.of = make(map[string]*fleet.BreakerStatus, len(known.Breakers))
		for i := range known.Breakers {
			m.of[known.Breakers[i].Name] = &known.Breakers[i]
		}
	}
	return m.known, m.of
}

// seen says which nodes have seen a dependency fail.
func (m *member) seen(id string) fleet.Seen {
	if m == nil {
		return fleet.Seen{}
	}
	return m.node.Seen(id)
}

// allInDoubt returns how many nodes there are if calls of all of them fail to half of what
// they call, else 0.
func (m *member) allInDoubt() int {
	if s, _ := m.status(); s != nil && s.Uplink {
		return len(s.Nodes)
	}
	return 0
}

// match has the breakers of all dependencies there are follow the fleet, and no others.
func (m *member) match(all []*dependency.Dependency) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Equal(m.joined, all) {
		return
	}
	breakers := func(all []*dependency.Dependency) map[string]*recloser.Breaker {
		of := make(map[string]*recloser.Breaker)
		for _, d := range all {
			of[d.ID] = d.Breaker
		}
		return of
	}
	were, are := breakers(m.joined), breakers(all)
	m.joined = all
	for id, b := range were {
		if are[id] != b {
			m.node.Leave(id)
		}
	}
	for id, b := range are {
		if were[id] != b {
			if err := m.node.Join(b); err != nil {
				m.log.Error("this dependency does not follow the fleet", "dependency", id, "error", err)
			}
		}
	}
}

// operator returns how to act on a breaker: on all nodes.
func (m *member) operator(b *recloser.Breaker) dependency.Operator {
	if m == nil {
		return b
	}
	return shared{m.node, b}
}

// shared acts on a breaker of all nodes. One that has not joined yet, or cannot, is
// acted on here.
type shared struct {
	node *fleet.Node
	b    *recloser.Breaker
}

func (s shared) Isolate(by, why string, until time.Time) error {
	err := s.node.Isolate(s.b.Name(), by, why, until)
	if errors.Is(err, fleet.ErrNotJoined) {
		return s.b.Isolate(by, why, until)
	}
	return err
}

func (s shared) HoldClosed(by, why string, until time.Time) error {
	err := s.node.HoldClosed(s.b.Name(), by, why, until)
	if errors.Is(err, fleet.ErrNotJoined) {
		return s.b.HoldClosed(by, why, until)
	}
	return err
}

func (s shared) Release(by, why string) bool {
	released, err := s.node.Release(s.b.Name(), by, why)
	if err != nil {
		return s.b.Release(by, why)
	}
	return released
}

func (s shared) Reset(by, why string) {
	if err := s.node.Reset(s.b.Name(), by, why); err != nil {
		s.b.Reset(by, why)
	}
}

func (s shared) TryNow(by, why string) bool {
	tried, err := s.node.TryNow(s.b.Name(), by, why)
	if err != nil {
		return s.b.TryNow(by, why)
	}
	return tried
}

func (s shared) TripNow(by, why string) bool {
	tripped, err := s.node.TripNow(s.b.Name(), by, why)
	if err != nil {
		return s.b.TripNow(by, why)
	}
	return tripped
}

func (s shared) HoldTrials(d time.Duration) bool {
	open, err := s.node.HoldTrials(s.b.Name(), d)
	if err != nil {
		return s.b.HoldTrials(d)
	}
	return open
}

// opinion asks a dependency how it is, for another node that alone has seen it fail. One
// without a health check is asked for its URL itself, where any answer but a failure is good.
func (g *Gateway) opinion(ctx context.Context, id string) error {
	d, ok := g.deps.Get(id)
	if !ok {
		return nil
	}
	if d.Probe == nil {
		asked := *d
		asked.Probe = &config.Probe{Timeout: time.Second}
		d = &asked
	}
	if r := probe.Get(vtime.Real{})(ctx, d); r.Verdict == probe.Bad {
		return errors.New(r.Why)
	}
	return nil
}

// stored says how history is kept.
func (g *Gateway) stored(c *config.Config) history.Options {
	o := history.Options{Path: c.Storage.Path, Log: g.log}
	if g.member != nil {
		o.Fleet = func() {
			if s := g.sharing; s != nil {
				s.Wake()
			}
		}
	}
	return o
}

// startSharing keeps what is in force as the other nodes have it.
func (g *Gateway) startSharing() {
	if g.sharing != nil {
		g.sharing.Start()
	}
}

// stopSharing leaves the fleet, with all shared that the others should know while ctx lasts.
func (g *Gateway) stopSharing(ctx context.Context) {
	if g.sharing != nil {
		g.sharing.Stop(ctx)
	}
	g.member.stop()
}

// adopted puts in force what another node has changed.
func (g *Gateway) adopted(s history.Shared) {
	ctx := context.Background()
	switch s.Kind {
	case history.SharedDependency:
		g.turn <- struct{}{} // as an act
		defer func() { <-g.turn }()
		g.keeper.follow(ctx, g.config.Load(), s)
	case history.SharedMaintenance:
		g.maintenance.Look(ctx)
	default:
		g.sender.outdate()
	}
}
