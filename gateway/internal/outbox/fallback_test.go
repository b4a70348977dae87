package outbox

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/channel"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

func TestFallback(t *testing.T) {
	refused := &channel.SendError{Text: "answered 410", Permanent: true}
	wrong := &channel.SendError{Text: "answered 302", Address: true}
	for name, c := range map[string]struct {
		fault   error
		between time.Duration
	}{
		"refused for ever": {refused, 0},
		"a wrong address":  {wrong, 0},
		"a long wait":      {waits(10 * time.Minute), 0},
		"down":             {down, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &hook{answer: answers(c.fault)}, &hook{}
				r := start(t, Channel{Name: "ops", Fallback: "mail", Channel: first}, Channel{Name: "mail", Fallback: "ops", Channel: second})
				begin := time.Now()
				r.tell("ops", news(message.Started, "a"))
				pass(30 * time.Minute)
				r.end(t, time.Minute)
				want(t, second.seen(), "a is cut off")
				if after := second.at[0].Sub(begin); after > c.between+time.Second {
					t.Errorf("the fallback got it after %v", after)
				}
				want(t, r.results(), "ops: a is cut off handed over", "mail: a is cut off accepted")
			})
		})
	}
	t.Run("both fail", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second := &hook{answer: answers(refused)}, &hook{answer: answers(refused)}
			r := start(t, Channel{Name: "ops", Fallback: "mail", Channel: first}, Channel{Name: "mail", Fallback: "ops", Channel: second})
			r.tell("ops", news(message.Started, "a"))
			pass(time.Minute)
			r.end(t, time.Minute)
			want(t, r.results(), "ops: a is cut off handed over", "mail: a is cut off refused")
		})
	})
	t.Run("it has it already", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second := &hook{answer: answers(refused)}, &hook{}
			r := start(t, Channel{Name: "ops", Fallback: "mail", Channel: first}, Channel{Name: "mail", Channel: second})
			m := news(message.Started, "a")
			r.Push([]Letter{{"ops", m}, {"mail", m}})
			r.end(t, 30*time.Minute)
			want(t, second.seen(), "a is cut off")
		})
	})
	t.Run("it has something newer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second := &hook{answer: answers(waits(50*time.Second), refused)}, &hook{}
			r := start(t, Channel{Name: "ops", Fallback: "mail", Channel: first}, Channel{Name: "mail", Channel: second})
			r.tell("ops", news(message.Started, "a", "b"))
			pass(time.Second)
			r.tell("mail", news(message.Ended, "a"))
			pass(5 * time.Minute)
			r.tell("ops", news(message.Ended, "b"))
			pass(5 * time.Minute)
			r.end(t, time.Minute)
			want(t, second.seen(), "a is back", "b is cut off", "b is back")
		})
	})
	t.Run("once it is down, at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second := &hook{answer: answers(down)}, &hook{}
			r := start(t, Channel{Name: "ops", Fallback: "mail", Channel: first}, Channel{Name: "mail", Channel: second})
			r.tell("ops", news(message.Started, "a"))
			pass(10 * time.Minute)
			begin := time.Now()
			r.tell("ops", news(message.Started, "b"))
			pass(2 * time.Minute)
			r.end(t, time.Minute)
			if after := second.at[1].Sub(begin); after > time.Minute {
				t.Errorf("the fallback got the second one after %v", after)
			}
		})
	})
}

// A wrong address loses nothing: what waits goes out once it is mended. A message that
// is refused for what is in it holds up no other.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := &channel.SendError{Text: "answered 404", Address: true}
		h := &hook{answer: answers(gone, gone, gone, &channel.SendError{Text: "answered 400", Permanent: true}, nil)}
		r := start(t, Channel{Name: "ops", Channel: h})
		r.tell("ops", news(message.Started, "a"), news(message.Ended, "b"))
		r.end(t, time.Hour)
		want(t, h.seen(), "a is cut off", "a is cut off", "a is cut off", "a is cut off", "b is back")
		want(t, r.results(), "ops: a is cut off refused", "ops: b is back accepted")
		if gap := h.gap(4, 5); gap != pace {
			t.Errorf("the next one after %v, want %v", gap, pace)
		}
		if gap := h.gap(1, 2); gap != maxBackoff {
			t.Errorf("tried again after %v, want %v", gap, maxBackoff)
		}
	})
}
