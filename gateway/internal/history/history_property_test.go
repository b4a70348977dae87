package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// model is a history that never loses anything, done the naive way.
type model struct {
	overrides map[string]Override
	tokens    map[string]Token
	breakers  map[string]BreakerSave
	acts      []string // results
	events    []int64
}

func newModel() *model {
	return &model{overrides: map[string]Override{}, tokens: map[string]Token{}, breakers: map[string]BreakerSave{}}
}

// step draws an act, number n, and does it to the model.
func (m *model) step(random *rand.Rand, n int) (Act, []Change) {
	a := Act{Name: "act", Result: fmt.Sprint(n)}
	m.acts = append(m.acts, a.Result)
	var changes []Change
	for range random.IntN(4) {
		id := string(rune('a' + random.IntN(5)))
		switch random.IntN(6) {
		case 0:
			o := isolated(id)
			o.Reason = a.Result
			m.overrides[id] = o
			changes = append(changes, SetOverride(o))
		case 1:
			delete(m.overrides, id)
			changes = append(changes, ClearOverride(id))
		case 2:
			t := Token{ID: id, Name: a.Result, Hash: []byte{byte(n)}}
			m.tokens[id] = t
			changes = append(changes, PutToken(t))
		case 3:
			delete(m.tokens, id)
			changes = append(changes, DeleteToken(id))
		case 4:
			s := BreakerSave{ID: id, Saved: recloser.Saved{Step: n}}
			m.breakers[id] = s
			changes = append(changes, SaveBreaker(id, s.Saved))
		case 5: // and what belongs to it; what comes later in the same act stays
			delete(m.overrides, id)
			delete(m.breakers, id)
			changes = append(changes, DeleteDependency(id))
		}
	}
	return a, changes
}

// compare reports every difference between a history and its model.
func (m *model) compare(t *testing.T, h *History) {
	t.Helper()
	got := inForce(t, h)
	want := what{Overrides: sorted(m.overrides), Tokens: sorted(m.tokens), Breakers: sorted(m.breakers)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("in force:\n%+v, want\n%+v", got, want)
	}
	acts, err := h.Acts(t.Context(), ActQuery{After: 1, Limit: most})
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, a := range acts {
		results = append(results, a.Result)
	}
	if !slices.Equal(results, m.acts) {
		t.Errorf("acts %v, want %v", results, m.acts)
	}
	events, err := h.Events(t.Context(), EventQuery{Kind: KindProbe, After: 1, Limit: most})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	if !slices.Equal(ids, m.events) {
		t.Errorf("events %v, want %v", ids, m.events)
	}
}

func sorted[T any](m map[string]T) (all []T) {
	for _, id := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[id])
	}
	return all
}

func quick(o *Options) { o.look = 2 * time.Millisecond }

func TestPropertyLikeTheModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			path := inFolder(t)
			m, h := newModel(), openOn(t, path, quick)
			for n := range 50 {
				switch random.IntN(12) {
				case 0:
					h.tryNow()
					onDiskIs(t, h, true)
					closed(t, h)
					h = openOn(t, path, quick)
				case 1: // the disk goes
					h.mu.Lock()
					b := h.disk
					h.mu.Unlock()
					h.fall(b, errNoDisk)
				case 2: // and comes back
					h.tryNow()
					onDiskIs(t, h, true)
				case 3:
					if !h.Status().OnDisk {
						break // an id may be that of an act in memory
					}
					cli := Open(Options{Path: path, Beside: true, Now: func() time.Time { return time.Now().Add(time.Hour) }})
					a, changes := m.step(random, n)
					commit(t, cli, a, changes...)
					closed(t, cli)
					closed(t, h) // so that it is known
					h = openOn(t, path, quick)
				case 4, 5:
					m.events = append(m.events, h.Record(Event{Kind: KindProbe}))
				default:
					a, changes := m.step(random, n)
					commit(t, h, a, changes...)
				}
				m.compare(t, h)
				if t.Failed() {
					t.Fatalf("after step %d", n)
				}
			}
			h.tryNow()
			onDiskIs(t, h, true)
			closed(t, h)
			mustBeIntact(t, path)
			m.compare(t, openOn(t, path, quick))
		})
	}
}
