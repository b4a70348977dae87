package outbox

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/channel"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// How an outlet sends. Teams refuses more than four messages a second and
// webhook; one leaves room for other senders.
const (
	pace          = time.Second
	firstBackoff  = 2 * pace // half of it is chance, see backoff
	maxBackoff    = time.Minute
	fallbackAfter = time.Minute // of failing
	giveUpAfter   = 24 * time.Hour
	longestWait   = time.Hour // that another side can ask for
)

// outlet sends to one channel.
type outlet struct {
	Channel // of the outbox's mu: a reload changes it
	box     *Outbox
	log     *slog.Logger
	wake    chan struct{} // holds one: something was pushed
	changed chan struct{} // holds one: Channel has changed
	gone    chan struct{} // closed once it is none of the outbox's any more

	// Of run.
	failures int       // in a row
	failing  time.Time // since when
	next     time.Time // nothing is sent before; written with the outbox's mu
}

func newOutlet(c Channel, b *Outbox) *outlet {
	return &outlet{
		Channel: c, box: b, log: b.o.Log.With("channel", c.Name),
		wake: make(chan struct{}, 1), changed: make(chan struct{}, 1), gone: make(chan struct{}),
	}
}

func (*outlet) poke(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// run sends until stopping is closed and nothing waits, or ctx is done, or the channel
// is gone. A failure holds up the whole outlet, not one message: the other side is what
// failed.
func (o *outlet) run(ctx context.Context, stopping <-chan struct{}) {
	for o.wait(ctx, stopping) && o.sleepUntilNext(ctx) {
		d, m, to := o.take() // only now: it may have been overtaken meanwhile
		if d == nil {
			continue
		}
		try, cancel := context.WithTimeout(ctx, deadline)
		err := to.Send(try, m)
		cancel()
		if err != nil && ctx.Err() != nil {
			return // it is still there after the next start
		}
		o.settle(ctx, d, err)
	}
}

// wait returns true once something waits, and false if nothing more will come or
// ctx is done.
func (o *outlet) wait(ctx context.Context, stopping <-chan struct{}) bool {
	for !o.box.ready(o) {
		select {
		case <-o.wake:
		case <-ctx.Done():
			return false
		case <-o.gone:
			return false
		case <-stopping:
			return o.box.ready(o)
		}
	}
	return ctx.Err() == nil
}

// ready reports whether there is something for an outlet to take.
func (b *Outbox) ready(o *outlet) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.all, o.takes)
}

// takes reports whether a delivery waits for the outlet. It needs the outbox's mu.
func (o *outlet) takes(d *Delivery) bool {
	return d.Channel == o.Name && d.Result == Waiting && !d.sending && o.box.outlets[o.Name] == o
}

// take returns the oldest delivery that waits, with all others of its kind in the
// same message: it lags, if there are some. It returns nil if there is none.
func (o *outlet) take() (*Delivery, message.Message, channel.Channel) {
	b := o.box
	b.mu.Lock()
	defer b.mu.Unlock()
	var head *Delivery
	for _, d := range b.all {
		switch {
		case !o.takes(d):
		case head == nil:
			head = d
		case d.Kind == head.Kind && d.Kind != message.Test:
			head.set(head.Message.Merge(*d.Message))
			b.dirty[head.ID] = head // in one transaction with the end of what it holds now
			b.done(d, Merged, "")
		}
	}
	if head == nil {
		return nil, message.Message{}, nil
	}
	if len(head.Dependencies) != len(head.Message.Items) { // a part was overtaken during the last try
		head.set(*head.Message)
	}
	head.sending = true
	return head, *head.Message, o.Channel
}

