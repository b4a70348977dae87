package storetest

import (
	"strconv"
	"sync"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func elections() []testCase {
	return []testCase{
		{name: "OneHolderOf50", run: oneHolder},
		{name: "HolderStays", run: holderStays},
		{name: "HolderRunsOut", run: holderRunsOut},
		{name: "HolderGivesUp", run: holderGivesUp},
	}
}

// elect stands for a role, and checks who holds it then.
func (t *test) elect(s fleet.Store, role, node string, ttl time.Duration, want string) {
	t.Helper()
	if got, err := s.Elect(t.ctx(), role, node, ttl); err != nil || got != want {
		t.Fatalf("%q stands for %q: %q, %v; want %q to hold it", node, role, got, err, want)
	}
}

func oneHolder(t *test) {
	const n = 50
	all := t.clients(10)
	for _, role := range []string{"a", "b"} {
		var holders [n]string
		var errs [n]error
		var group sync.WaitGroup
		start := make(chan struct{})
		for i := range n {
			group.Go(func() {
				<-start
				holders[i], errs[i] = all[i%len(all)].Elect(t.ctx(), role, "node-"+strconv.Itoa(i), time.Minute)
			})
		}
		close(start)
		group.Wait()
		for i := range n {
			if errs[i] != nil || holders[i] == "" || holders[i] != holders[0] {
				t.Fatalf("role %s: %d says that %q holds it, %v; 0 says %q", role, i, holders[i], errs[i], holders[0])
			}
		}
	}
}

func holderStays(t *test) {
	const ttl = 200 * time.Millisecond
	s, other := t.client(), t.client()
	t.elect(other, "apart", "b", time.Hour, "b")
	var done between
	for range 4 {
		done = during(func() { t.elect(s, "r", "a", ttl, "a") })
		pass(ttl / 3)
	}
	// Others ask to no avail, and do not make it longer.
	t.runsOut(other, "a", "b", done, ttl)
	t.elect(s, "r", "a", time.Hour, "b")
	t.elect(s, "apart", "a", time.Hour, "b")
}

func holderRunsOut(t *test) {
	const ttl = 100 * time.Millisecond
	s, other := t.client(), t.client()
	done := during(func() { t.elect(s, "r", "a", ttl, "a") })
	t.runsOut(other, "a", "b", done, ttl)

	// The later of two counts: the holder may make it shorter, too.
	t.elect(other, "r", "b", time.Hour, "b")
	done = during(func() { t.elect(other, "r", "b", ttl, "b") })
	t.runsOut(s, "b", "a", done, ttl)
}

// runsOut waits until next gets the role r that holder left.
func (t *test) runsOut(s fleet.Store, holder, next string, done between, ttl time.Duration) {
	t.Helper()
	t.vanishes("the hold on the role", done, ttl, func() bool {
		got, err := s.Elect(t.ctx(), "r", next, time.Hour)
		if err != nil || got != holder && got != next {
			t.Fatalf("%q stands for a role that %q had: %q, %v", next, holder, got, err)
		}
		return got == holder
	})
}

func holderGivesUp(t *test) {
	s, other := t.client(), t.client()
	t.elect(s, "r", "a", 0, "") // nobody held it
	t.elect(s, "r", "a", time.Hour, "a")
	t.elect(other, "r", "b", 0, "a") // what is not his he cannot give up
	t.elect(other, "r", "b", time.Hour, "a")
	t.elect(other, "r", "a", 0, "")
	t.elect(other, "r", "b", time.Hour, "b")
	t.elect(s, "r", "a", 0, "b")
}
