package storetest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// A mutant is a store with one fault, and the test that must find it.
type mutant struct {
	name  string
	found string
	alter func(*altered) // each client
	serve func(*server, *Harness)
}

// mutants are in the files that the tests they are for are in, as it were.
func mutants() []mutant {
	return slices.Concat(documentMutants(), nameMutants(), watchMutants(), rowMutants(), leaseMutants(), electionMutants(), faultMutants(), closeMutants())
}

// A mutated run is this program once more, as a test that fails cannot be run inside
// of one that passes. Most of it is waiting, so several run at once.
const (
	mutantEnv = "STORETEST_MUTANT"
	atOnce    = 8
	tries     = 10
)

func TestMutants(t *testing.T) {
	if name := os.Getenv(mutantEnv); name != "" {
		i := slices.IndexFunc(mutants(), func(m mutant) bool { return m.name == name })
		Run(t, mutants()[i].harness)
		return
	}
	without := map[string]bool{}
	for _, c := range cases() {
		without[c.name] = true
	}
	type result struct {
		out []byte
		err error
	}
	results := map[string]chan result{}
	room := make(chan struct{}, atOnce)
	for _, m := range mutants() {
		done := make(chan result, 1)
		results[m.name] = done
		go func() {
			room <- struct{}{}
			defer func() { <-room }()
			var r result
			for try := 0; try < tries && r.err == nil; try++ { // some need that two meet
				run := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestMutants$/^"+m.found+"$", "-test.timeout", "60s")
				run.Env = append(os.Environ(), mutantEnv+"="+m.name)
				r.out, r.err = run.CombinedOutput()
			}
			done <- r
		}()
	}
	for _, m := range mutants() {
		delete(without, m.found)
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			r := <-results[m.name]
			if r.err == nil || !strings.Contains(string(r.out), "--- FAIL: TestMutants/"+m.found) || strings.Contains(string(r.out), "panic:") {
				t.Errorf("%s does not find it: %v\n%s", m.found, r.err, r.out)
			}
		})
	}
	for name := range without {
		t.Errorf("no mutant shows that %s can fail", name)
	}
}

func (m *mutant) harness(*testing.T) Harness {
	server := newServer()
	h := server.harness()
	h.Patience = 500 * time.Millisecond
	if m.serve != nil {
		m.serve(server, &h)
	}
	if m.alter != nil {
		h.New, h.Quiet = altering(h.New, m.alter), altering(h.Quiet, m.alter)
	}
	return h
}

func altering(open func(testing.TB, string) fleet.Store, change func(*altered)) func(testing.TB, string) fleet.Store {
	return func(t testing.TB, prefix string) fleet.Store { return alter(open(t, prefix), change) }
}

// What a harness cannot do it must say, and what it can it must not deny.
func TestHarnessSaysWhatItLacks(t *testing.T) {
	for i, c := range []struct {
		harness func(*Harness)
		fails   bool
	}{
		{func(h *Harness) { h.Flush = nil }, true},
		{func(h *Harness) { h.Flush = nil; h.Missing = map[string]string{"Flush": "why"} }, false},
		{func(h *Harness) { h.Missing = map[string]string{"Flush": "why"} }, true},
		{func(h *Harness) { h.Resume = nil; h.Missing = map[string]string{"Pause": "why"} }, false},
		{func(h *Harness) { h.Resume = nil }, true},
		{func(h *Harness) { h.Missing = map[string]string{"Flash": "why"} }, true},
	} {
		h := newServer().harness()
		c.harness(&h)
		if err := h.check(); (err != nil) != c.fails {
			t.Errorf("harness %d: %v", i, err)
		} else if err != nil {
			t.Log(fmt.Sprint(err))
		}
	}
}
