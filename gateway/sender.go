package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/alert"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// sender has messages sent by one node of a fleet. What is known of incidents and
// messages is in the history of every node, so the next sender goes on where the last one
// was. A gateway that is alone is always the sender.
type sender struct {
	alone   bool
	leads   func() bool
	make    func() *alert.Alerts // with what the history knows now
	all     func() []*dependency.Dependency
	apart   apart
	history *history.History
	log     *slog.Logger

	mu      sync.Mutex
	alerts  *alert.Alerts // that sends, or else only shows
	sends   bool          // alerts was started
	stale   bool          // it only shows, and the history knows more by now
	stopped bool
}

func newSender(s *sender) *sender {
	s.alerts = s.make()
	return s
}

// run begins and ends to send as this node becomes the sender and another does, until
// ctx is done.
func (s *sender) run(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		s.look()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *sender) look() {
	leads := s.leads()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
	case leads && s.sends:
		if !s.alone {
			s.apart.look(time.Now(), s.hearApart)
		}
	case leads == s.sends:
	case leads:
		s.begin()
	default:
		s.log.Info("another node sends messages from now on")
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // it sends what waits
		s.alerts.Stop(ctx)
		s.alerts, s.sends, s.apart.seen = s.make(), false, nil
	}
}

// hearApart takes in what other nodes do each for itself. This node's own breaker tells
// of its ends itself. It needs mu.
func (s *sender) hearApart(t recloser.Transition) {
	for _, d := range s.all() {
		if d.ID == t.Name && (t.To == recloser.Open || d.Breaker.State() == recloser.Closed) {
			s.alerts.Listen(t)
		}
	}
}

// begin begins to send.
func (s *sender) begin() {
	s.fresh().Start()
	s.sends = true
	if s.alone {
		return
	}
	s.log.Info("this node sends messages")
	known := make(map[string]bool)
	incidents, err := s.history.Incidents(context.Background())
	if err != nil {
		s.log.Error("not all incidents are known: people may be told again", "error", err)
	}
	for _, i := range incidents {
		known[i.ID] = true
	}
	for _, d := range s.all() { // what came between two senders
		if is := d.Breaker.Brief(); is.State != recloser.Closed && !known[d.ID] {
			s.alerts.Listen(is.Began)
		}
	}
}

// stop sends what is due while ctx lasts.
func (s *sender) stop(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.sends {
		s.alerts.Stop(ctx)
	}
}

// listen takes a transition.
func (s *sender) listen(t recloser.Transition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.To == recloser.Closed && s.apart.holds(t.Name) {
		return // it is not over elsewhere
	}
	if s.sends || s.alone && !s.stopped {
		s.alerts.Listen(t)
	}
}

// outdate is told that another node has changed what the history knows of messages.
func (s *sender) outdate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = !s.sends
}

// now returns the messages as they are known.
func (s *sender) now() *alert.Alerts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh()
}

// fresh returns alerts that know what the history knows. It needs mu.
func (s *sender) fresh() *alert.Alerts {
	if s.stale {
		s.alerts, s.stale = s.make(), false
	}
	return s.alerts
}

// reload puts other settings in force.
func (s *sender) reload(c config.Alerts) {
	s.now().Reload(c)
}
