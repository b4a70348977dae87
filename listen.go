package recloser

import (
	"slices"
	"sync"
)

// eventLog numbers the transitions and hands them to the listeners. The
// breaker's lock guards it. Most breakers have none: nothing to tell, and nobody
// to listen.
type eventLog struct {
	seq    uint64
	shown  State // To of the last transition
	at     int64 // when it was
	counts map[TransitionKey]uint64
	subs   []*subscriber
}

// emit completes t, hands it on and returns it.
func (b *Breaker) emit(at int64, t Transition) *Transition {
	l := b.events()
	t.Seq, t.Name, t.From, t.At = l.seq+1, b.name, l.shown, b.timeAt(at)
	t.Shadow = b.cfg().Shadow
	l.seq, l.shown, l.at = t.Seq, t.To, at
	key := TransitionKey{To: t.To, Reason: t.Reason}
	if t.From == HeldClosed && t.To == HeldClosed && t.Reason != ReasonHeldClosed {
		key.To = t.Automatic
	}
	if l.counts == nil {
		l.counts = map[TransitionKey]uint64{}
	}
	l.counts[key]++
	for _, s := range l.subs {
		s.push(t)
	}
	return &t
}

// events returns the breaker's log.
func (b *Breaker) events() *eventLog {
	if b.log == nil {
		b.log = &eventLog{}
	}
	return b.log
}

// last returns when the last transition was.
func (l *eventLog) last() int64 {
	if l == nil {
		return 0
	}
	return l.at
}

// Subscribe has fn called with every transition from now on, in order and one
// at a time, on a goroutine that lives only while there is something to tell.
// No call waits for fn, no other listener either, and fn may use the breaker. A
// panic in fn is swallowed. If fn falls more than 4096 transitions behind, the
// oldest are dropped; Seq then has a gap. unsubscribe may be called at any time,
// also from fn; what is under way may still arrive.
func (b *Breaker) Subscribe(fn func(Transition)) (unsubscribe func()) {
	s := &subscriber{fn: fn}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.events()
	l.subs = append(slices.Clone(l.subs), s)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		l.subs = slices.DeleteFunc(slices.Clone(l.subs), func(o *subscriber) bool { return o == s })
	}
}

const maxQueue = 4096

// subscriber is a listener with what it has not heard yet.
type subscriber struct {
	fn      func(Transition)
	mu      sync.Mutex
	queue   []Transition
	running bool
}

func (s *subscriber) push(t Transition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == maxQueue {
		s.queue = s.queue[1:]
	}
	s.queue = append(s.queue, t)
	if !s.running {
		s.running = true
		go s.run()
	}
}

func (s *subscriber) run() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.queue, s.running = nil, false
			s.mu.Unlock()
			return
		}
		t := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		s.call(t)
	}
}

// call shields the queue from what fn does: a panic, or runtime.Goexit, after
// which a new goroutine goes on.
func (s *subscriber) call(t Transition) {
	returned := false
	defer func() {
		if recover() == nil && !returned {
			go s.run()
		}
	}()
	s.fn(t)
	returned = true
}
