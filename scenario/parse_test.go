package scenario

import (
	"errors"
	"strings"
	"testing"
)

func TestFaults(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"", `1:1: nothing happens in this file; write lines such as "0ms call -> fail"`},
		{"# only words\n", "1:1: nothing happens"},
		{"0s call -> ok\n1s check\n# over", "2:1: nothing is expected in this file, so it tests nothing; write a line such as expect closed"},
		{"0s cal -> ok", `1:4: "cal" is not something that can happen; did you mean "call"?`},
		{"call -> ok", `1:1: a line begins with a time, not with "call"; write it like 100ms call -> ok`},
		{"  call -> ok", "1:3: there is no line with a time before this one"},
		{"1 call -> ok", `1:1: "1" is not a time; write the time since the start like 100ms`},
		{"9000h call -> ok", `1:1: "9000h" is not a time`},
		{"2s call -> ok\n1s call -> ok", "2:1: the line before is later, at 2s; put the lines in order"},
		{"0s stall 2s\n1s call -> ok", "2:1: the process stands still until 2s"},
		{"0s every 1s: stall 2s", "1:14: a stall cannot be repeated"},
		{"0s call -> okk", `1:12: "okk" is not an outcome; did you mean "ok"?`},
		{"0s call ->", "1:11: here the line lacks an outcome; known are "},
		{"0s call ok", `1:11: here must be "->"`},
		{"0s call -> ok in 5", `1:18: "5" is not a duration; write one like 300ms`},
		{"0s call -> ok in", "1:17: here the line lacks a duration"},
		{"0s call -> throttled", "1:21: throttled needs a time; write it like throttled 30s"},
		{"0s call -> wait in 5s", "1:17: wait needs a time; write it like wait 30s"},
		{"0s call -> ok in 0s", `1:18: "0s" is not a duration`},
		{"0s call -> ok ok", `1:15: "ok" is too much here`},
		{"0s call -> hang in 5s", "1:12: a call that hangs has no end; write the outcome that it has, such as fail in 30s"},
		{"0s call -> 50% ok, 40% fail", "1:12: the shares add up to 90%; they must add up to 100%"},
		{"0s call -> 50% ok, fail", `1:20: "fail" is not a share; write it like 90%`},
		{"0s call t1 t2 -> ok", `1:12: "t2" is not something said of a call; known are `},
		{"0s 5 times: call t1 -> ok", "1:18: a call that is repeated cannot have a name"},
		{"0s call open -> ok", `1:9: "open" cannot be the name of a call; use letters`},
		{"0s call 1st -> ok", `1:9: "1st" cannot be the name of a call; use letters`},
		{"0s 5 tmes: check", `1:6: "tmes" is not how often it happens; did you mean "times"?`},
		{"0s 0 times: check", `1:4: "0" is not a number from 1 to 1000000`},
		{"0s every 1ns: check", "1:4: that is more than a million times a second"},
		{"0s 2 times: 2 times: 2 times: 2 times: check", "1:31: too many repetitions in each other"},
		{"0s call t1 -> hang\n   end t2 -> ok", `2:8: "t2" is not the name of a call made before; did you mean "t1"?`},
		{"0s call t1 -> hang\n   end t1 -> ok in 5s", "2:4: a call that is ended ends now"},
		{"0s expect opne", `1:11: "opne" is not something that can be expected; did you mean "open"?`},
		{"0s expect open,", "1:16: here the line lacks something that can be expected"},
		{"0s expect got rejected", `1:15: "rejected" is not what a caller can get; known are budget`},
		{"0s expect got oky", `1:15: "oky" is not what a caller can get; did you mean "ok"?`},
		{"0s expect automatic opne", `1:21: "opne" is not a state; did you mean "open"?`},
		{"0s expect not open", "1:11: there is no negation; expect what must be instead"},
		{"0s expect reach 5", `1:11: "reach" is not something that can be expected; did you mean "reached"?`},
		{"0s expect xyz", `1:11: "xyz" is not something that can be expected; known are attempts, automatic, bad, calls, closed, event, events, explain, failed, good, got, half-open, held-closed, ignored, in_flight, isolated, late, most, open, overdue, passes, ramp, reached, refused, retry, running, slow, step, succeeded, suspects, trial, trials, trips, window`},
		{"0s expect refused opn", `1:19: "opn" is not a reason to refuse; did you mean "open"?`},
		{"0s expect reached <= many", `1:22: "many" is not a number`},
		{"0s expect trips", "1:16: here the line lacks a number"},
		{"0s expect trips => 3", `1:17: "=>" compares nothing; did you mean ">="?`},
		{"0s expect refused ≤3", `1:19: "≤" compares nothing; did you mean "<="?`},
		{"0s expect got == ok", `1:15: "==" compares nothing; did you mean "="?`},
		{"0s isolate 10s", `1:12: "10s" is too much here; for how long is written like isolate for 10s`},
		{"0s expect window bad=5", `1:22: "5" is not bad calls of judged ones; write it like 9/10`},
		{"0s expect window", "1:17: here the line lacks a part of window; known are bad, failed, good"},
		{"0s expect event open reson=run", `1:22: "reson" is not a part of event; did you mean "reason"?`},
		{"0s expect event open reason=rum", `1:29: "rum" is not a reason; did you mean "run"?`},
		{"0s expect explain 9", "1:19: here must be a text in quotes"},
		{"0s expect explain \"9", "1:19: the text has no end"},
		{"0s expect open times", "1:21: here must be durations"},
		{"settings consecutve=1\n0s check", `1:10: "consecutve" is not a setting; did you mean "consecutive"?`},
		{"settings consecutive=0\n0s check", `1:22: consecutive is a whole number of at least 1, not "0"`},
		{"settings window=off\n0s check", `1:17: window cannot be off, not "off"`},
		{"settings jitter=0.9\n0s check", "1:17: jitter 0.9 must be above 0 and at most 0.5, or off"},
		{"settings open_for=1m max_open_for=5s\n0s check", "1:35: max_open_for 5s must be at least open_for (1m)"},
		{"settings timeout=1s attempt_timeout=2s\n0s check", "1:37: attempt_timeout 2s must be at most timeout (1s)"},
		{"settings consecutive=1\nsettings consecutive=2\n0s check", "2:10: consecutive was set in line 1"},
		{"0s check\nsettings consecutive=1", "2:10: settings are for the whole scenario, and stand before its first line with a time; change them later with update"},
		{"0s update timeout=1s", `1:11: "timeout" is not a setting`},
		{"0s update", "1:10: here the line lacks a setting"},
		{"0s wall clock 5", `1:15: "5" is not how far the clock is set; write it like +1h or -90s`},
		{"0s check # größe\n0s call größe -> ók", `2:18: "ók" is not an outcome; did you mean "ok"?`},
		{"0s check\n\xff", "2:1: the line is not UTF-8 text"},
		{strings.Repeat("# x\n", maxLines+1), "1:1: the file is longer than 10000 lines or 1 MiB"},
	} {
		_, err := Parse("x.scenario", []byte(c.content))
		var faults Faults
		if !errors.As(err, &faults) || !strings.HasPrefix(faults[0].Error(), "x.scenario:"+c.want) {
			t.Errorf("%.60q gives\n%v\nwant\nx.scenario:%s", c.content, err, c.want)
		}
	}
}

