package proxy_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// G13: three of ten calls fail, in an order that is fixed, at 20 calls a second.
func TestG13_ThirtyPercentOfErrors(t *testing.T) {
	tests := []struct {
		name  string
		limit float64
		opens bool
		least float64 // share of the calls that would have succeeded and do
	}{
		{"limit 50 %", 0.5, false, 0.97},
		{"limit 25 %", 0.25, true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, gatewaytest.Yes(), func(d *config.Dependency, _ *config.Route) { d.Settings.FailureRate = tt.limit })
				const perSecond, seconds = 20, 60
				for range 10 * perSecond { // a warm window
					b.get("/hotels/hotel-1/")
					pause(time.Second / perSecond)
				}
				fails := [10]bool{1: true, 4: true, 5: true}
				possible, good, opened := 0, 0, false
				for i := range perSecond * seconds {
					status := http.StatusOK
					if fails[(i+i/10)%10] { // runs of all lengths
						status = http.StatusInternalServerError
					} else {
						possible++
					}
					b.hotel.Now(gatewaytest.Answer(status, ""))
					if a := b.get("/hotels/hotel-1/"); a.status == http.StatusOK {
						good++
					}
					opened = opened || b.breaker.State() == recloser.Open
					pause(time.Second / perSecond)
				}
				if share := float64(good) / float64(possible); opened != tt.opens || share < tt.least {
					t.Errorf("opened: %t, %.1f %% of what was possible succeeded; %s", opened, 100*share, b.breaker.Explain())
				}
			})
		})
	}
}
