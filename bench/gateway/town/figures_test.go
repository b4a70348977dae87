package town

import (
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]int, 100) // 100, 99, ... 1
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, test := range []struct {
		name   string
		values []int
		share  float64
		want   int
	}{
		{"none", nil, 0.5, 0},
		{"one", []int{7}, 0.99, 7},
		{"the middle of three", []int{3, 1, 2}, 0.5, 2},
		{"the lower middle of four", []int{4, 3, 2, 1}, 0.5, 2},
		{"p99 leaves one of a hundred out", hundred, 0.99, 99},
		{"all", hundred, 1, 100},
		{"the least", hundred, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Percentile(test.values, test.share); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// each makes calls every 100 ms, one for each letter: o is ok, r refused fast by
// the gateway, R refused by it after a wait, f failed by the hotel.
func each(letters string) []Call {
	var calls []Call
	for i, letter := range letters {
		c := Call{N: uint64(i), Due: time.Duration(i) * 100 * time.Millisecond, Took: 3 * time.Millisecond}
		switch letter {
		case 'o':
			c.OK = true
		case 'r':
			c.Ours = true
		case 'R':
			c.Ours, c.Took = true, 1500*time.Millisecond
		}
		calls = append(calls, c)
	}
	return calls
}

func TestFirstRefusal(t *testing.T) {
	for _, test := range []struct {
		name, calls string
		want        time.Duration
		ok          bool
	}{
		{"none", "oooofff", 0, false},
		{"one before the fault does not count", "orooooo", 0, false},
		{"one after a wait is not fast", "oooRRRr", 300 * time.Millisecond, true},
		{"an error of the hotel is no refusal", "ooffrr", 100 * time.Millisecond, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := FirstRefusal(each(test.calls), 300*time.Millisecond)
			if got != test.want || ok != test.ok {
				t.Errorf("got %v, %v, want %v, %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestBackToFull(t *testing.T) {
	const nineteen, twenty = "ooooooooooooooooooo", "oooooooooooooooooooo"
	for _, test := range []struct {
		name, calls string
		want        time.Duration
		ok          bool
	}{
		{"at once", "rr" + twenty, 0, true},
		{"those before the recovery do not count", "oo" + nineteen, 0, false},
		{"after three refusals", "rrrrr" + twenty, 300 * time.Millisecond, true},
		{"one that fails begins the count anew", "rr" + nineteen + "f" + twenty, 2 * time.Second, true},
		{"never", "rr" + nineteen + "f" + nineteen, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := BackToFull(each(test.calls), 200*time.Millisecond)
			if got != test.want || ok != test.ok {
				t.Errorf("got %v, %v, want %v, %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	calls := each("oofRRrro")
	if got := Succeeded(calls); got != 3 {
		t.Errorf("%d succeeded, want 3", got)
	}
	if got := Waited(calls, time.Second); got != 2 {
		t.Errorf("%d waited, want 2", got)
	}
	if got := len(Between(calls, 200*time.Millisecond, 500*time.Millisecond)); got != 3 {
		t.Errorf("%d between, want 3: those at 200, 300 and 400 ms", got)
	}
}

func TestPossibleIsWhatTheScriptWouldServe(t *testing.T) {
	calls := each(string(make([]byte, 300))) // 30 s
	for _, test := range []struct {
		name        string
		script      Script
		least, most int
	}{
		{"black hole", BlackHole(), 0, 0},
		{"well", Well(), 300, 300},
		{"flapping: 14 of 30 s", Flapping(4 * time.Second), 140, 140},
		{"30 % errors", Some(0.3), 190, 230},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Possible(calls, test.script, 0); got < test.least || got > test.most {
				t.Errorf("%d, want %d to %d", got, test.least, test.most)
			}
		})
	}
}
