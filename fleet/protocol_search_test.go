//go:build !race

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/recloser-go/recloser"
)

// world is all there is at a moment: the numbers of a vault and of three stations,
// which are in order, as it does not matter which is which.
type world struct {
	vault         int32
	nodes         [3]int32
	crashes, lost uint8
}

// search goes through all worlds that can come about, those first that take the
// fewest steps.
type search struct {
	*actor
	vaults   numbered[vault]
	stations numbered[station]
	next     map[[2]int32][]step // by station and vault

	worlds []world
	number map[world]int32
	from   []int32 // the world before
	how    []string
	healed [][]int32 // worlds that lead here by what can be expected

	most, mostLater int
	first           map[string]int32 // the world that shows a sign
	until           string           // the sign after which to look no further
	found           bool
}

// step is an outcome by its numbers.
type step struct {
	outcome
	stationNo, vaultNo int32
}

// numbered gives things numbers.
type numbered[T comparable] struct {
	all []T
	of  map[T]int32
}

func (n *numbered[T]) number(x T) int32 {
	i, there := n.of[x]
	if !there {
		if n.of == nil {
			n.of = map[T]int32{}
		}
		i = int32(len(n.all))
		n.of[x], n.all = i, append(n.all, x)
	}
	return i
}

func newSearch(t *testing.T, l limits, b bent) *search {
	t.Helper()
	return &search{actor: newActor(t, l, b), next: map[[2]int32][]step{}, number: map[world]int32{}, first: map[string]int32{}}
}

func (s *search) run() {
	first := s.stations.number(station{})
	s.reach(world{vault: s.vaults.number(vault{}), nodes: [3]int32{first, first, first}}, -1, "", false)
	for i := int32(0); int(i) < len(s.worlds) && !s.found; i++ {
		s.count(i)
		s.nodesMove(i)
		s.storeMoves(i)
	}
	if !s.found {
		s.findStuck()
	}
}

// reach takes in that a world follows another.
func (s *search) reach(w world, from int32, how string, heals bool) int32 {
	slices.Sort(w.nodes[:])
	i, there := s.number[w]
	if !there {
		i = int32(len(s.worlds))
		s.number[w], s.worlds = i, append(s.worlds, w)
		s.from, s.how, s.healed = append(s.from, from), append(s.how, how), append(s.healed, nil)
	}
	if heals {
		s.healed[i] = append(s.healed[i], from)
	}
	return i
}

func (s *search) sign(name string, w int32) {
	if _, there := s.first[name]; !there {
		s.first[name] = w
	}
	s.found = s.found || name == s.until
}

// steps returns what a node may do next.
func (s *search) steps(station, vault int32) []step {
	key := [2]int32{station, vault}
	steps, there := s.next[key]
	if !there {
		for _, o := range s.moves(s.stations.all[station], s.vaults.all[vault]) {
			steps = append(steps, step{o, s.stations.number(o.station), s.vaults.number(o.vault)})
		}
		s.next[key] = steps
	}
	return steps
}

func (s *search) nodesMove(i int32) {
	w := s.worlds[i]
	running := s.running(w)
	for k, node := range w.nodes {
		if k > 0 && node == w.nodes[k-1] {
			continue // it would do the same
		}
		for _, step := range s.steps(node, w.vault) {
			if step.crash && w.crashes == s.crashes || step.lost && w.lost == s.lost || step.quiet && running > 0 && s.slots > 1 {
				continue
			}
			to := w
			to.vault, to.nodes[k] = step.vaultNo, step.stationNo
			if step.crash {
				to.crashes++
			}
			if step.lost {
				to.lost++
			}
			j := s.reach(to, i, fmt.Sprintf("node %d %s", k, step.what), step.heals)
			if step.sign != "" {
				s.sign(step.sign, j)
			}
			if !step.crash {
				s.compare(w, to, j)
			}
		}
	}
}

func (s *search) storeMoves(i int32) {
	w := s.worlds[i]
	v := s.vaults.all[w.vault]
	become := func(next vault, how string, heals bool) {
		to := w
		to.vault = s.vaults.number(next)
		s.reach(to, i, how, heals)
	}
	for k, token := range v.leases {
		if token == 0 || s.endless || s.runs(w, token) && !s.hasty {
			continue
		}
		next := v
		next.runOut(k)
		become(next, "a lease runs out", true)
	}
	if v.forgot {
		return
	}
	next := v
	next.forgot, next.before = true, content{}
	if s.flush && v.doc.rev != (pin{}) {
		next.content = content{}
		become(next, "the store is emptied", false)
	}
	if s.failover {
		next.content = v.before
		become(next, "a failover loses the last write", false)
	}
}

// runs reports whether the trial with a token runs on a node that has not given it up.
func (s *search) runs(w world, token uint8) bool {
	for _, n := range w.nodes {
		if indexOf(s.stations.all[n].calls, token) >= 0 {
			return true
		}
	}
	return false
}

func (s *search) running(w world) (n int) {
	for _, i := range w.nodes {
		for _, token := range s.stations.all[i].calls {
			if token != 0 {
				n++
			}
		}
	}
	return n
}

// count looks how many trials run.
func (s *search) count(i int32) {
	n := s.running(s.worlds[i])
	if s.vaults.all[s.worlds[i].vault].forgot {
		s.mostLater = max(s.mostLater, n)
	} else if s.most = max(s.most, n); n > int(s.slots) {
		s.sign("trials at once", i)
	}
}

// compare looks whether it was forgotten that the dependency is bad, although no trial
// was good.
func (s *search) compare(was, is world, i int32) {
	if s.known(was) && !s.known(is) && s.vaults.all[was.vault].answered == s.vaults.all[is.vault].answered {
		s.sign("silently closed", i)
	}
}

// known reports whether anybody has a version that is not closed, and later than the
// last that good trials closed.
func (s *search) known(w world) bool {
	v := s.vaults.all[w.vault]
	later := func(p paper) bool { return p.rev.id > v.answered && p.state != recloser.Closed }
	known := later(v.doc)
	for _, n := range w.nodes {
		known = known || later(s.stations.all[n].held)
	}
	return known
}

// healthy reports whether all is closed and everybody knows.
func (s *search) healthy(w world) bool {
	v := s.vaults.all[w.vault]
	for _, i := range w.nodes {
		n := s.stations.all[i]
		if n.away || n.write.there || n.held.rev != v.doc.rev {
			return false
		}
	}
	return v.doc.state == recloser.Closed
}

// findStuck finds a world from which nothing that can be expected leads to a healthy one,
// although there may still be a lease to learn of a failure, and a round of good trials.
func (s *search) findStuck() {
	heals := make([]bool, len(s.worlds))
	var next []int32
	for i, w := range s.worlds {
		if s.healthy(w) {
			heals[i], next = true, append(next, int32(i))
		}
	}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		for _, from := range s.healed[i] {
			if !heals[from] {
				heals[from], next = true, append(next, from)
			}
		}
	}
	for i, w := range s.worlds {
		if !heals[i] && s.vaults.all[w.vault].tokens+1+s.slots <= s.tokens {
			s.sign("stuck", int32(i))
		}
	}
}

// trace tells how a world came about.
func (s *search) trace(i int32) string {
	var lines []string
	for ; i >= 0; i = s.from[i] {
		w := s.worlds[i]
		line := fmt.Sprintf("%s\n\tstore  %s", s.how[i], s.vaults.all[w.vault])
		for k, n := range w.nodes {
			line += fmt.Sprintf("\n\tnode %d %s", k, s.stations.all[n])
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}
