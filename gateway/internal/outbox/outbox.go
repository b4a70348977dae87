// Package outbox sends messages to channels: each at least once, whatever happens
// to the process between, in order, no faster than people and services bear, and not
// those that newer ones have made stale.
package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/channel"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// Result is what has become of a delivery.
type Result string

// The results. All but Waiting are final.
const (
	Waiting    Result = "waiting"     // not sent yet, or to be tried again
	Accepted   Result = "accepted"    // the other side took it; whether it is shown is not told
	Merged     Result = "merged"      // it went out as a part of another message
	Overtaken  Result = "overtaken"   // a newer message made it stale before it was sent
	HandedOver Result = "handed over" // the channel did not take it, so its fallback gets it
	Refused    Result = "refused"     // the channel will never take it
	GivenUp    Result = "given up"    // the channel did not take it for too long
)

// Delivery is one message to one channel.
type Delivery struct {
	ID           string           `json:"id"` // in the order of time
	At           time.Time        `json:"at"`
	Channel      string           `json:"channel"`
	Of           string           `json:"of"` // ID of its message, the same for all channels
	Kind         message.Kind     `json:"kind"`
	Title        string           `json:"title"`
	Dependencies []string         `json:"dependencies,omitempty"`
	Result       Result           `json:"result"`
	Tries        int              `json:"tries,omitempty"`
	Why          string           `json:"why,omitempty"`     // it failed the last time
	Done         time.Time        `json:"done,omitzero"`     // when Result became final
	Message      *message.Message `json:"message,omitempty"` // nil once it is done
	Via          []string         `json:"via,omitempty"`     // channels that have not taken it

	sending bool
}

const (
	kept     = 1000             // deliveries that are remembered, besides those that wait
	deadline = 10 * time.Second // of one try
)

// Options are what an outbox is made from.
type Options struct {
	Channels []Channel
	History  *history.History // where deliveries are kept
	Log      *slog.Logger
}

// Channel is one with what the outbox needs to know of it.
type Channel struct {
	Name     string
	Fallback string // "": none
	channel.Channel
}

// Outbox holds what is to be sent. It is safe for concurrent use.
type Outbox struct {
	o Options

	saving  sync.Mutex // one at a time writes down how deliveries are; taken before mu
	mu      sync.Mutex
	outlets map[string]*outlet
	all     []*Delivery          // oldest first
	last    int64                // millisecond and number of the last ID
	dirty   map[string]*Delivery // to be written down, by ID; nil: to be forgotten

	running  sync.WaitGroup
	life     context.Context // of outlets; nil before Start
	abandon  context.CancelFunc
	stopping chan struct{}
	stopOnce sync.Once
}

// New returns an outbox with what was left in it before a restart. Nothing is sent
// before Start.
func New(o Options) *Outbox {
	b := &Outbox{o: o, outlets: make(map[string]*outlet), dirty: make(map[string]*Delivery), abandon: func() {}, stopping: make(chan struct{})}
	for _, c := range o.Channels {
		b.outlets[c.Name] = newOutlet(c, b)
	}
	b.restore()
	return b
}

// Reload puts other channels in the place of those there are. One that keeps its name
// keeps what waits for it, which is tried again at once, by its new settings. What waits
// for one that is gone is given up.
func (b *Outbox) Reload(channels []Channel) {
	defer b.save()
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.outlets
	b.outlets = make(map[string]*outlet)
	for _, c := range channels {
		o := before[c.Name]
		if o == nil {
			o = newOutlet(c, b)
			b.run(o)
		} else {
			o.Channel = c
			o.poke(o.changed)
		}
		b.outlets[c.Name] = o
	}
	for name, o := range before {
		if b.outlets[name] != nil {
			continue
		}
		close(o.gone)
		lost := 0
		for _, d := range b.all {
			if d.Channel == name && d.Result == Waiting && !d.sending { // else settle does it
				b.done(d, GivenUp, noChannel)
				lost++
			}
		}
		if lost > 0 {
			o.log.Error("alerts given up: "+noChannel, "count", lost)
		}
	}
}

// noChannel is why what waits for a channel is given up that is not there any more.
const noChannel = "the channel is no longer in the configuration"

func (b *Outbox) restore() {
	records, err := b.o.History.Deliveries(context.Background())
	for _, r := range records {
		d := &Delivery{}
		if e := json.Unmarshal(r.Value, d); e != nil {
			err = e
			continue
		}
		b.all = append(b.all, d)
		switch {
		case d.Result != Waiting:
		case b.outlets[d.Channel] == nil:
			b.done(d, GivenUp, noChannel)
		case d.Message == nil || len(d.Message.Items) == 0: // it was being sent when it was overtaken
			b.done(d, Overtaken, "")
		}
	}
	if err != nil {
		b.o.Log.Error("not all messages that were left are known", "error", err)
	}
	slices.SortFunc(b.all, func(x, y *Delivery) int { return cmp.Compare(x.ID, y.ID) })
	if n := len(b.all); n > 0 {
		_, _ = fmt.Sscanf(b.all[n-1].ID, "%x", &b.last)
	}
}

// Start starts one goroutine for each channel. Call it once, and Stop later.
func (b *Outbox) Start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.life, b.abandon = context.WithCancel(context.Background())
	for _, o := range b.outlets {
		b.run(o)
	}
}

// run starts an outlet, if the outbox is started. It needs mu.
func (b *Outbox) run(o *outlet) {
	if ctx := b.life; ctx != nil {
		b.running.Go(func() { o.run(ctx, b.stopping) })
	}
}

