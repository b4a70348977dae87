package recloser

import (
	"testing"
	"time"
)

// coldServer answers one call after the other. Warm it does 300 a second; it
// comes back with a fifth of that and warms up with the calls it answers. The
// longer its queue, the longer it takes for each; what its callers no longer
// wait for it does all the same.
type coldServer struct {
	s     *sim
	warm  float64 // share of its capacity
	queue []func()
}

const (
	coldRate    = 300.0 // calls/s when warm
	coldStart   = 0.2
	coldCalls   = 8000 // that warm it up
	coldThrash  = 50   // queued calls that halve its pace
	coldPatient = 10 * time.Second
)

// take queues a call.
func (c *coldServer) take(answer func()) {
	c.queue = append(c.queue, answer)
	if len(c.queue) == 1 {
		c.serve()
	}
}

func (c *coldServer) serve() {
	pace := coldRate * c.warm / (1 + float64(len(c.queue))/coldThrash)
	c.s.after(time.Duration(float64(time.Second)/pace), func() {
		answer := c.queue[0]
		c.queue = c.queue[1:]
		c.warm = min(1, c.warm+(1-coldStart)/coldCalls)
		answer()
		if len(c.queue) > 0 {
			c.serve()
		}
	})
}

// comeBack has 200 calls/s meet an outage of a minute and then, for 300 s, the
// cold server. It returns the share of these that were answered in time.
func comeBack(t *testing.T, cfg Config, seed uint64) float64 {
	const interval, slow, outage, after = 5 * time.Millisecond, 2 * time.Second, time.Minute, 300 * time.Second
	cfg.SlowCall = slow
	s := newSim(t, cfg).checked()
	s.b.seed = uint32(seed) + 1
	s.offer(interval, outage, hangFor(20*time.Millisecond))
	s.run(outage)

	server := &coldServer{s: s, warm: coldStart}
	offered, good := 0, 0
	for range after / interval {
		offered++
		if p, err := s.b.Allow(t.Context()); err == nil {
			began := s.now()
			server.take(func() {
				if s.now()-began < slow {
					good++
				}
				p.Done(nil)
			})
			s.after(coldPatient, func() { p.Done(errDown) }) // unless it is answered
		}
		s.run(interval)
	}
	return float64(good) / float64(offered)
}

func TestC92_ServerThatComesBackCold(t *testing.T) {
	for seed := range seeds {
		if good := comeBack(t, Config{}, seed); good < 0.75 {
			t.Errorf("seed %d: %.0f %% of the calls were good, want 75 %%", seed, 100*good)
		}
		if good := comeBack(t, Config{Ramp: Off}, seed); good > 0.05 {
			t.Errorf("seed %d: %.0f %% were good without a slow start: the server is too easy", seed, 100*good)
		}
	}
}
