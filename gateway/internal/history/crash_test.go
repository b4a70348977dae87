package history

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// victim is the environment variable that makes this test's program one that
// acts until it is killed; it holds the file.
const victim = "RECLOSER_HISTORY_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victim); path != "" {
		os.Exit(actUntilKilled(path))
	}
	os.Exit(m.Run())
}

// actUntilKilled does the acts that the model's steps are, and says of each when
// it is done.
func actUntilKilled(path string) int {
	h := Open(Options{Path: path})
	acts, err := h.Acts(context.Background(), ActQuery{Limit: most})
	if err != nil || !h.Status().OnDisk {
		fmt.Println("cannot begin:", h.Status(), err)
		return 1
	}
	m := newModel()
	for n := 0; ; n++ {
		a, changes := m.step(rand.New(rand.NewPCG(uint64(n), 2)), n)
		if n < len(acts) {
			continue // done before
		}
		h.Record(Event{Kind: KindTransition, Step: n})
		if err := h.Commit(context.Background(), a, changes...); err != nil {
			fmt.Println("act", n, err)
			return 1
		}
		if !h.Status().OnDisk {
			fmt.Println("not on disk:", h.Status())
			return 1
		}
		fmt.Println(n)
	}
}

// Whatever was acknowledged is there after kill -9 at any moment, and of the act
// that ran then all or nothing.
func TestCrashLosesNothingAcknowledged(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	path := inFolder(t)
	acknowledged := -1
	for round := range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), victim+"="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for range 1 + random.IntN(40) {
			if !lines.Scan() {
				break
			}
			acknowledged = number(t, lines.Text(), acknowledged+1)
		}
		<-time.After(time.Duration(random.IntN(5000)) * time.Microsecond) // any moment of an act
		must(t, cmd.Process.Kill())
		for lines.Scan() {
			acknowledged = number(t, lines.Text(), acknowledged+1)
		}
		_ = cmd.Wait() // killed

		h := openOn(t, path)
		if s := h.Status(); !s.OnDisk {
			t.Fatalf("round %d: %+v", round, s)
		}
		acts, err := h.Acts(t.Context(), ActQuery{Limit: most})
		must(t, err)
		if n := len(acts) - 1; n < acknowledged || n > acknowledged+1 {
			t.Fatalf("round %d: act %d was acknowledged, %d is the last one", round, acknowledged, n)
		}
		acknowledged = len(acts) - 1 // the one that ran may be done
		m := newModel()
		for n := range acts {
			m.step(rand.New(rand.NewPCG(uint64(n), 2)), n)
		}
		got, want := inForce(t, h), what{Overrides: sorted(m.overrides), Tokens: sorted(m.tokens), Breakers: sorted(m.breakers)}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("round %d: in force\n%v, want\n%v", round, got, want)
		}
		closed(t, h)
		mustBeIntact(t, path)
	}
	if acknowledged < 8 {
		t.Errorf("only %d acts: this shows nothing", acknowledged)
	}
}

func number(t *testing.T, line string, want int) int {
	t.Helper()
	n, err := strconv.Atoi(line)
	if err != nil || n != want {
		t.Fatalf("the program says %q, want %d", line, want)
	}
	return n
}