// Stop sends what waits while ctx lasts. The rest goes out after the next start.
func (b *Outbox) Stop(ctx context.Context) {
	b.stopOnce.Do(func() { close(b.stopping) })
	done := make(chan struct{})
	go func() {
		b.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	b.abandon()
	b.mu.Lock()
	defer b.mu.Unlock()
	left := 0
	for _, d := range b.all {
		if d.Result == Waiting {
			left++
		}
	}
	switch {
	case left == 0:
	case b.o.History.Status().OnDisk:
		b.o.Log.WarnContext(ctx, "messages are not sent yet: they go out after the next start", "count", left)
	default:
		b.o.Log.ErrorContext(ctx, "messages are not sent, and lost: there is no storage on disk", "count", left)
	}
}

// Letter is a message to a channel.
type Letter struct {
	Channel string
	Message message.Message
}

// Push takes letters, and keeps them in the same transaction as changes. What still
// waits for the same channel about the same dependencies is stale now.
func (b *Outbox) Push(letters []Letter, changes ...history.Change) {
	b.saving.Lock() // first: nobody else is to write down the letters without the changes
	defer b.saving.Unlock()
	b.mu.Lock()
	var to []*outlet
	for _, l := range letters {
		if o := b.outlets[l.Channel]; o != nil {
			b.overtake(l)
			b.add(l, nil)
			to = append(to, o)
		}
	}
	b.mu.Unlock()
	b.write(changes...)
	for _, o := range to {
		o.poke(o.wake)
	}
}

// overtake takes out of what waits what a newer letter has made stale: its end tells
// an incident's beginning too. What is being sent at the moment is not touched, and
// is if it must be sent again.
func (b *Outbox) overtake(l Letter) {
	for _, d := range b.all {
		if d.Result != Waiting || d.Channel != l.Channel {
			continue
		}
		left, some := d.Message.For(func(i message.Item) bool {
			return !slices.ContainsFunc(l.Message.Items, func(newer message.Item) bool { return newer.Dependency == i.Dependency })
		})
		switch {
		case len(left.Items) == len(d.Message.Items):
			continue
		case d.sending:
			d.Message = &left // it is seen if it must be sent again
		case some:
			d.set(left)
		default:
			b.done(d, Overtaken, "")
		}
		b.dirty[d.ID] = d
	}
}

// set gives a delivery another message.
func (d *Delivery) set(m message.Message) {
	d.Message, d.Of, d.Kind, d.Title, d.Dependencies = &m, m.ID, m.Kind, m.Title(), nil
	for _, i := range m.Items {
		d.Dependencies = append(d.Dependencies, i.Dependency)
	}
}

// add appends a delivery. It needs mu.
func (b *Outbox) add(l Letter, via []string) *Delivery {
	b.last = max(b.last+1, time.Now().UnixMilli()<<10)
	d := &Delivery{ID: fmt.Sprintf("%016x", b.last), At: l.Message.At, Channel: l.Channel, Result: Waiting, Via: via}
	d.set(l.Message)
	b.all = append(b.all, d)
	b.dirty[d.ID] = d
	for n := len(b.all) - kept; n > 0; n-- {
		i := slices.IndexFunc(b.all, func(d *Delivery) bool { return d.Result != Waiting })
		if i < 0 {
			break
		}
		b.dirty[b.all[i].ID] = nil
		b.all = slices.Delete(b.all, i, i+1)
	}
	return d
}

// done ends a delivery. It needs mu.
func (b *Outbox) done(d *Delivery, r Result, why string) {
	d.Result, d.Message, d.Done = r, nil, time.Now()
	if why != "" {
		d.Why = why
	}
	b.dirty[d.ID] = d
}

// save writes down what has changed.
func (b *Outbox) save() {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.write()
}

// write writes down what has changed, with changes of others. Without a disk the
// history keeps it in memory. It needs saving.
func (b *Outbox) write(changes ...history.Change) {
	b.mu.Lock()
	for id, d := range b.dirty {
		if d == nil {
			changes = append(changes, history.PutDelivery(id, nil))
		} else if value, err := json.Marshal(d); err == nil {
			changes = append(changes, history.PutDelivery(id, value))
		}
	}
	clear(b.dirty)
	b.mu.Unlock()
	if len(changes) == 0 {
		return
	}
	if err := b.o.History.Commit(context.Background(), history.Act{}, changes...); err != nil {
		b.o.Log.Error("not kept: a message may go out twice, or not, if the gateway is started again now", "error", err)
	}
}

// Deliveries returns the latest deliveries, newest first, of one channel or "" for
// all, and of those with a lesser ID than before, if it is not "".
func (b *Outbox) Deliveries(name, before string, limit int) []Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Delivery
	for _, d := range slices.Backward(b.all) {
		if len(all) < limit && (name == "" || d.Channel == name) && (before == "" || d.ID < before) {
			d := *d
			d.Dependencies, d.Message = slices.Clone(d.Dependencies), nil
			all = append(all, d)
		}
	}
	return all
}

// Now sends a message to a channel at once, past the queue, and notes how it went.
func (b *Outbox) Now(ctx context.Context, l Letter) Delivery {
	b.mu.Lock()
	var err error
	var to channel.Channel
	if o := b.outlets[l.Channel]; o != nil {
		to = o.Channel
	}
	b.mu.Unlock()
	if to == nil {
		err = errors.New(noChannel)
	} else {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		err = to.Send(ctx, l.Message)
	}
	b.mu.Lock()
	d := b.add(l, nil)
	d.Tries = 1
	if err != nil {
		b.done(d, Refused, err.Error())
	} else {
		b.done(d, Accepted, "")
	}
	is := *d
	b.mu.Unlock()
	b.save()
	return is
}

// Waits returns how many deliveries to a channel wait.
func (b *Outbox) Waits(name string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.all {
		if d.Channel == name && d.Result == Waiting {
			n++
		}
	}
	return n
}
