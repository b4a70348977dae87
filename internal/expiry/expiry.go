// Package expiry ends what takes too long, where nearly nothing does. All that wait
// for the same share one timer: a timer for each would be a good part of what a fast
// call costs.
package expiry

import (
	"sync"
	"time"
)

// Queue is what may expire, soonest first. The zero value is ready to use. It is safe
// for concurrent use, and made for entries that are added with one and the same time:
// one with a shorter time than those before it has to be sorted in.
type Queue struct {
	mu          sync.Mutex
	base        time.Time     // times are counted from here
	first, last *Entry        // by at
	timer       *time.Timer   // nil until it is first needed
	due         time.Duration // when timer fires; 0: it is not set
}

// Entry is a place in a Queue, for one who has one at most. It is part of him, so that
// waiting costs no memory.
type Entry struct {
	at         time.Duration
	who        Expirer
	prev, next *Entry
	waits      bool
}

// Expirer is who has an Entry.
type Expirer interface {
	// Expire is called once the time is up, on a goroutine of its own. That can be while
	// Remove is called, or Add anew.
	Expire()
}

// Add has who expire within that time, and not when the entry was due before.
func (q *Queue) Add(e *Entry, who Expirer, within time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.base.IsZero() {
		q.base = time.Now()
	}
	q.remove(e)
	now := time.Since(q.base)
	e.who, e.at, e.waits = who, now+max(within, 1), true
	e.prev = q.last
	for e.prev != nil && e.prev.at > e.at {
		e.prev = e.prev.prev
	}
	if e.prev == nil {
		e.next, q.first = q.first, e
	} else {
		e.next, e.prev.next = e.prev.next, e
	}
	if e.next == nil {
		q.last = e
	} else {
		e.next.prev = e
	}
	q.set(now)
}

// Remove has an entry not expire, if it was added and has not.
func (q *Queue) Remove(e *Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(e)
}

func (q *Queue) remove(e *Entry) {
	if !e.waits {
		return
	}
	if e.prev == nil {
		q.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		q.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	*e = Entry{}
}

// set sees to it that the timer fires when the first is due, or before: it is left
// alone when the first leaves, as nearly all do.
func (q *Queue) set(now time.Duration) {
	if q.first == nil || q.due > 0 && q.due <= q.first.at {
		return
	}
	q.due = q.first.at
	if q.timer == nil {
		q.timer = time.AfterFunc(q.due-now, q.fire)
	} else {
		q.timer.Reset(q.due - now)
	}
}

func (q *Queue) fire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Since(q.base)
	for e := q.first; e != nil && e.at <= now; e = q.first {
		who := e.who
		q.remove(e)
		go who.Expire()
	}
	q.due = 0
	q.set(now)
}
