package scenario

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

func mustParse(t testing.TB, content string) *Scenario {
	t.Helper()
	s, err := Parse("x.scenario", []byte(content))
	if err != nil {
		var faults Faults
		errors.As(err, &faults)
		t.Fatal(faults.Detail())
	}
	return s
}

func mustRun(t testing.TB, s *Scenario) *Result {
	t.Helper()
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustBeGood(t testing.TB, content string) {
	t.Helper()
	if r := mustRun(t, mustParse(t, content)); !r.Good() {
		t.Error(textOf(t, r))
	}
}

func textOf(t testing.TB, results ...*Result) string {
	t.Helper()
	var b strings.Builder
	if err := WriteText(&b, results); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden returns the repository's scenarios by name.
func golden(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.scenario")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".scenario")] = string(content)
	}
	if len(all) < 80 {
		t.Errorf("found %d scenarios: the pattern is wrong", len(all))
	}
	return all
}

// The cases that virtual time can show.
func TestGolden(t *testing.T) {
	for name, content := range golden(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustParse(t, content)
			if raceDetector {
				s.most = 20_000 // where it is ten times slower the beginning has to do
			}
			if r := mustRun(t, s); !r.Good() && (!raceDetector || !strings.Contains(textOf(t, r), "things happened")) {
				t.Error(textOf(t, r))
			}
		})
	}
}

// The same file gives the same result each time, whatever is by chance in it.
func TestSameResultEachTime(t *testing.T) {
	const content = `settings slow_call=1s jitter=0.5 seed=7 timeout=2s retry=3 bulkhead=20 bulkhead_wait=100ms cancel_on_trip=true
0s   every 5ms for 30s: call -> 80% ok in 100ms, 10% fail in 20ms, 10% hang
30s  expect calls ?, reached ?, attempts ?, refused ?, good ?, bad ?, succeeded ?, failed ?, slow ?, late ?, events ?
1m   expect event open number=? open_for=? good=? failed=? slow=? at ?
`
	s := mustParse(t, content)
	first := textOf(t, mustRun(t, s))
	for range 3 {
		if again := textOf(t, mustRun(t, s)); again != first {
			t.Fatalf("first\n%s\nand then\n%s", first, again)
		}
	}
	if other := textOf(t, mustRun(t, mustParse(t, strings.Replace(content, "seed=7", "seed=8", 1)))); other == first {
		t.Error("the seed does not matter")
	}
}

func TestOtherSettings(t *testing.T) {
	s := mustParse(t, "settings consecutive=1 clock=exact\n0s call -> fail\n   expect closed\n1s call -> hang\n2s expect got timeout\n")
	r, err := s.With(guard.Config{Breaker: recloser.Config{Consecutive: 7}, Timeout: time.Second}).Run(t.Context())
	if err != nil || !r.Good() {
		t.Errorf("%v: %s", err, textOf(t, r))
	}
	_, err = s.With(guard.Config{Timeout: 48 * time.Hour}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Timeout") {
		t.Errorf("got %v", err)
	}
}

