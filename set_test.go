package recloser

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

func newTestSet(t *testing.T, perKey map[string]Config) *Set {
	t.Helper()
	s, err := NewSet(strict(), perKey)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSetNamesAndSettings(t *testing.T) {
	perKey := map[string]Config{"hotel-3": {Name: "not this", Trials: 7}}
	s := newTestSet(t, perKey)
	perKey["hotel-5"] = Config{Trials: 9} // too late
	for key, trials := range map[string]int{"hotel-3": 7, "hotel-5": 1, "": 1} {
		b := s.Get(key)
		mustEqual(t, "name", b.Name(), key)
		mustEqual(t, "trials of "+key, b.Config().Trials, trials)
		if s.Get(key) != b {
			t.Errorf("%q has two breakers", key)
		}
	}
	mustEqual(t, "Len", s.Len(), 3)
}

func TestSetFaults(t *testing.T) {
	s, err := NewSet(Config{Trials: -1}, map[string]Config{"b": {MinCalls: -1}, "a": {Window: 1, Jitter: 3}, "fine": {}})
	if s != nil || err == nil {
		t.Fatal("made in spite of faults")
	}
	const want = `recloser: Trials -1: must be from 1 to 100
settings of "a": recloser: Window 1ns: must be from 100ms to 1h
recloser: Jitter 3: must be above 0 and at most 0.5, or off
settings of "b": recloser: MinCalls -1: must be from 1 to 1000000`
	if err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	var fault *FieldError
	if !errors.As(err, &fault) {
		t.Error("no *FieldError in it")
	}
}

// However many ask for a new key at once, they get one breaker.
func TestSetMakesOne(t *testing.T) {
	s := newTestSet(t, nil)
	keys := strings.Split("abcdefghij", "")
	got := make([][]*Breaker, 8)
	var all sync.WaitGroup
	for g := range got {
		all.Go(func() {
			for range 50 {
				for _, key := range keys {
					got[g] = append(got[g], s.Get(key))
				}
				s.Check()
				for range s.All() {
				}
			}
		})
	}
	all.Wait()
	for g := range got {
		for i, b := range got[g] {
			if b != s.Get(keys[i%len(keys)]) {
				t.Fatalf("goroutine %d got another breaker for %q", g, keys[i%len(keys)])
			}
		}
	}
	mustEqual(t, "Len", s.Len(), len(keys))
}

func TestSetAllIsSorted(t *testing.T) {
	s := newTestSet(t, nil)
	for range s.All() {
		t.Error("an empty set has a breaker")
	}
	for _, key := range []string{"b", "c", "a", "aa"} {
		s.Get(key)
	}
	var keys []string
	for key, b := range s.All() {
		keys = append(keys, key)
		if b != s.Get(key) {
			t.Errorf("another breaker for %q", key)
		}
		s.Get("d-made-meanwhile")
		if len(keys) == 3 {
			break
		}
	}
	if want := []string{"a", "aa", "b"}; !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
}

func TestSetCheck(t *testing.T) {
	s := newTestSet(t, map[string]Config{"hangs": {SlowCall: time.Millisecond, Consecutive: 1, OpenFor: time.Hour}})
	p, err := s.Get("hangs").Allow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Cancel()
	// Nobody calls this breaker any more: only Check can find the call overdue.
	eventually.True(t, 10*time.Second, func() bool {
		s.Check()
		return s.Get("hangs").cur.Load().state == Open
	}, "Check to open the breaker")
}

// heard counts transitions by the breaker's name.
type heard struct{ a, b, other atomic.Int64 }

func (h *heard) tell(t Transition) {
	switch t.Name {
	case "a":
		h.a.Add(1)
	case "b":
		h.b.Add(1)
	default:
		h.other.Add(1)
	}
}

func TestSetSubscribe(t *testing.T) {
	s := newTestSet(t, nil)
	s.Get("a")
	var first, second heard
	stop := s.Subscribe(first.tell)
	stopSecond := s.Subscribe(second.tell)
	s.Get("b") // made after they subscribed

	s.Get("a").Reset("", "")
	s.Get("b").Reset("", "")
	s.Get("b").Reset("", "")
	for _, h := range []*heard{&first, &second} {
		eventually.True(t, 10*time.Second, func() bool { return h.a.Load() == 1 && h.b.Load() == 2 }, "both listeners to hear of both breakers")
	}

	stop()
	stop() // twice does no harm
	s.Get("c")
	for _, key := range []string{"a", "b", "c"} {
		s.Get(key).Reset("", "")
	}
	eventually.True(t, 10*time.Second, func() bool { return second.a.Load() == 2 && second.b.Load() == 3 && second.other.Load() == 1 }, "the other listener to hear more")
	if first.a.Load() != 1 || first.b.Load() != 2 || first.other.Load() != 0 {
		t.Errorf("a listener that unsubscribed heard more: %d, %d, %d", first.a.Load(), first.b.Load(), first.other.Load())
	}
	stopSecond()
	for key, b := range s.All() {
		if n := len(b.events().subs); n != 0 {
			t.Errorf("%q keeps %d listeners", key, n)
		}
	}
	mustEqual(t, "listeners the set keeps", len(s.listeners), 0)
}

// The same function may listen twice; each subscription ends by itself.
func TestSetSubscribeTwice(t *testing.T) {
	s := newTestSet(t, nil)
	var h heard
	stop := s.Subscribe(h.tell)
	defer s.Subscribe(h.tell)()
	s.Get("a").Reset("", "")
	eventually.True(t, 10*time.Second, func() bool { return h.a.Load() == 2 }, "two calls")
	stop()
	s.Get("a").Reset("", "")
	eventually.True(t, 10*time.Second, func() bool { return h.a.Load() == 3 }, "one more call")
}
