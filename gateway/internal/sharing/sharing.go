// Package sharing keeps what is in force the same on all nodes of a fleet: dependencies
// that were added at run time, maintenance, incidents and messages on their way. Every
// node has all of it in its history, so nobody ever waits for the store in the middle:
// what is changed while the store is away is in force on this node, and shared when it
// is back.
//
// What changed last wins, whole things at a time.
package sharing

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// Options are what a Sharing is made from.
type Options struct {
	Store   fleet.Store
	Fleet   string // its name: the store of another one is left alone
	History *history.History

	// Changed is called after this node has taken over a change of another, one after the
	// other; the next one waits for it.
	Changed func(history.Shared)
	Log     *slog.Logger
}

// Sharing shares. It is safe for concurrent use.
type Sharing struct {
	o    Options
	wake chan struct{} // holds one
	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	fault error
}

const (
	prefix = "gateway/" // of the documents' keys

	patience     = 500 * time.Millisecond // with the store, for one thing
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second

	// A document of something that is no more tells so to nodes that were away.
	remembered        = 30 * 24 * time.Hour
	rememberedShortly = 24 * time.Hour // of messages: there are many

	anew = 24 * time.Hour // all is met, so that what the store has forgotten is forgotten here as well
)

// New returns a Sharing that does nothing before Start.
func New(o Options) *Sharing {
	return &Sharing{o: o, wake: make(chan struct{}, 1), stop: func() {}, done: make(chan struct{})}
}

// Start starts a goroutine, and one more while the store is there. Call it once, and
// Stop later.
func (s *Sharing) Start() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		defer close(s.done)
		s.run(ctx)
	}()
}

// Stop shares what is not shared yet while ctx lasts.
func (s *Sharing) Stop(ctx context.Context) {
	if s.Fault() == nil {
		_ = s.tell(ctx) // else the next start does
	}
	s.stop()
	<-s.done
}

// Wake has it look for what has changed here. It never waits.
func (s *Sharing) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Fault returns why nothing is shared now, nil if all is.
func (s *Sharing) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

func (s *Sharing) setFault(err error) {
	s.mu.Lock()
	was := s.fault
	s.fault = err
	s.mu.Unlock()
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		s.o.Log.Warn("this node shares nothing with the fleet for now: dependencies, maintenance and messages", "error", err)
	case err == nil && was != nil:
		s.o.Log.Info("this node shares with the fleet again")
	}
}

// run keeps to the store, again and again.
func (s *Sharing) run(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		if err := s.session(ctx); ctx.Err() == nil && !errors.Is(err, fleet.ErrResync) {
			s.setFault(err)
		}
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, longestPause)
	}
}

// session shares until the store is away.
func (s *Sharing) session(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, 10*patience)
	docs, position, err := s.o.Store.Load(limited)
	cancel()
	if err != nil {
		return err
	}
	if err := fleet.Belongs(docs, s.o.Fleet); err != nil {
		return err
	}
	if err := s.meet(ctx, docs); err != nil {
		return err
	}
	if err := s.tell(ctx); err != nil {
		return err
	}
	s.setFault(nil)
	ctx, cancel = context.WithCancel(ctx)
	defer cancel()
	day := time.NewTimer(anew)
	defer day.Stop()
	heard, ended := make(chan fleet.Doc, 256), make(chan error, 1)
	go func() { ended <- s.watch(ctx, position, heard) }()
	for {
		select {
		case err := <-ended:
			return err
		case d := <-heard:
			err = s.hear(ctx, &d, false)
		case <-s.wake:
			err = s.tell(ctx)
		case <-day.C:
			err = fleet.ErrResync
		}
		if err != nil {
			cancel()
			<-ended //nolint:errcheck // it says that it was ended
			return err
		}
	}
}

// watch passes on what changes in the store.
func (s *Sharing) watch(ctx context.Context, after uint64, heard chan<- fleet.Doc) error {
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := s.o.Store.Watch(watching, after, func(d fleet.Doc) {
		if !strings.HasPrefix(d.Key, prefix) {
			return
		}
		select {
		case heard <- d:
		default: // f must not block
			stop(fleet.ErrResync)
		}
	})
	if cause := context.Cause(watching); cause != nil {
		return cause
	}
	return err
}

