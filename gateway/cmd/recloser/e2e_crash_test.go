//go:build !race

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
)

const (
	crashes   = 6
	crashSeed = 1
	settled   = 200 * time.Millisecond // what was seen so long before a crash outlives it
)

// subject is a thing that operators act on, one after the other. It is always as the
// last act that was acknowledged has left it, or as the one that was under way when
// the gateway was killed wanted it.
type subject struct {
	name    string
	is      string
	wanted  string // by the act under way; "": there is none
	acts    int
	look    func(n *node, name string) string
	propose func(n *node, s *subject, random *rand.Rand) (method, path, body, wanted string)
}

const absent = "absent"

// act does one more, and reports whether the gateway is there.
func (s *subject) act(t *testing.T, n *node, random *rand.Rand) bool {
	s.acts++
	method, path, body, wanted := s.propose(n, s, random)
	if path == "" {
		return false
	}
	s.wanted = wanted
	status, text, err := request(method, n.admin+"/api/v1"+path, body)
	if err != nil {
		return false
	}
	if status/100 != 2 {
		t.Errorf("%s %s %s: %d %s", method, path, body, status, text)
	}
	s.is, s.wanted = wanted, ""
	return true
}

// check compares it with what the gateway knows after a restart.
func (s *subject) check(t *testing.T, n *node) {
	t.Helper()
	got := s.look(n, s.name)
	if got != s.is && (s.wanted == "" || got != s.wanted) {
		t.Errorf("%s is %q; acknowledged was %q, under way %q", s.name, got, s.is, s.wanted)
	}
	s.is, s.wanted = got, ""
}

// marked returns a reason or a name that no act had before.
func (s *subject) marked() string { return fmt.Sprintf("%s-%d", s.name, s.acts) }

func overridden(id string) *subject {
	return &subject{
		name: id, is: absent,
		look: func(n *node, id string) string {
			if o := n.state(id).Override; o != nil {
				return o.State + " " + o.Reason
			}
			return absent
		},
		propose: func(_ *node, s *subject, random *rand.Rand) (method, path, body, wanted string) {
			path = "/dependencies/" + s.name + "/override"
			if s.is != absent && random.IntN(3) == 0 {
				return http.MethodDelete, path + "?reason=done", "", absent
			}
			mode := []string{"isolated", "held-closed"}[random.IntN(2)]
			return http.MethodPut, path, fmt.Sprintf(`{"mode": %q, "for": "1h", "reason": %q}`, mode, s.marked()), mode + " " + s.marked()
		},
	}
}

func addedAtRunTime(id string) *subject {
	return &subject{
		name: id, is: absent,
		look: func(n *node, id string) string {
			var d struct{ Name string }
			if status, _ := n.api(http.MethodGet, "/dependencies/"+id, "", &d); status == http.StatusNotFound {
				return absent
			}
			return d.Name
		},
		propose: func(_ *node, s *subject, random *rand.Rand) (method, path, body, wanted string) {
			switch {
			case s.is == absent:
				return http.MethodPost, "/dependencies", fmt.Sprintf(`{"id": %q, "definition": {"url": "http://127.0.0.1:1", "name": %q}}`, s.name, s.marked()), s.marked()
			case random.IntN(2) == 0:
				return http.MethodDelete, "/dependencies/" + s.name + "?reason=x", "", absent
			}
			return http.MethodPatch, "/dependencies/" + s.name, fmt.Sprintf(`{"definition": {"name": %q}}`, s.marked()), s.marked()
		},
	}
}

// listed is what stands in a list of things with an ID of their own. Its name begins
// with the subject's.
func listed(list, name string, over func(json.RawMessage) bool, create, change string) *subject {
	find := func(admin, name string) (id, as string, err error) {
		_, text, err := request(http.MethodGet, admin+"/api/v1/"+list, "")
		if err != nil {
			return "", "", err
		}
		var all map[string]json.RawMessage
		var items []json.RawMessage
		_ = json.Unmarshal([]byte(text), &all)
		if err := json.Unmarshal(all[list], &items); err != nil {
			return "", "", err
		}
		as = absent
		for _, item := range items {
			var of struct{ ID, Name string }
			if err := json.Unmarshal(item, &of); err != nil {
				return "", "", err
			}
			if strings.HasPrefix(of.Name, name+"-") && !over(item) {
				id, as = of.ID, of.Name
			}
		}
		return id, as, nil
	}
	return &subject{
		name: name, is: absent,
		look: func(n *node, name string) string {
			_, as, err := find(n.admin, name)
			if err != nil {
				n.t.Fatal(err)
			}
			return as
		},
		propose: func(n *node, s *subject, random *rand.Rand) (method, path, body, wanted string) {
			id, _, err := find(n.admin, s.name)
			switch {
			case err != nil:
				return "", "", "", ""
			case s.is == absent:
				return http.MethodPost, "/" + list, fmt.Sprintf(create, s.marked()), s.marked()
			case change != "" && random.IntN(2) == 0:
				return http.MethodPut, "/" + list + "/" + id, fmt.Sprintf(change, s.marked()), s.marked()
			}
			return http.MethodDelete, "/" + list + "/" + id + "?reason=x", "", absent
		},
	}
}

