package bench

import "github.com/recloser-go/recloser/compat/gobreaker"

// Compat is gobreaker, and what stands in for it after a change of import.
func Compat() Group {
	return Group{Name: "drop-in", Peers: []Peer{
		{
			Name: "compat/gobreaker", Rule: "50 % of 20 in 10 s, buckets of 1 s", Refusal: gobreaker.ErrOpenState,
			New: func() Breaker {
				return dropIn{gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
					Interval: window, BucketPeriod: window / 10, Timeout: openFor,
					ReadyToTrip: func(c gobreaker.Counts) bool {
						return c.Requests >= minCalls && float64(c.TotalFailures) >= rate*float64(c.Requests)
					},
				})}
			},
		},
		rateGobreaker(),
	}}
}

type dropIn struct {
	cb *gobreaker.CircuitBreaker[struct{}]
}

func (d dropIn) Succeed() error { _, err := d.cb.Execute(succeedWithValue); return err }
func (d dropIn) Fail() error    { _, err := d.cb.Execute(failWithValue); return err }
