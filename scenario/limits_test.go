package scenario

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// No file takes all the memory there is.
func TestLimitsOfWhatIsKept(t *testing.T) {
	for content, want := range map[string]string{
		"0s  every 1us: every 300h: check\n20s expect closed\n":                "more than 1000000 things are still to happen",
		"0s  every 1us: reset\n20s expect closed\n":                            "more than 200000 changes of state",
		"0s  every 1us: 1000 at once: update trials=1000\n1s  expect closed\n": "more than 10000 things failed",
		// The bound of what is due later is not one of calls.
		"settings timeout=24h\n0s  every 1us: call with deadline 20h giving up after 10h -> upload 1h then ok in 1h then 1h\n1s expect closed\n": "100000 calls run at once",
	} {
		r := mustRun(t, mustParse(t, content))
		if text := textOf(t, r); !strings.Contains(text, want) || !strings.Contains(text, "every 1us: ") || r.Expectations > 0 {
			t.Errorf("%s gives\n%.1000s\nwant %q of that line", content, text, want)
		}
	}
}

// A call that is over leaves nothing behind for the time that it could have taken.
func TestCallsThatAreOverAreForgotten(t *testing.T) {
	for _, content := range []string{
		"0s call -> ok",
		"0s call with deadline 300h -> ok",
		"0s call giving up after 300h -> ok in 1ms",
		"settings timeout=1h\n0s call -> ok",
		"settings timeout=1h attempt_timeout=1m retry=3\n0s call -> fail; ok",
		"settings timeout=1h bulkhead=1 bulkhead_wait=1m\n0s call -> ok in 1ms",
		"0s call t with deadline 1h -> hang\n1ms withdraw t",
		"0s call t with deadline 1h -> upload 1m then ok in 1h then 1h\n1ms cancel t",
		"settings timeout=1h\n0s call with deadline 300h deaf -> fail in 1ms",
		"0s isolate\n   call with deadline 300h giving up after 200h -> ok",
	} {
		s := mustParse(t, content+"\n1m expect running 0\n")
		pending := -1
		s.steps = append(s.steps, step{line: 1, at: s.steps[len(s.steps)-1].at, act: instant(func(r *run) {
			pending = r.virtual.Pending()
			if ctx := r.last.ctx; ctx != r.base && ctx.Err() == nil {
				t.Errorf("%s: its context is kept by that of all calls", content)
			}
		})})
		if r := mustRun(t, s); !r.Good() || pending != 0 {
			t.Errorf("%s: %d things are still to happen: %s", content, pending, textOf(t, r))
		}
	}
}

// However many lines there are of one moment.
func TestAllEventsAreHeard(t *testing.T) {
	for _, content := range []string{
		"0s mark\n" + strings.Repeat("   isolate\n   release\n", 4900) + "   expect 9800 events\n",
		"0s 9800 times: reset\n   expect 9800 events\n",
		"0s 9800 at once: reset\n   expect 9800 events\n",
	} {
		if r := mustRun(t, mustParse(t, content)); !r.Good() {
			t.Error(textOf(t, r))
		}
	}
}

// Nothing runs on when Run has returned: the breaker's listener has heard everything,
// and a bubble of which a goroutine stays behind is a deadlock.
func TestRunLeavesNothingBehind(t *testing.T) {
	for _, end := range []string{
		"reset",
		"1000 at once: reset",
		"call deaf -> hang",
		strings.Repeat("isolate\n   release\n   ", 4900) + "reset",
	} {
		s := mustParse(t, "0s expect closed\n   "+end+"\n")
		var played *run
		s.steps = slices.Insert(s.steps, 0, step{line: 1, act: instant(func(r *run) { played = r })})
		synctest.Test(t, func(t *testing.T) { mustRun(t, s) })
		if told := played.stats().Seq; uint64(len(played.heard)) != told {
			t.Errorf("%.20s: %d events were heard of %d", end, len(played.heard), told)
		}
	}
}
