package ask_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/ask"
)

// On a trip by suspicion the member leaves the ask at once, and its call shows
// unseen that it only got slower.
func TestReleasedMemberIsAWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.No(), after(900*ms, gatewaytest.No())))
		b.deps[1].Breaker.SetSuspect(250 * ms)
		reasons := make(chan recloser.Reason, 10)
		b.deps[1].Breaker.Subscribe(func(tr recloser.Transition) { reasons <- tr.Reason })
		for range 30 {
			go func() {
				if a := b.ask(); a.Answer == ask.Unknown && a.took > 700*ms {
					t.Errorf("%s after %s", a.results(), a.took)
				}
			}()
			pause(20 * ms)
		}
		pause(3 * time.Second)
		if first, then := <-reasons, <-reasons; first != recloser.ReasonSuspected || then != recloser.ReasonWitness {
			t.Errorf("%q and %q, want one by suspicion and one by a witness", first, then)
		}
		if n := b.hotels[1].Running(); n != 0 || b.stats(1).InFlight != 0 {
			t.Errorf("%d running, %d in flight", n, b.stats(1).InFlight)
		}
	})
}
