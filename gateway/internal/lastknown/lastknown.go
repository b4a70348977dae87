// Package lastknown keeps what was answered last, for the time when there is no
// answer. What one client was told is never told to another with other
// credentials.
package lastknown

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/internal/vtime"
)

// overhead is how many bytes an answer takes besides its own.
const overhead = 512

// LargestBody is how long a body may be to be kept.
const LargestBody = 1 << 20

// Answer is one that was given.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Key tells requests apart. The zero Key is of none that is kept.
type Key [sha256.Size]byte

// Store holds the last answers of one route; a nil one keeps nothing. It is safe for concurrent use.
type Store struct {
	clock  vtime.Clock
	longer time.Duration // how old an answer may be
	names  []string      // of the headers that tell answers apart
	most   int
	memory int64

	mu    sync.Mutex
	byKey map[Key]*list.Element
	order *list.List // of *entry: who was used last is first
	size  int64
}

type entry struct {
	key    Key
	answer Answer
	vary   Key // of the request's headers that the answer says it depends on
	at     time.Time
}

func (e *entry) size() int64 {
	n := overhead + len(e.answer.Body)
	for name, values := range e.answer.Header {
		n += len(name) + len(strings.Join(values, ""))
	}
	return int64(n)
}

// New returns an empty store with these settings, all of which are given; nil if c is.
func New(c *config.LastKnown, clock vtime.Clock) *Store {
	if c == nil || c.For <= 0 {
		return nil
	}
	return &Store{
		clock: clock, longer: c.For, names: credentials(c.Key),
		most: c.Max, memory: c.Memory,
		byKey: make(map[Key]*list.Element), order: list.New(),
	}
}

// credentials adds to names those of the headers by which clients say who they
// are; and Connection, as what that names does not reach the dependency: its answer
// to one client would be given to others who do send it.
func credentials(names []string) []string {
	all := []string{"Authorization", "Cookie", "Connection"}
	for _, n := range names {
		if n = http.CanonicalHeaderKey(n); !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// Key returns what tells the answer to a request with this method and body from
// others: also by host, path and query, credentials, and the headers that the
// config names.
func (s *Store) Key(method string, r *http.Request, body []byte) (k Key) {
	if s == nil {
		return k
	}
	h := sha256.New()
	write(h, method, r.Host, r.URL.EscapedPath(), r.URL.RawQuery, string(body))
	hashHeaders(h, r, s.names)
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		write(h, "certificate", string(r.TLS.PeerCertificates[0].Raw))
	}
	h.Sum(k[:0])
	return k
}

// hasCredentials reports whether the client has said who it is.
func hasCredentials(r *http.Request) bool {
	return len(r.Header["Authorization"])+len(r.Header["Cookie"]) > 0 || r.TLS != nil && len(r.TLS.PeerCertificates) > 0
}

func hashHeaders(h hash.Hash, r *http.Request, names []string) {
	for _, name := range names {
		write(h, append([]string{name}, r.Header[name]...)...)
	}
}

// write hashes a list of strings, so that no other list hashes the same.
func write(h hash.Hash, parts ...string) {
	var length [8]byte
	n := func(n int) {
		binary.LittleEndian.PutUint64(length[:], uint64(n))
		h.Write(length[:])
	}
	n(len(parts))
	for _, p := range parts {
		n(len(p))
		h.Write([]byte(p))
	}
}

// Put keeps an answer to the request r with the key k.
func (s *Store) Put(k Key, r *http.Request, a Answer) {
	e := &entry{key: k, answer: a, vary: varied(r, a.Header), at: s.clock.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(k)
	if e.size() > s.memory {
		return
	}
	s.byKey[k] = s.order.PushFront(e)
	s.size += e.size()
	for s.size > s.memory || len(s.byKey) > s.most {
		s.forget(s.order.Back().Value.(*entry).key)
	}
}

// Forget drops what is kept for k: it is not so any more.
func (s *Store) Forget(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(k)
}

func (s *Store) forget(k Key) {
	if el := s.byKey[k]; el != nil {
		s.size -= el.Value.(*entry).size()
		s.order.Remove(el)
		delete(s.byKey, k)
	}
}

// Get returns the answer that was last given to such a request, and its age; false
// if there is none or it is too old. It is not to be changed.
func (s *Store) Get(k Key, r *http.Request) (a Answer, age time.Duration, ok bool) {
	if s == nil {
		return a, 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	el := s.byKey[k]
	if el == nil {
		return a, 0, false
	}
	e := el.Value.(*entry)
	if age = s.clock.Since(e.at); age > s.longer {
		s.forget(k)
		return a, 0, false
	}
	if e.vary != varied(r, e.answer.Header) {
		return a, 0, false
	}
	s.order.MoveToFront(el)
	return e.answer, age, true
}

// varied is the hash of those headers of a request that the answer's Vary names.
func varied(r *http.Request, answer http.Header) (k Key) {
	names := namesIn(answer["Vary"])
	if len(names) == 0 {
		return k
	}
	h := sha256.New()
	hashHeaders(h, r, names)
	h.Sum(k[:0])
	return k
}
