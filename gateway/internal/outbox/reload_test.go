package outbox

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/channel"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// What waits goes out by the new settings, and does not wait any longer for the old.
func TestReloadMendsAnAddress(t *testing.T) {
	for name, fault := range map[string]error{
		"a wrong address": &channel.SendError{Text: "answered 404", Address: true},
		"a long wait":     waits(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrong, right := &hook{answer: answers(fault)}, &hook{}
				r := start(t, Channel{Name: "ops", Channel: wrong})
				r.tell("ops", news(message.Started, "a"))
				pass(5 * time.Second)
				r.Reload([]Channel{{Name: "ops", Channel: right}})
				begin := time.Now()
				pass(5 * time.Second)
				r.end(t, time.Minute)
				want(t, right.seen(), "a is cut off")
				if took := right.at[0].Sub(begin); took > pace {
					t.Errorf("sent after %v", took)
				}
				want(t, r.results(), "ops: a is cut off accepted")
			})
		})
	}
}

// other is another channel that sends to the same hook.
type other struct{ *hook }

// A reload is no way past the second between two messages.
func TestReloadKeepsThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{}
		r := start(t, Channel{Name: "ops", Channel: h})
		for i, k := range []message.Kind{message.Started, message.Ended, message.Isolated} {
			r.tell("ops", news(k, string(rune('a'+i))))
		}
		for range 30 {
			pass(100 * time.Millisecond)
			r.Reload([]Channel{{Name: "ops", Channel: &other{h}}})
		}
		r.end(t, time.Minute)
		for i := range 2 {
			if gap := h.gap(i+1, i+2); gap < pace || gap > 2*pace {
				t.Errorf("gap %d is %v", i, gap)
			}
		}
	})
}

func TestReloadAddsAndRemoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, other, fresh := &hook{answer: answers(down)}, &hook{}, &hook{}
		r := start(t, Channel{Name: "old", Channel: old}, Channel{Name: "other", Channel: other})
		m := news(message.Started, "a")
		r.Push([]Letter{{"old", m}, {"other", m}})
		pass(2 * time.Second)
		r.Reload([]Channel{{Name: "other", Channel: other}, {Name: "new", Channel: fresh}})
		tries := len(old.seen())
		m = news(message.Started, "b")
		r.Push([]Letter{{"old", m}, {"other", m}, {"new", m}})
		pass(time.Hour)
		want(t, r.results(), "old: a is cut off given up", "other: a is cut off accepted", "other: b is cut off accepted", "new: b is cut off accepted")
		if d := r.Deliveries("old", "", 1)[0]; d.Why != noChannel || d.Done.IsZero() {
			t.Errorf("%+v", d)
		}
		if len(old.seen()) != tries {
			t.Errorf("tried %d times more", len(old.seen())-tries)
		}
		if !strings.Contains(r.log.String(), noChannel) {
			t.Errorf("log:\n%s", r.log.String())
		}
		if d := r.Now(t.Context(), Letter{"old", news(message.Test)}); d.Result != Refused || d.Why != noChannel {
			t.Errorf("%+v", d)
		}
		r.end(t, time.Minute)
	})
}

// What is on its way during the reload is neither lost nor told twice.
func TestReloadDuringATry(t *testing.T) {
	for name, c := range map[string]struct {
		answer   error
		comeBack bool // the channel is there again before the try ends
		result   string
		again    int // how often the channel that came back sent it
	}{
		"gone, and accepted":       {nil, false, "ops: a is cut off accepted", 0},
		"gone, and not accepted":   {down, false, "ops: a is cut off given up", 0},
		"came back, accepted":      {nil, true, "ops: a is cut off accepted", 0},
		"came back, not accepted":  {down, true, "ops: a is cut off accepted", 1},
		"came back, then it hangs": {context.DeadlineExceeded, true, "ops: a is cut off accepted", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := &hook{answer: func(context.Context, int) error {
					pass(5 * time.Second)
					return c.answer
				}}
				second := &hook{}
				r := start(t, Channel{Name: "ops", Channel: first})
				r.tell("ops", news(message.Started, "a"))
				pass(time.Second)
				r.Reload(nil)
				if c.comeBack {
					pass(time.Second)
					r.Reload([]Channel{{Name: "ops", Channel: second}})
					pass(time.Second)
					if len(second.seen()) > 0 {
						t.Error("sent twice at once")
					}
				}
				pass(time.Minute)
				r.end(t, time.Minute)
				want(t, r.results(), c.result)
				if len(first.seen()) != 1 || len(second.seen()) != c.again {
					t.Errorf("sent %d and %d times", len(first.seen()), len(second.seen()))
				}
			})
		})
	}
}

// What was overtaken during the try is not sent by the channel that came back, nor is it
// said to be given up.
func TestReloadDuringATryThatIsOvertaken(t *testing.T) {
	for name, comeBack := range map[string]bool{"gone": false, "came back": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := &hook{answer: func(context.Context, int) error {
					pass(5 * time.Second)
					return down
				}}
				second := &hook{}
				r := start(t, Channel{Name: "ops", Channel: first})
				r.tell("ops", news(message.Started, "a"))
				pass(time.Second)
				r.tell("ops", news(message.Ended, "a"))
				r.Reload(nil)
				sent, newer := []string(nil), "ops: a is back given up"
				if comeBack {
					r.Reload([]Channel{{Name: "ops", Channel: second}})
					r.tell("ops", news(message.Ended, "a"))
					sent, newer = []string{"a is back"}, "ops: a is back accepted"
				}
				pass(time.Minute)
				r.end(t, time.Minute)
				want(t, second.seen(), sent...)
				results := r.results()
				want(t, results[:1], "ops: a is cut off overtaken")
				want(t, results[len(results)-1:], newer)
			})
		})
	}
}

func TestReloadChangesTheFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &hook{answer: answers(down)}, &hook{}
		r := start(t, Channel{Name: "ops", Channel: first})
		r.tell("ops", news(message.Started, "a"))
		pass(10 * time.Minute)
		r.Reload([]Channel{{Name: "ops", Channel: first, Fallback: "mail"}, {Name: "mail", Channel: second}})
		pass(5 * time.Minute)
		r.end(t, time.Minute)
		want(t, second.seen(), "a is cut off")
		want(t, r.results(), "ops: a is cut off handed over", "mail: a is cut off accepted")
	})
}
