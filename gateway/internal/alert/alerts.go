// Package alert tells people when a dependency is cut off and when it is back.
//
// A breaker's transitions come in through Listen, which turns those that are
// news into a Message and queues it for every channel. Each channel has a
// goroutine of its own, so one that hangs delays no call and no other channel.
package alert

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// Options says where messages go and what is known about dependencies.
type Options struct {
	Teams    []config.Teams
	PanelURL string // where people reach the status page; empty: messages have no links

	// DisplayName returns a dependency's name for people. Default: its id.
	DisplayName func(id string) string
	// Stats returns what a dependency's breaker knows; from it come the calls
	// spared and the end of an override. nil: messages do without them.
	Stats func(id string) recloser.Stats

	Log    *slog.Logger // nil: nothing is logged
	Client *http.Client // for the webhooks; default: a client of its own. Without a Timeout it gets 10 s; redirects are never followed
}

// Alerts turns transitions into messages and sends them. It is safe for
// concurrent use.
type Alerts struct {
	statusURL   string
	displayName func(id string) string
	stats       func(id string) recloser.Stats
	outlets     []*outlet

	mu     sync.Mutex
	told   map[string]told // by dependency
	recent []Message

	running  sync.WaitGroup
	abandon  context.CancelFunc
	stopping chan struct{}
	stopOnce sync.Once
}

// told is the last news about a dependency.
type told struct {
	news    recloser.Transition // the zero value says closed, which needs no telling
	refused uint64              // calls refused until then
}

// recentMessages is how many messages are kept for Messages.
const recentMessages = 100

// New makes the channels; nothing is sent before Start. A channel whose URL
// cannot be used says so in the log whenever it should send.
func New(o Options) *Alerts {
	a := &Alerts{
		statusURL:   strings.TrimRight(o.PanelURL, "/"),
		displayName: o.DisplayName,
		stats:       o.Stats,
		told:        map[string]told{},
		abandon:     func() {},
		stopping:    make(chan struct{}),
	}
	if a.displayName == nil {
		a.displayName = func(id string) string { return id }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, t := range o.Teams {
		log := o.Log.With("channel", t.Name)
		a.outlets = append(a.outlets, newOutlet(newTeams(t, o.Client), log))
	}
	return a
}

// Start starts one goroutine for each channel. Call it once, and Stop later.
func (a *Alerts) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	a.abandon = cancel
	for _, o := range a.outlets {
		a.running.Go(func() { o.run(ctx, a.stopping) })
	}
}

// Stop sends what is queued while ctx lasts, then gives up on the rest, which
// it names in the log. Call it when no more transitions come.
func (a *Alerts) Stop(ctx context.Context) {
	a.stopOnce.Do(func() { close(a.stopping) })
	done := make(chan struct{})
	go func() {
		a.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	a.abandon()
	for _, o := range a.outlets {
		o.logUnsent()
	}
}

// Listen takes a transition of a breaker: pass it to Subscribe. It never
// waits for a channel.
func (a *Alerts) Listen(t recloser.Transition) {
	m, ok := a.message(t)
	if !ok {
		return
	}
	for _, o := range a.outlets {
		o.push(m)
	}
}

// message decides whether t is news. A trial is none, whatever came before:
// so open -> half-open -> open stays one incident, which ends when the breaker
// closes. Nor is a change that an operator's override hides.
func (a *Alerts) message(t recloser.Transition) (Message, bool) {
	var stats recloser.Stats
	if a.stats != nil {
		stats = a.stats(t.Name) // not under the lock: it takes other people's
	}
	var refused uint64
	for _, n := range stats.Refused {
		refused += n
	}

	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.told[t.Name]
	if t.To == recloser.HalfOpen || t.To == before.news.To {
		return Message{}, false
	}
	a.told[t.Name] = told{news: t, refused: refused}

	m := Message{ID: t.Name, Name: a.displayName(t.Name), News: t, Before: before.news}
	if refused > before.refused {
		m.Spared = refused - before.refused
	}
	if o := stats.Override; o != nil && o.State == t.To {
		m.Until = o.Until
	}
	if a.statusURL != "" {
		m.Link = a.statusURL + "/#" + url.PathEscape(t.Name)
	}
	a.recent = append(a.recent, m)
	if n := len(a.recent) - recentMessages; n > 0 {
		a.recent = slices.Delete(a.recent, 0, n)
	}
	return m, true
}

// Messages returns the latest messages, oldest first, at most 100, whether or
// not there is a channel to send them to.
func (a *Alerts) Messages() []Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.recent)
}
