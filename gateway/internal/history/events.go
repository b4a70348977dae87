package history

import (
	"context"
	"time"
)

// Kind says what sort of event it is.
type Kind = string

// The kinds.
const (
	KindTransition  Kind = "transition"  // a breaker changed its state
	KindProbe       Kind = "probe"       // a health check said something new
	KindAct         Kind = "act"         // an operator did something
	KindGateway     Kind = "gateway"     // started, reloaded, stopped, storage
	KindMaintenance Kind = "maintenance" // a window began or ended
)

// Event is something that happened. Fields that do not apply are zero.
type Event struct {
	ID         int64         `json:"id"` // increases, over restarts too; not without gaps
	At         time.Time     `json:"at"` // kept to the millisecond
	Dependency string        `json:"dependency,omitempty"`
	Key        string        `json:"key,omitempty"` // which of its breakers; "": its own
	Kind       Kind          `json:"kind"`
	From       string        `json:"from,omitempty"` // a state, as of To
	To         string        `json:"to,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	By         string        `json:"by,omitempty"`
	Note       string        `json:"note,omitempty"`
	Cause      string        `json:"cause,omitempty"`
	OpenFor    time.Duration `json:"open_for,omitempty"` // nanoseconds
	Step       int           `json:"step,omitempty"`
	Good       uint64        `json:"good,omitempty"`
	Failed     uint64        `json:"failed,omitempty"`
	Slow       uint64        `json:"slow,omitempty"`
	Run        int           `json:"run,omitempty"`
	Shadow     bool          `json:"shadow,omitempty"` // calls passed all the same
	Text       string        `json:"text,omitempty"`   // one line for people
}

// EventQuery selects events; a zero field selects all.
type EventQuery struct {
	Dependency string
	Kind       Kind
	Since      time.Time // at that moment or later
	Until      time.Time // before it
	After      int64     // with a greater ID: the answer is in order then, oldest first; else newest first
	Before     int64     // with a smaller ID
	Limit      int       // at most; default 100, never above 10 000

	newest bool // newest first in any case
}

// Record keeps an event and gives it its ID and, if it has none, its time. It
// waits for nothing: within 50 ms the event is on disk, together with what else
// came meanwhile.
func (h *History) Record(e Event) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.At.IsZero() {
		e.At = h.o.Now()
	}
	e.At = fromMilli(e.At.UnixMilli()) // as it will be read later
	e.ID = h.nextID()
	if h.closed {
		return e.ID
	}
	if len(h.queue) == queued {
		h.queue = h.queue[1:]
		h.status.Lost++
	}
	h.queue = append(h.queue, e)
	for r := range h.readers {
		select {
		case r.live <- e:
		default:
			h.drop(r)
		}
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return e.ID
}

// nextID counts on from the last id on disk or, if that is later, from the time
// of the start in milliseconds. So ids grow even if the file is lost or an older
// one is put in its place. It needs mu.
func (h *History) nextID() int64 {
	h.last++
	return h.last
}

// Events returns the events that q selects, those recorded a moment ago too.
// Without a disk it knows only the last ones.
func (h *History) Events(ctx context.Context, q EventQuery) ([]Event, error) {
	return read(ctx, h, func(ctx context.Context, b *base) ([]Event, error) { return b.events(ctx, q) })
}

func (b *base) events(ctx context.Context, q EventQuery) ([]Event, error) {
	var f filter
	f.equal("dependency", q.Dependency)
	f.equal("kind", q.Kind)
	f.between(q.Since, q.Until, q.After, q.Before)
	rows, err := b.r.QueryContext(ctx, "SELECT * FROM event "+f.where(q.After > 0 && !q.newest, q.Limit), f.values...) //nolint:gosec // the text is this package's own; what comes from outside is bound
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var events []Event
	for rows.Next() {
		var e Event
		var at int64
		if err := rows.Scan(&e.ID, &at, &e.Dependency, &e.Kind, &e.From, &e.To, &e.Reason, &e.By, &e.Note, &e.Cause,
			&e.OpenFor, &e.Step, &e.Good, &e.Failed, &e.Slow, &e.Run, &e.Text, &e.Key, &e.Shadow); err != nil {
			return nil, err
		}
		e.At = fromMilli(at)
		events = append(events, e)
	}
	return events, rows.Err()
}
