package auth

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// A secret of 256 bits is not guessed, however fast one tries. The lock-out keeps
// those who try from filling the log and taking up the processor, and makes
// them stand out there.
const (
	freeTries   = 5                // wrong credentials that cost nothing: people mistype
	firstLock   = time.Second      // after one more; doubles with each
	longestLock = 5 * time.Minute  //
	forgotten   = 15 * time.Minute // after the last wrong ones
	mostTriers  = 4096             // addresses that are remembered
)

// lockout remembers who showed wrong credentials, by address.
type lockout struct {
	mu     sync.Mutex
	triers map[netip.Prefix]*trier
}

type trier struct {
	wrong int
	last  time.Time
	until time.Time // locked
}

func newLockout() *lockout { return &lockout{triers: make(map[netip.Prefix]*trier)} }

// wait returns how long an address has to wait until its credentials are looked
// at again.
func (l *lockout) wait(addr netip.Prefix, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.triers[addr]; t != nil {
		return max(0, t.until.Sub(now))
	}
	return 0
}

// wrong notes that an address showed wrong credentials, and returns for how long
// it is locked out now. Right ones later do not clear it: who has one token and
// guesses others would otherwise never be stopped.
func (l *lockout) wrong(addr netip.Prefix, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.triers[addr]
	if t == nil || now.Sub(t.last) >= forgotten {
		l.makeRoom(now)
		t = &trier{}
		l.triers[addr] = t
	}
	t.wrong++
	t.last = now
	if over := t.wrong - freeTries; over > 0 {
		lock := longestLock
		if over <= 16 {
			lock = min(longestLock, firstLock<<(over-1))
		}
		t.until = now.Add(lock)
		return lock
	}
	return 0
}

// makeRoom forgets who is to be forgotten, and who tried least lately: a quarter of
// all, so that it is not needed again at once.
func (l *lockout) makeRoom(now time.Time) {
	if len(l.triers) < mostTriers {
		return
	}
	lasts := make([]time.Time, 0, len(l.triers))
	for _, t := range l.triers {
		lasts = append(lasts, t.last)
	}
	slices.SortFunc(lasts, time.Time.Compare)
	oldest := lasts[len(lasts)/4]
	maps.DeleteFunc(l.triers, func(_ netip.Prefix, t *trier) bool {
		return !t.last.After(oldest) || now.Sub(t.last) >= forgotten
	})
}

// network is what is locked out with an address: with IPv6 one machine has a /64
// for itself.
func network(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits) // the zero Prefix for the zero Addr: all of no known address together
	return p
}
