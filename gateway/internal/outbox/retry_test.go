package outbox

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

func TestRetry(t *testing.T) {
	for name, fault := range map[string]error{"500": down, "429 without a time": waits(0), "a time that has passed": waits(-time.Hour), "any error": errors.New("x")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hook{answer: answers(fault, fault, fault, nil)}
				r := start(t, Channel{Name: "ops", Channel: h})
				r.tell("ops", news(message.Started, "a"))
				r.end(t, time.Minute)
				for i, longest := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
					if gap := h.gap(i+1, i+2); gap < longest/2 || gap > longest {
						t.Errorf("gap %d is %v, want %v to %v", i, gap, longest/2, longest)
					}
				}
				if d := r.Deliveries("ops", "", 9); len(d) != 1 || d[0].Result != Accepted || d[0].Tries != 4 {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

// Who looks sees when a message that was not taken is tried again.
func TestNextTryIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: answers(waits(10*time.Minute), nil)}
		r := start(t, Channel{Name: "ops", Channel: h})
		r.tell("ops", news(message.Started, "a"))
		synctest.Wait()
		if d := r.Deliveries("ops", "", 9)[0]; d.Result != Waiting || !d.Next.Equal(time.Now().Add(10*time.Minute)) {
			t.Errorf("%+v", d)
		}
		pass(11 * time.Minute)
		if d := r.Deliveries("ops", "", 9)[0]; d.Result != Accepted || !d.Next.IsZero() {
			t.Errorf("%+v", d)
		}
		r.end(t, time.Second)
	})
}
