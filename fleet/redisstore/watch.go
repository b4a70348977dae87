package redisstore

import (
	"context"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// lookEvery is how often the log is looked at when no push tells of a change.
const lookEvery = 2 * time.Second

// Watch implements [fleet.Store]. A push is a hint to look at the log; each two seconds
// it is looked at without one.
func (s *Store) Watch(ctx context.Context, after uint64, f func(fleet.Doc)) error {
	hints, stop := s.listen(ctx)
	defer func() { stop() }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for hinted := true; ; {
		docs, last, more, err := s.since(ctx, after)
		if err != nil {
			return err
		}
		for _, d := range docs {
			f(d)
		}
		if last != after && !hinted {
			// The push did not tell of this: its connection may be dead without knowing.
			stop()
			hints, stop = s.listen(ctx)
		}
		after, hinted = last, true
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return fleet.ErrClosed
		case <-hints:
		case <-look.C:
			hinted = false
		}
	}
}

// listen subscribes to the channel of changes, again whenever the connection breaks,
// until stop is called. There is a hint for all messages that nobody has taken yet, and
// one whenever it is subscribed, as changes before that were not heard of.
func (s *Store) listen(ctx context.Context) (hints <-chan struct{}, stop func()) {
	hint := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(ctx)
	done, err := s.begin()
	if err != nil {
		return hint, cancel // closed meanwhile, which Watch is about to see
	}
	sub := s.client.Subscribe(ctx)
	// Only a closed connection ends a read that waits.
	closeSub := func() { _ = sub.Close() }
	stopped := context.AfterFunc(ctx, closeSub)
	ended := context.AfterFunc(s.ctx, cancel)
	go func() {
		defer done()
		defer cancel()
		defer ended()
		defer stopped()
		subscribed := sub.Subscribe(ctx, s.key("changed")) == nil
		for {
			if subscribed {
				if _, err := sub.Receive(ctx); err == nil {
					select {
					case hint <- struct{}{}:
					default:
					}
					continue
				}
			}
			select {
			case <-ctx.Done():
				closeSub()
				return
			case <-time.After(s.opts.Timeout):
			}
			subscribed = true // by the next Receive, which connects anew
		}
	}()
	return hint, cancel
}