func TestUpdateThatIsRefusedChangesNothing(t *testing.T) {
	s := mustParse(t, "0s update trials=1000\n1s update consecutive=1\n   call -> fail\n   expect open\n")
	if r := mustRun(t, s); len(r.Failures) != 1 || r.Failures[0].Line != 1 {
		t.Errorf("want a failure in line 1 alone, got %s", textOf(t, r))
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := mustParse(t, "0s every 1us: call -> ok\n360h expect closed\n").Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// No file runs for ever.
func TestLimitsOfARun(t *testing.T) {
	for content, want := range map[string]string{
		"0s  1000 times: 1000000 times: 1000 times: check\n1h  expect closed\n":     "more than 200000 things happened",
		"0s  1000 times: 1000000 at once: 1000 at once: reset\n1h  expect closed\n": "more than 200000 things happened",
		"0s  every 1us: check\n8000h expect closed\n":                               "more than 200000 things happened",
		"0s  1000000 at once: call -> hang\n1s  expect closed\n":                    "100000 calls run at once",
		"settings timeout=24h\n0s  every 1us: call -> hang\n8000h expect closed\n":  "100000 calls run at once",
		"0s  every 1us: call deaf -> hang\n8000h expect closed\n":                   "more than 200000 things happened",
		"settings retry=20\n0s  every 1us: call -> fail\n8000h expect closed\n":     "more than 200000 things happened",
	} {
		s := mustParse(t, content)
		s.most = 200_000
		r := mustRun(t, s)
		if text := textOf(t, r); !strings.Contains(text, want) {
			t.Errorf("%s gives\n%s\nwant %q", content, text, want)
		}
		if r.Expectations > 0 {
			t.Errorf("%s: something is still expected of a breaker that saw half of it", content)
		}
	}
}

func TestMismatches(t *testing.T) {
	for _, c := range []struct{ content, want, seen string }{
		{"0s expect open", "open", "closed"},
		{"0s expect automatic open", "automatic open", "closed"},
		{"0s expect refused", "refused", "let through"},
		{"0s expect refused open", "refused open", "let through"},
		{"0s trip for 1s\n   expect refused isolated", "refused isolated", "open"},
		{"0s trip for 1s\n1s expect passes", "passes", "let through as a trial"},
		{"0s expect trial", "trial", "let through"},
		{"0s trip for 1s\n   expect trial", "trial", "refused open"},
		{"0s trip for 1s\n   expect retry after 2s", "retry after 2s", "1s"},
		{"0s expect retry after <= 2s", "retry after <= 2s", "let through"},
		{"0s expect got ok", "got ok", "no call"},
		{"0s call t1 -> hang\n   expect t1 got ok", "t1 got ok", "nothing"},
		{"0s call -> fail\n   expect 7 calls", "calls 7", "1"},
		{"0s call -> fail\n   expect calls ?", "calls ?", "1"},
		{"0s call -> fail\n   expect calls > 1", "calls > 1", "1"},
		{"0s call -> fail\n   expect calls < 1", "calls < 1", "1"},
		{"0s 3 times: call -> fail\n   call -> ok\n   expect good >= 75%", "good >= 75%", "25%"},
		{"0s expect good >= 75%", "good >= 75%", "no calls"},
		{"0s 2 times: call -> fail\n   call -> ok\n   expect window bad=2/2", "bad 2/2", "2/3"},
		{"0s expect event open", "an event to open", "none"},
		{"0s trip for 1s\n   expect event open reason=run", "reason run", "tripped"},
		{"0s trip for 1s\n1s expect event open at 1s", "at 1s", "0s"},
		{"0s trip for 1s\n1s expect open times 1s 2s", "open times 1s 2s", "1s"},
		{"0s trip for 1s\n1s expect open times 2s ...", "open times 2s ...", "1s ..."},
		{"0s trip for 1s\n1s expect open times ?", "open times ?", "1s"},
		{"0s trip for 1s\n1s expect open times 1s 2s ...", "open times 1s 2s ...", "1s ..."},
		{"0s expect open times 1000ms ?", "open times 1000ms ?", "never"},
		{"0s expect explain \"9 of 10\"", `explain "9 of 10"`, `"closed (passing): too few calls to judge (0 of 20); 0 bad in a row, limit 5"`},
		{"0s expect calls 0\n   isolate\n   trip for 1s", "it is done", recloser.ErrIsolated.Error()},
		{"0s call t1 deaf -> hang\n   expect calls 1\n   answer t1", "answer t1", "a call that is deaf, panics or calls runtime.Goexit: only its own line can say how it goes on"},
	} {
		r := mustRun(t, mustParse(t, c.content))
		if len(r.Failures) != 1 || len(r.Failures[0].Mismatches) != 1 {
			t.Errorf("%s\ngives %s", c.content, textOf(t, r))
			continue
		}
		if m := r.Failures[0].Mismatches[0]; m.Want != c.want || m.Seen != c.seen {
			t.Errorf("%s\nwants %q and sees %q; want %q, %q", c.content, m.Want, m.Seen, c.want, c.seen)
		}
	}
}

// What the cases do not show.
func TestActs(t *testing.T) {
	for name, content := range map[string]string{
		"a call is released on a trip, through the guard too": `settings consecutive=1 cancel_on_trip=true timeout=1m
0s  call a -> hang
    call b -> ok in 10ms then 1h
1s  call -> fail
    expect open, a got released, b got nothing
2h  expect b got ok`,
		"without a guard": `settings consecutive=1 cancel_on_trip=true
0s  call a -> hang
    call b -> hang
    call c -> ok in 10ms then 1h
    answer b
1s  call -> fail
    expect open, a got released, b got nothing, c got nothing, running 2`,
		"a retry stops once the breaker is open": `settings consecutive=1 retry=3 backoff=10s budget=off
0s  call t1 -> fail
    trip for 1h
1m  expect t1 got fail, attempts 1`,
		"a trial is one attempt": `settings consecutive=1 retry=3 jitter=off
0s  trip for 1s
1s  call -> fail
1m  expect attempts 1`,
		"who waits for the bulkhead gets in": `settings bulkhead=1 bulkhead_wait=10s
0s  call t1 -> ok in 5s
    call t2 -> ok in 1s then 1s
    call t3 -> ok in 4s
    call t4 -> ok
4s  expect reached 1
11s expect t1 got ok, t2 got ok, t3 got full, t4 got full, good 2`,
		"a call through the guard is ended by hand": `settings timeout=1h
0s  call t1 -> hang
1s  end t1 -> wait 30s
    end t1 -> ok
    expect t1 got wait, refused told-to-wait
    call t2 -> ok
    expect t2 got refused
31s call t3 -> hang
    cancel t3
    expect t3 got cancelled, ignored 1, half-open`,
		"times are one after the other": `0s  3 times: call -> ok in 1s
1500ms expect calls 2, running 1
5s  expect calls 3, good 3`,
		"and repeated": `0s  every 10s for 20s: 3 times: 2 at once: call -> ok in 1s
1m  expect calls 12, most 2`,
		"a time after the line before": `0s   call -> ok in 5s
+5s  expect good 1
+5s  call -> ok`,
		"an exact clock sees a stall": `settings clock=exact slow_call=2s
0s    every 5ms for 30s: call -> ok in 20ms
10s   stall 2500ms
30s   expect slow >= 1`,
		"what is due in a stall happens at its end": `0s  call t1 -> ok in 1s
    stall 10s
    expect t1 got ok
    call -> ok in 1s
    stall 10s
    call -> ok
    expect good 3`,
		"a deadline of a call with a name is one": `settings consecutive=1
0s  call t1 with deadline 5s -> hang
    call t2 with deadline 5s giving up after 2s -> hang
3s  expect t2 got cancelled, ignored 1
5s  expect t1 got deadline, open`,
		"what an operator releases is no trip": `settings consecutive=1 jitter=off
0s  hold
    call -> fail
    release
    expect open, trips 1, events 3`,
		"an exact percentage": `0s  2 times: call -> ok
    call -> fail
    expect good 66.67%`,
		"a mark": `0s  call -> fail
    call -> throttled 1s
    mark
    expect calls 0, failed 0, ignored 0, events 0, window failed=1
    call -> ok
    expect calls 1, good 100%`,
		"held closed for a time": `0s  hold for 5s
    expect held-closed
5s  expect closed, event closed reason=expired`,
		"shares": `settings consecutive=off failure_rate=off
0s  1000 at once: call -> 20% ok, 30% fail, 50% ignore
    expect succeeded >= 150, succeeded <= 250, failed >= 250, failed <= 350, ignored >= 450, ignored <= 550`,
	} {
		t.Run(name, func(t *testing.T) { mustBeGood(t, content) })
	}
}
