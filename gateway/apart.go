package gateway

import (
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// apart follows what other nodes have cut off, each by its own rules, and this node has
// not: the sender of messages has no transition of its own to tell that by.
type apart struct {
	now  func() map[string]fleet.Seen // by dependency
	seen map[string]*elsewhere
}

type elsewhere struct {
	since time.Time
	told  bool
}

// apartAfter is how long it must last: what all nodes cut off together in a moment is
// told by that.
const apartAfter = 5 * time.Second

// holds reports whether other nodes cut a dependency off, and that was told.
func (a *apart) holds(id string) bool {
	e := a.seen[id]
	return e != nil && e.told
}

// look tells what begins and ends as transitions.
func (a *apart) look(at time.Time, tell func(recloser.Transition)) {
	now := a.now()
	for id, who := range now {
		switch e := a.seen[id]; {
		case e == nil:
			if a.seen == nil {
				a.seen = make(map[string]*elsewhere)
			}
			a.seen[id] = &elsewhere{since: at}
		case !e.told && at.Sub(e.since) >= apartAfter:
			e.told = true
			tell(recloser.Transition{Name: id, At: e.since, From: recloser.Closed, To: recloser.Open, Reason: message.ReasonApart, Note: who.Who})
		}
	}
	for id, e := range a.seen {
		if _, still := now[id]; still {
			continue
		}
		delete(a.seen, id)
		if e.told {
			tell(recloser.Transition{Name: id, At: at, From: recloser.Open, To: recloser.Closed, Reason: message.ReasonApart})
		}
	}
}

// apart returns what other nodes have cut off by their own rules, and this one has not.
func (m *member) apart() map[string]fleet.Seen {
	_, of := m.status()
	all := make(map[string]fleet.Seen)
	for id, b := range of {
		if b.Seen.Own && len(b.Views) > 0 && !b.Views[0].Own {
			all[id] = b.Seen
		}
	}
	return all
}
