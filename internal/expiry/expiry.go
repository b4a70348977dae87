// Package expiry ends what takes too long, where nearly nothing does. Those that wait
// equally long share one timer: a timer for each would be a good part of what a fast call
// costs.
package expiry

import (
	"math"
	"sync"
	"time"
)

// Queue is what may expire, soonest first. The zero value is ready to use. It is safe
// for concurrent use. Entries that are all added with the same time go to its end at
// once; one with a shorter time than others is sorted in among them, one by one.
type Queue struct {
	mu          sync.Mutex
	base        time.Time     // times are counted from here
	first, last *Entry        // by at
	timer       *time.Timer   // nil until it is first needed
	due         time.Duration // when timer fires, at the latest; 0: it is not set
}

// Entry is a place in a Queue, and in no other at the same time. It is part of its
// Expirer, so that waiting costs no memory.
type Entry struct {
	who        Expirer // nil: it is in no queue
	at         time.Duration
	prev, next *Entry
}

// Expirer is who has an Entry.
type Expirer interface {
	// Expire is called when the time is up, on a goroutine of its own. That may still
	// come after Remove, or after another Add, if it was up at that very moment.
	Expire()
}

// Add has who expire after that time. An entry that is in the queue is moved.
func (q *Queue) Add(e *Entry, who Expirer, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.base.IsZero() {
		q.base = time.Now()
	}
	q.remove(e)
	now := time.Since(q.base)
	e.who, e.at = who, now+min(max(after, 1), math.MaxInt64-now)
	e.prev = q.before(e.at)
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

// before returns the last that is due by at. It is looked for from the end that is nearer:
// those with a short time are not to be held up by thousands who have a longer one.
func (q *Queue) before(at time.Duration) *Entry {
	e := q.last
	if e == nil || at >= e.at/2+q.first.at/2 {
		for e != nil && e.at > at {
			e = e.prev
		}
		return e
	}
	e = nil
	for next := q.first; next.at <= at; next = next.next {
		e = next
	}
	return e
}

// Remove takes an entry out, if it is in the queue.
func (q *Queue) Remove(e *Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(e)
}

func (q *Queue) remove(e *Entry) {
	if e.who == nil {
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

// set sees to it that the timer fires when the first entry is due, or before. When that
// one is removed, as nearly all are, the timer stays as it is.
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