// meet takes over what has changed in the store while this node was away, and has what
// the store has lost put there again.
func (s *Sharing) meet(ctx context.Context, docs []fleet.Doc) error {
	there := make(map[string]bool)
	for i := range docs {
		if strings.HasPrefix(docs[i].Key, prefix) {
			there[docs[i].Key] = true
			if err := s.hear(ctx, &docs[i], true); err != nil {
				return err
			}
		}
	}
	all, err := s.o.History.AllShared(ctx)
	if err != nil {
		return err
	}
	for _, v := range all {
		if there[keyOf(v)] || v.Unsaid || v.Rev == (history.Rev{}) {
			continue
		}
		v.Rev = history.Rev{}
		if v.Value == nil { // it was forgotten, as is due
			err = s.o.History.Said(ctx, v, true)
		} else {
			err = s.put(ctx, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hear takes over one version of something, which is the newest that the store has now,
// or perhaps was.
func (s *Sharing) hear(ctx context.Context, d *fleet.Doc, now bool) error {
	kind, id, _ := strings.Cut(strings.TrimPrefix(d.Key, prefix), "/")
	here, err := s.o.History.SharedOf(ctx, kind, id)
	if err != nil || here.Rev == history.Rev(d.Rev) {
		return err
	}
	if here.Rev.Epoch > d.Rev.Epoch && !here.Unsaid {
		if !now {
			return nil // it tells late of what this node has replaced
		}
		return s.putOver(ctx, here, d.Rev) // the store went back in time
	}
	v := history.Shared{Kind: kind, ID: id, Rev: history.Rev(d.Rev), Value: d.Data}
	if len(d.Data) == 0 {
		v.Value = nil
	}
	taken, err := s.o.History.Adopt(ctx, v)
	switch {
	case errors.Is(err, history.ErrNotShared):
		s.o.Log.WarnContext(ctx, "something in the store is left alone: this version does not know it, or no gateway has written it", "document", d.Key, "error", err)
		return nil
	case taken:
		s.o.Changed(v)
	}
	return err
}

// tell puts what has changed here into the store.
func (s *Sharing) tell(ctx context.Context) error {
	all, err := s.o.History.Unsaid(ctx)
	if err != nil {
		return err
	}
	for _, v := range all {
		if err := s.put(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// put makes v the store's version, whatever it has: it is what changed last.
func (s *Sharing) put(ctx context.Context, v history.Shared) error {
	return s.putOver(ctx, v, fleet.Rev(v.Rev))
}

// putOver is put where the store is believed to have the version expect.
func (s *Sharing) putOver(ctx context.Context, v history.Shared, expect fleet.Rev) error {
	d := fleet.Doc{Key: keyOf(v), Data: v.Value}
	if v.Value == nil {
		d.TTL = remembered
		if v.Kind == history.SharedDelivery || v.Kind == history.SharedIncident {
			d.TTL = rememberedShortly
		}
	}
	for {
		d.Rev = fleet.Rev{Epoch: max(expect.Epoch, v.Rev.Epoch) + 1, ID: rand.Uint64() | 1}
		limited, cancel := context.WithTimeout(ctx, patience)
		is, err := s.o.Store.Put(limited, expect, d)
		cancel()
		switch {
		case err == nil:
			v.Rev = history.Rev(is.Rev)
			return s.o.History.Said(ctx, v, false)
		case errors.Is(err, fleet.ErrConflict):
			expect = is.Rev
		case fleet.Refused(err):
			s.o.Log.ErrorContext(ctx, "the store cannot take it: it is in force on this node alone", "kind", v.Kind, "id", v.ID, "error", err)
			return s.o.History.Said(ctx, v, false)
		default:
			return err
		}
	}
}

func keyOf(v history.Shared) string { return prefix + v.Kind + "/" + v.ID }