// settle notes how a try went, and when the next one may be.
func (o *outlet) settle(ctx context.Context, d *Delivery, err error) {
	b, now := o.box, time.Now()
	defer b.save()
	b.mu.Lock()
	defer b.mu.Unlock()
	d.sending = false
	d.Tries++
	b.dirty[d.ID] = d
	log := o.log.With("message", d.Title)
	if err == nil {
		o.failures, o.failing, o.next = 0, time.Time{}, now.Add(pace)
		b.done(d, Accepted, "")
		log.InfoContext(ctx, "alert accepted")
		return
	}
	d.Why = err.Error()
	var refused *channel.SendError
	wait := time.Duration(0)
	if errors.As(err, &refused) {
		wait = min(refused.Wait, longestWait)
	}
	if o.failing.IsZero() {
		o.failing = now
	}
	overtaken := len(d.Message.Items) == 0 && d.Kind != message.Test // wholly, while it was sending
	if next := b.outlets[o.Name]; next != o {                        // a reload took it away meanwhile
		switch {
		case overtaken:
			b.done(d, Overtaken, "")
		case next != nil:
			next.poke(next.wake)
		default:
			b.done(d, GivenUp, noChannel+"; the last try: "+d.Why)
			log.ErrorContext(ctx, "alert given up: "+noChannel, "error", err)
		}
		return
	}
	permanent := refused != nil && refused.Permanent
	lost := refused != nil && refused.Address // nobody is there who could take it
	switch {
	case permanent:
		o.failures, o.failing = 0, time.Time{} // it is there
	case lost:
		o.failures++
		wait = max(wait, maxBackoff)
	default:
		o.failures++
		wait = max(wait, backoff(o.failures))
	}
	o.next = now.Add(max(wait, pace))
	switch {
	case overtaken:
		b.done(d, Overtaken, "")
	case (permanent || lost || now.Add(wait).Sub(o.failing) > fallbackAfter) && o.handOver(d):
		b.done(d, HandedOver, "")
		log.ErrorContext(ctx, "alert not accepted: it goes to the fallback", "error", err, "fallback", o.Fallback)
	case permanent:
		b.done(d, Refused, "")
		log.ErrorContext(ctx, "alert refused, not tried again", "error", err)
	case now.Sub(d.At) >= giveUpAfter:
		b.done(d, GivenUp, "")
		log.ErrorContext(ctx, "alert given up", "error", err, "after", giveUpAfter)
	case lost && o.failures == 1:
		log.ErrorContext(ctx, "alert not accepted, will be tried again", "error", err, "failures", o.failures, "wait", wait)
	default:
		log.WarnContext(ctx, "alert not accepted, will be tried again", "error", err, "failures", o.failures, "wait", wait)
	}
}

// handOver gives a delivery to the fallback, and reports whether there is one that
// has not failed with it. It needs the outbox's mu.
func (o *outlet) handOver(d *Delivery) bool {
	to := o.box.outlets[o.Fallback]
	if to == nil || slices.Contains(d.Via, o.Fallback) {
		return false
	}
	// It may have been told the same, or what came after it, by a route of its own.
	news, some := d.Message.For(func(i message.Item) bool {
		return !slices.ContainsFunc(o.box.all, func(other *Delivery) bool {
			return other.Channel == o.Fallback && !other.At.Before(d.At) && other.Kind.Overtakes(d.Kind) && slices.Contains(other.Dependencies, i.Dependency)
		})
	})
	if some {
		l := Letter{o.Fallback, news}
		o.box.overtake(l)
		o.box.add(l, append(slices.Clone(d.Via), o.Name))
		to.poke(to.wake)
	}
	return true
}

// backoff doubles with every failure in a row; half of it is chance, so that
// several nodes do not come back together.
func backoff(failures int) time.Duration {
	d := maxBackoff
	if shift := failures - 1; shift < 6 {
		d = min(firstBackoff<<shift, maxBackoff)
	}
	return d/2 + rand.N(d/2)
}

// sleepUntilNext returns false if ctx is done first, or the channel gone. If the channel
// has changed, what was found out about it does not count any more.
func (o *outlet) sleepUntilNext(ctx context.Context) bool {
	for {
		timer := time.NewTimer(time.Until(o.next))
		select {
		case <-timer.C:
			return true
		case <-o.changed:
			o.forget()
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-o.gone:
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

func (o *outlet) forget() {
	o.box.mu.Lock()
	defer o.box.mu.Unlock()
	o.failures, o.failing = 0, time.Time{}
	if soon := time.Now().Add(pace); soon.Before(o.next) {
		o.next = soon
	}
}
