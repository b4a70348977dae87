package proxy_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// A dependency that answers later from now on is suspected, and callers are let
// go; but what they wanted runs on without them, and shows that it is well.
func TestReleasedCallersLeaveWitnesses(t *testing.T) {
	for name, attempts := range map[string]int{"": 1, "with retries": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, gatewaytest.Slow(900*time.Millisecond, gatewaytest.Yes()), func(d *config.Dependency, _ *config.Route) {
					d.Retry.Attempts = attempts
				})
				b.breaker.SetSuspect(250 * time.Millisecond)
				var reasons []recloser.Reason
				b.breaker.Subscribe(func(tr recloser.Transition) { reasons = append(reasons, tr.Reason) })
				var callers sync.WaitGroup
				for range 30 {
					callers.Go(func() {
						a := b.get("/hotels/hotel-1/")
						if a.status == http.StatusServiceUnavailable && a.took > 700*time.Millisecond {
							t.Errorf("refused after %s", a.took)
						}
					})
					pause(20 * time.Millisecond)
				}
				callers.Wait()
				pause(time.Second)
				synctest.Wait()
				if len(reasons) < 2 || reasons[0] != recloser.ReasonSuspected || reasons[1] != recloser.ReasonWitness {
					t.Errorf("transitions %q, want one by suspicion and one by a witness", reasons)
				}
				if b.hotel.Running() != 0 || b.breaker.Stats().InFlight != 0 {
					t.Errorf("%d running, %d in flight", b.hotel.Running(), b.breaker.Stats().InFlight)
				}
			})
		})
	}
}
