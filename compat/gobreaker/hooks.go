package gobreaker

// outcome is what the end of a call counts as.
type outcome int

const (
	success outcome = iota
	failure
	excluded
	outcomes // how many there are
)

func (b *breaker) outcomeOf(err error) outcome {
	switch {
	case ask(b.IsExcluded, err, false):
		return excluded
	case ask(b.IsSuccessful, err, err == nil):
		return success
	}
	return failure
}

// ask calls a hook. One that is not set, or panics, leaves the answer as it is
// by default: its fault must not cost the caller his result.
func ask[A any](hook func(A) bool, about A, byDefault bool) (answer bool) {
	if hook == nil {
		return byDefault
	}
	defer func() {
		if recover() != nil {
			answer = byDefault
		}
	}()
	return hook(about)
}

// changes are those that OnStateChange has not heard of yet. The breaker's lock
// guards them.
type changes struct {
	queue   []change
	telling bool // somebody is at it, and goes on to the end of the queue
}

type change struct{ from, to State }

const maxChanges = 4096

func (c *changes) add(next change) {
	if len(c.queue) == maxChanges { // the hook hangs
		c.queue = c.queue[1:]
	}
	c.queue = append(c.queue, next)
}

// unlock ends what was done under the lock, and tells the hook what came of it.
func (b *breaker) unlock() {
	tell := len(b.changes.queue) > 0 && !b.changes.telling
	b.changes.telling = b.changes.telling || tell
	b.mu.Unlock()
	if tell {
		b.tell()
	}
}

func (b *breaker) tell() {
	done := false
	defer func() {
		if !done { // the hook called runtime.Goexit, which ended the loop
			b.tell()
		}
	}()
	for b.tellNext() {
	}
	done = true
}

// tellNext reports false if nothing was left to tell.
func (b *breaker) tellNext() bool {
	b.mu.Lock()
	if len(b.changes.queue) == 0 {
		b.changes = changes{}
		b.mu.Unlock()
		return false
	}
	next := b.changes.queue[0]
	b.changes.queue = b.changes.queue[1:]
	b.mu.Unlock()
	ask(func(c change) bool {
		b.OnStateChange(b.Name, c.from, c.to)
		return true
	}, next, false)
	return true
}
