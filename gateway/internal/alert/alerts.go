// Package alert tells people when dependencies are cut off and when they are back.
//
// Transitions come in through Listen. Package incident decides what is news, package
// outbox keeps it until it is sent, and package channel sends it. What is known of
// incidents and what is to be sent are written down together: after a kill at any
// moment each message goes out, and one that was accepted does not go out again.
package alert

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/channel"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/incident"
	"github.com/recloser-go/recloser/gateway/internal/message"
	"github.com/recloser-go/recloser/gateway/internal/outbox"
)

// Options says who is told and what is known about dependencies. Its functions are
// called at any time.
type Options struct {
	Config   config.Alerts // until Reload
	PanelURL string        // where people reach the panel; empty: messages have no links

	Dependencies func() []incident.Dependency // those that are watched now
	Stats        func(id string) recloser.Stats
	Limits       func(id string) message.Limits // nil: messages do not tell them
	Covers       func(id string) bool           // a maintenance is in force; nil: never
	Us           func() bool                    // it is rather our own network; nil: never
	AllInDoubt   func() int                     // so it is at all nodes of a fleet: how many there are, else 0; nil: never
	Seen         func(id string) fleet.Seen     // which nodes have seen it fail; nil: there is one node
	HeldUntil    func(id string) time.Time      // how long bad probes hold its trials back; nil: they never do

	History *history.History // required: where incidents and messages are kept
	Log     *slog.Logger     // nil: nothing is logged
	Client  *http.Client     // for channels; default: a client of its own. Without a Timeout it gets 10 s; redirects are never followed
}

// Alerts turns transitions into messages and has them sent. It is safe for
// concurrent use.
type Alerts struct {
	o         Options
	panel     string
	box       *outbox.Outbox
	incidents *incident.Incidents // of run

	turn sync.Mutex // of look and Reload: no message falls between two settings
	told atomic.Pointer[told]

	mu      sync.Mutex
	heard   []recloser.Transition // not yet looked at
	recent  []message.Message
	lasting []message.Message
	current []incident.Running

	wake    chan struct{} // holds one: something was heard
	quit    chan struct{}
	stop    sync.Once
	running sync.WaitGroup
}

// told is who is told, and when.
type told struct {
	config.Alerts
	channels []channel.Channel // as in Alerts
}

// channel returns the one that was made of the same settings, nil if none was.
func (t *told) channel(c config.Channel) channel.Channel {
	if t != nil {
		for i, has := range t.Channels {
			if reflect.DeepEqual(has, c) {
				return t.channels[i]
			}
		}
	}
	return nil
}

func (t *told) rules() incident.Rules { return incident.Rules{Calm: t.Calm, Reminder: t.Reminder} }

// recentMessages is how many messages are kept for Messages.
const recentMessages = 100