// All faults of a file are told at once, and where they are.
func TestAllFaultsAtOnce(t *testing.T) {
	_, err := Parse("x.scenario", []byte("settings consecutve=1\n0s\tcal -> ok\n   expect opne\n1s call -> ok\n"))
	var faults Faults
	errors.As(err, &faults)
	const want = `x.scenario:1:10: "consecutve" is not a setting; did you mean "consecutive"?
    settings consecutve=1
             ^
x.scenario:2:4: "cal" is not something that can happen; did you mean "call"?
    0s	cal -> ok
      	^
x.scenario:3:11: "opne" is not something that can be expected; did you mean "open"?
       expect opne
              ^`
	if got := faults.Detail(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	many, _ := Parse("x.scenario", []byte(strings.Repeat("x\n", 60)))
	_, err = Parse("x.scenario", []byte(strings.Repeat("x\n", 60)))
	if many != nil || !strings.HasSuffix(err.Error(), "\nand 10 more") {
		t.Error(err)
	}
}

// One thing that is wrong does not hide the next, where they have nothing to do
// with each other, and is not taken for right further down.
func TestFaultsAfterOthers(t *testing.T) {
	for content, want := range map[string]string{
		"settings slowcall=2s jiter=off failure_rate=50 consecutive 5 trials=2\n0s expect closed": `x.scenario:1:10: "slowcall" is not a setting; did you mean "slow_call"?
x.scenario:1:22: "jiter" is not a setting; did you mean "jitter"?
x.scenario:1:45: failure_rate 50 must be above 0 (at least a millionth) and at most 1, or off
x.scenario:1:60: here must be "="`,
		"0s call - > ok\n   end t1 -> ok": `x.scenario:1:9: "-" cannot be the name of a call; use letters and digits that are no word of expectations, such as t1
x.scenario:2:8: "t1" is not the name of a call made before; there are none`,
	} {
		if _, err := Parse("x.scenario", []byte(content)); err == nil || err.Error() != want {
			t.Errorf("%s\ngives\n%v\nwant\n%s", content, err, want)
		}
	}
}

func TestWaysToWrite(t *testing.T) {
	for _, content := range []string{
		"\ufeff0s check\r\n1s check\r\n   expect closed\r\n",
		"settings consecutive=1\n   jitter=off # goes on\n\n   trials=1\n0s expect closed",
		"0s call->ok\n  expect good>=1,bad<1 , 1 call",
		"0 expect closed",
		"0s call a->ok;fail;ok\n expect closed",
	} {
		mustParse(t, content)
	}
}
