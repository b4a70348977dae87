package outbox

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

// News of an incident make no news of an operator's act stale, nor the other way
// round; those of the same are.
func TestWhatOvertakesWhat(t *testing.T) {
	for _, c := range []struct {
		before, newer message.Kind
		both          bool
	}{
		{message.Started, message.Ended, false},
		{message.Reminder, message.Ended, false},
		{message.Flapping, message.Calm, false},
		{message.Isolated, message.Released, false},
		{message.Ending, message.Released, false},
		{message.Isolated, message.Removed, false},
		{message.Started, message.Removed, false},
		{message.Held, message.Ended, true},
		{message.Held, message.Started, true},
		{message.Started, message.Isolated, true},
		{message.Ended, message.Isolated, true},
	} {
		t.Run(string(c.before)+" "+string(c.newer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hook{answer: answers(waits(time.Minute), nil)}
				r := start(t, Channel{Name: "ops", Channel: h})
				r.tell("ops", news(message.Test)) // what holds the others up
				synctest.Wait()
				r.tell("ops", news(c.before, "a"), news(c.newer, "a"), news(message.Started, "b"))
				r.end(t, 10*time.Minute)
				result := Overtaken
				if c.both {
					result = Accepted
				}
				all := r.Deliveries("", "", 9)
				if got := all[2].Result; got != result {
					t.Errorf("the older is %s, want %s", got, result)
				}
				if got := all[1].Result; got != Accepted {
					t.Errorf("the newer is %s", got)
				}
			})
		})
	}
}

// A fallback that was told of something else about the dependency still gets it.
func TestFallbackIsToldOfTheActToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &hook{answer: answers(waits(50*time.Second), waits(30*time.Second))}, &hook{}
		r := start(t, Channel{Name: "ops", Fallback: "mail", Channel: first}, Channel{Name: "mail", Channel: second})
		r.tell("ops", news(message.Held, "a"))
		pass(time.Second)
		r.tell("mail", news(message.Ended, "a"))
		pass(10 * time.Minute)
		r.end(t, time.Minute)
		want(t, second.seen(), "a is back", "a is held closed")
	})
}