func planned(name string) *subject {
	from := time.Now().Add(24 * time.Hour)
	window := fmt.Sprintf(`{"name": %%q, "dependencies": ["hotel-1"], "from": %q, "to": %q, "reason": "x"}`,
		from.Format(time.RFC3339), from.Add(time.Hour).Format(time.RFC3339))
	over := func(item json.RawMessage) bool { return strings.Contains(string(item), `"next_from":null`) }
	return listed("maintenance", name, over, window, window)
}

func withToken(name string) *subject {
	return listed("tokens", name, func(json.RawMessage) bool { return false }, `{"name": %q, "role": "viewer", "for": "1h"}`, "")
}

// outage is a dependency that begins to be called at a moment, and fails.
type outage struct {
	id    string
	begin time.Duration
	seen  time.Time // first refusal that a client got
	until time.Time // as the API said then
}

// call calls it until it is refused, and notes when that was.
func (o *outage) call(n *node) {
	for {
		a := get(n.calls + "/hotels/" + o.id + "/x")
		switch {
		case a.err != nil:
			return
		case a.status != http.StatusServiceUnavailable:
			continue
		}
		o.seen = time.Now()
		var s dependencyState
		if _, text, err := request(http.MethodGet, n.admin+"/api/v1/dependencies/"+o.id, ""); err == nil && json.Unmarshal([]byte(text), &s) == nil {
			o.until = s.Until
		}
		return
	}
}

// A gateway that is killed at any moment forgets no act that it has acknowledged, and
// no breaker that its callers have seen open: with the time that was left.
func TestKilledAtAnyMoment(t *testing.T) {
	const each = 4 // outages before a crash
	h := newHotels(t, crashes*each+4, ", breaker: { consecutive: 2, spread: off, open_for: 5m, max_open_for: 5m }")
	for _, d := range h.all {
		d.Now(gatewaytest.Answer(http.StatusInternalServerError, ""))
	}
	n := startNode(t, head+h.lines+proxyRoute)
	var subjects []*subject
	for i := range 4 {
		subjects = append(subjects, overridden(fmt.Sprint("hotel-", crashes*each+1+i)))
	}
	for i := range 3 {
		subjects = append(subjects, addedAtRunTime(fmt.Sprint("guest-", i)), planned(fmt.Sprint("works-", i)), withToken(fmt.Sprint("cms-", i)))
	}
	random := rand.New(rand.NewPCG(crashSeed, 0))
	within := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	var outages []*outage
	sure, acts := 0, 0
	for crash := range crashes {
		moment := 300*time.Millisecond + within(500*time.Millisecond)
		var busy sync.WaitGroup
		for _, s := range subjects {
			own := rand.New(rand.NewPCG(random.Uint64(), 0))
			busy.Go(func() {
				for s.act(t, n, own) {
				}
			})
		}
		for i := range each {
			o := &outage{id: fmt.Sprint("hotel-", crash*each+i+1), begin: within(moment)}
			outages = append(outages, o)
			busy.Go(func() {
				<-time.After(o.begin)
				o.call(n)
			})
		}
		<-time.After(moment)
		killed := time.Now()
		n.end(syscall.SIGKILL)
		busy.Wait()
		n.start()
		for _, s := range subjects {
			s.check(t, n)
		}
		for _, o := range outages {
			if o.seen.IsZero() || killed.Sub(o.seen) < settled {
				continue
			}
			sure++
			s := n.state(o.id)
			if s.State != "open" || !o.until.IsZero() && s.Until.Sub(o.until).Abs() > time.Second {
				t.Errorf("crash %d: %s was open until %s, seen %s before, and is %s until %s", crash, o.id, o.until, killed.Sub(o.seen), s.State, s.Until)
			}
			if a := get(n.calls + "/hotels/" + o.id + "/x"); a.status != http.StatusServiceUnavailable {
				t.Errorf("crash %d: %s lets a call pass: %+v", crash, o.id, a)
			}
		}
		outages = slices.DeleteFunc(outages, func(o *outage) bool { return o.seen.IsZero() || killed.Sub(o.seen) < settled })
	}
	for _, s := range subjects {
		acts += s.acts
	}
	if t.Logf("%d acts, %d breakers seen open", acts, sure); acts < 20*crashes || sure < crashes {
		t.Errorf("only %d acts and %d breakers: too few to say anything", acts, sure)
	}
	if strings.Contains(n.stderr.String(), "corrupt") {
		t.Error("the storage was found corrupt")
	}
}