// New makes the channels, and takes over what was known before a restart; nothing is
// sent before Start.
func New(o Options) *Alerts {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Covers == nil {
		o.Covers = func(string) bool { return false }
	}
	if o.Limits == nil {
		o.Limits = func(string) message.Limits { return message.Limits{} }
	}
	if o.Us == nil {
		o.Us = func() bool { return false }
	}
	if o.AllInDoubt == nil {
		o.AllInDoubt = func() int { return 0 }
	}
	if o.Seen == nil {
		o.Seen = func(string) fleet.Seen { return fleet.Seen{} }
	}
	if o.HeldUntil == nil {
		o.HeldUntil = func(string) time.Time { return time.Time{} }
	}
	a := &Alerts{
		o: o, panel: strings.TrimRight(o.PanelURL, "/"),
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	a.box = outbox.New(outbox.Options{Channels: a.tell(o.Config), History: o.History, Log: o.Log})
	a.incidents = incident.New(a.told.Load().rules(), incident.World{
		Dependencies: o.Dependencies, Stats: o.Stats, Limits: o.Limits, Covers: o.Covers, Us: o.Us,
		AllInDoubt: o.AllInDoubt, Seen: o.Seen, HeldUntil: o.HeldUntil,
	})
	kept, err := o.History.Incidents(context.Background())
	for _, r := range kept {
		if e := a.incidents.Restore(incident.Kept{ID: r.ID, Value: r.Value}); e != nil {
			err = e
		}
	}
	if err != nil {
		o.Log.Error("not all incidents from before are known: people may be told again", "error", err)
	}
	return a
}

// tell makes the channels of c, has what comes from now on go by it, and returns them
// for the outbox.
func (a *Alerts) tell(c config.Alerts) (all []outbox.Channel) {
	t, before := &told{Alerts: c}, a.told.Load()
	for _, one := range c.Channels {
		to := before.channel(one)
		if to == nil {
			to = channel.New(one, a.o.Client)
		}
		t.channels = append(t.channels, to)
		all = append(all, outbox.Channel{Name: one.Name, Fallback: one.Fallback, Channel: to})
	}
	a.told.Store(t)
	return all
}

// Reload puts other settings in force. The first channels there are get the incidents
// that run. What waits for a channel of the same name goes
// out by its new settings, at once; what waits for one that is gone is given up.
func (a *Alerts) Reload(c config.Alerts) {
	a.turn.Lock()
	defer a.turn.Unlock()
	before := a.told.Load()
	if reflect.DeepEqual(c, before.Alerts) {
		return
	}
	a.box.Reload(a.tell(c))
	if len(before.Channels) == 0 {
		a.incidents.TellAgain(time.Now())
	}
}

// Start starts a goroutine that follows incidents, one that tells again what lasts, and
// one for each channel. Call it once, and Stop later.
func (a *Alerts) Start() {
	a.box.Start()
	a.running.Go(a.run)
	a.running.Go(a.refresh)
}

// Stop sends what is due while ctx lasts; the rest goes out after the next start.
// Call it when no more transitions come.
func (a *Alerts) Stop(ctx context.Context) {
	a.stop.Do(func() { close(a.quit) })
	a.running.Wait()
	a.box.Stop(ctx)
}

// Listen takes a transition of a breaker: pass it to Subscribe. It never waits.
func (a *Alerts) Listen(t recloser.Transition) {
	a.mu.Lock()
	a.heard = append(a.heard, t)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run follows incidents until Stop.
func (a *Alerts) run() {
	for {
		timer := time.NewTimer(a.look(time.Now()))
		select {
		case <-a.wake:
		case <-timer.C:
		case <-a.quit:
			timer.Stop()
			a.look(time.Now()) // what was heard is not lost
			return
		}
		timer.Stop()
	}
}

// look does what is due, and writes down what came of it. It returns how long from now
// it has something to do again.
func (a *Alerts) look(now time.Time) time.Duration {
	a.turn.Lock()
	defer a.turn.Unlock()
	a.mu.Lock()
	heard := a.heard
	a.heard = nil
	a.mu.Unlock()
	t := a.told.Load()
	a.incidents.SetRules(t.rules())
	for _, heard := range heard {
		a.incidents.Observe(heard, now)
	}
	var letters []outbox.Letter
	messages := a.incidents.Look(now)
	for i := range messages {
		messages[i].Panel = a.panel
		letters = append(letters, a.route(t, messages[i])...)
	}
	var changes []history.Change
	for _, k := range a.incidents.Changed() {
		changes = append(changes, history.PutIncident(k.ID, k.Value))
	}
	if len(letters) > 0 || len(changes) > 0 {
		a.box.Push(letters, changes...)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lasting, a.current = a.incidents.Lasting(), a.incidents.Running()
	a.recent = append(a.recent, messages...)
	if n := len(a.recent) - recentMessages; n > 0 {
		a.recent = slices.Delete(a.recent, 0, n)
	}
	return a.incidents.Next(now).Sub(now)
}

// route returns the letters of a message: to each channel what it is told about.
func (a *Alerts) route(t *told, m message.Message) []outbox.Letter {
	var all []outbox.Letter
	for _, c := range t.Channels {
		if part, ok := a.partFor(t, c, m); ok {
			all = append(all, outbox.Letter{Channel: c.Name, Message: part})
		}
	}
	return all
}

// partFor returns the part of a message that a channel is told.
func (a *Alerts) partFor(t *told, c config.Channel, m message.Message) (message.Message, bool) {
	if len(c.Groups) == 0 {
		return m, !t.IsFallback(c.Name)
	}
	part, ok := m.For(func(i message.Item) bool { return slices.Contains(c.Groups, i.Group) })
	part.Of = 0
	for _, d := range a.o.Dependencies() {
		if slices.Contains(c.Groups, d.Group) {
			part.Of++
		}
	}
	return part, ok
}

// refreshEvery is how often those are told again what lasts who forget it.
const refreshEvery = time.Minute

// refresh does so until Stop.
func (a *Alerts) refresh() {
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-a.quit:
			return
		}
		var all sync.WaitGroup // at once: one that hangs must not make the others wait
		t := a.told.Load()
		for i, c := range t.channels {
			if r, ok := c.(channel.Refresher); ok {
				all.Go(func() { a.refreshOne(t, t.Channels[i], r) })
			}
		}
		all.Wait()
	}
}

func (a *Alerts) refreshOne(t *told, c config.Channel, r channel.Refresher) {
	ctx, cancel := context.WithTimeout(context.Background(), refreshEvery/6)
	defer cancel()
	a.mu.Lock()
	lasting := a.lasting
	a.mu.Unlock()
	for _, m := range lasting {
		m.Panel, m.At = a.panel, time.Now()
		part, ok := a.partFor(t, c, m)
		if !ok {
			continue
		}
		if err := r.Refresh(ctx, part); err != nil {
			a.o.Log.WarnContext(ctx, "alerts that last were not told again", "channel", c.Name, "error", err)
		}
	}
}

// Messages returns the latest messages since the start, oldest first, at most 100,
// whether or not there is a channel to send them to.
func (a *Alerts) Messages() []message.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.recent)
}

// Incidents returns those that are not over, as they were when they were looked at
// last: a second ago at most.
func (a *Alerts) Incidents() []incident.Running {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.current)
}

// Deliveries returns the latest messages to channels, newest first: of one channel
// or "" for all, and those before the ID before, or "" for the latest.
func (a *Alerts) Deliveries(name, before string, limit int) []outbox.Delivery {
	return a.box.Deliveries(name, before, limit)
}

// Channels returns the channels there are. Their URLs print as "***".
func (a *Alerts) Channels() []config.Channel { return slices.Clone(a.told.Load().Channels) }

// Waits returns how many messages wait to be sent to a channel.
func (a *Alerts) Waits(name string) int { return a.box.Waits(name) }

// Test sends a message that says that it is a test to the named channel, and returns how
// that went.
func (a *Alerts) Test(ctx context.Context, name, by string) outbox.Delivery {
	now := time.Now()
	return a.box.Now(ctx, outbox.Letter{Channel: name, Message: message.Message{
		ID: "test/" + now.UTC().Format("20060102T150405.000Z"), Kind: message.Test, At: now, By: by, Panel: a.panel,
	}})
}
