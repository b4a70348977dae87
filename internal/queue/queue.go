// Package queue has those who wait for a slot get their turns in the order in which
// they came.
package queue

import "slices"

// Queue is who waits, longest first. Its owner's lock guards it.
type Queue struct{ waiting []chan struct{} }

// Len returns how many wait.
func (q *Queue) Len() int { return len(q.waiting) }

// Join returns a channel on which the turn comes.
func (q *Queue) Join() <-chan struct{} {
	turn := make(chan struct{}, 1) // who gives a turn waits for nobody
	q.waiting = append(q.waiting, turn)
	return turn
}

// Next gives the turn to who waits longest, and reports false if nobody does.
func (q *Queue) Next() bool {
	if len(q.waiting) == 0 {
		return false
	}
	q.waiting[0] <- struct{}{}
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return true
}

// Leave takes out who does not want to wait any longer, and reports false if the
// turn came at the last moment.
func (q *Queue) Leave(turn <-chan struct{}) bool {
	i := slices.IndexFunc(q.waiting, func(c chan struct{}) bool { return c == turn })
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}
