// Package ratelimit bounds how often a route is called, by each client or by all
// together. It protects the gateway from its callers, so what it refuses never
// counts against a dependency.
package ratelimit

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/internal/bucket"
	"github.com/recloser-go/recloser/internal/vtime"
)

// Limiter has a bucket of tokens for each client. It is safe for concurrent use.
type Limiter struct {
	from    config.RateLimit
	refused atomic.Uint64
	rate    float64
	burst   float64
	of      func(*http.Request) string // what tells clients apart
	clock   vtime.Clock
	base    time.Time
	seed    maphash.Seed
	half    int    // of the clients that are told apart
	policy  string // for the header RateLimit-Policy
	nothing string // for the header RateLimit, without the time

	mu       sync.Mutex
	now, old map[uint64]*bucket.Bucket // by the hash of what tells clients apart, which may be long
}

// New returns a limiter with these settings, all of which are given.
func New(c config.RateLimit, clock vtime.Clock) *Limiter {
	l := &Limiter{
		from: c, rate: c.Rate, burst: float64(c.Burst),
		of: clientOf(c.Per), clock: clock, base: clock.Now(), seed: maphash.MakeSeed(),
		half: max(1, c.Max/2),
		now:  make(map[uint64]*bucket.Bucket),
	}
	name, _, _ := strings.Cut(c.Per, " ")
	l.policy = fmt.Sprintf("%q;q=%d;w=%d", name, int(l.burst), max(1, int(math.Ceil(l.burst/l.rate))))
	l.nothing = fmt.Sprintf("%q;r=0;t=", name)
	return l
}

// clientOf returns what tells clients apart.
func clientOf(per string) func(*http.Request) string {
	if name, ok := strings.CutPrefix(per, "header "); ok {
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		return func(r *http.Request) string { return strings.Join(r.Header[name], "\n") }
	}
	if per == "route" {
		return func(*http.Request) string { return "" }
	}
	return address
}

// address returns the client's address, of IPv6 the first 64 bits: who has one
// address there has all of them.
func address(r *http.Request) string {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := a.Addr().Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			ip = p.Addr()
		}
	}
	b := ip.As16()
	return string(b[:])
}

// Take takes a token for the client of the request. If there is none, it says how
// long until there is.
func (l *Limiter) Take(r *http.Request) (wait time.Duration, ok bool) {
	now := l.clock.Since(l.base)
	return l.bucketOf(maphash.String(l.seed, l.of(r)), now).Take(now)
}

// bucketOf returns a client's bucket. Clients are kept in two halves: when the
// new one is full it becomes the old one, and whoever is in neither is forgotten.
// So who calls all the time is never forgotten, and who is has a full bucket, as
// after a pause.
func (l *Limiter) bucketOf(client uint64, now time.Duration) *bucket.Bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.now[client]; b != nil {
		return b
	}
	b := l.old[client]
	if b == nil {
		b = bucket.New(l.rate, l.burst, l.burst)
		_, _ = b.Take(now) // its time begins
		b.Put(1)
	}
	if len(l.now) >= l.half {
		l.old, l.now = l.now, make(map[uint64]*bucket.Bucket)
	}
	l.now[client] = b
	return b
}

// Allow takes a token for the client of the request. If there is none it answers,
// with 429, and returns false. A nil limiter allows everything.
func (l *Limiter) Allow(w http.ResponseWriter, r *http.Request) bool {
	if l == nil {
		return true
	}
	wait, ok := l.Take(r)
	if ok {
		return true
	}
	l.refused.Add(1)
	p := problem.TooMany(wait)
	w.Header().Set("Ratelimit-Policy", l.policy)
	w.Header().Set("Ratelimit", l.nothing+strconv.Itoa(p.RetryAfter))
	problem.Close(w, r)
	problem.Write(w, p)
	return false
}
