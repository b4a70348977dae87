package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// day is the whole gateway on virtual time, but for its listeners: proxy, breakers,
// learned limits, probes, bulkheads and history, wired as they are, with guests
// and hotels on a network in memory.
type day struct {
	*testing.T
	g      *Gateway
	hotels []*gatewaytest.Dependency
	client *http.Client
	guests sync.WaitGroup

	mu                  sync.Mutex
	asked, good, waited []int // by hotel: guests, those who were served, those who lost their patience
}

const guestsPatience = time.Second

// newDay begins one in a synctest bubble.
func newDay(t *testing.T, hotels int) *day {
	t.Helper()
	d := &day{T: t, asked: make([]int, hotels), good: make([]int, hotels), waited: make([]int, hotels)}
	network := gatewaytest.NewNetwork(t)
	yaml := "storage: off\ndependencies:\n"
	for i := range hotels {
		hotel := gatewaytest.NewDependency(usual)
		d.hotels = append(d.hotels, hotel)
		host := fmt.Sprintf("hotel-%d.example", i+1)
		network.Serve(host, hotel)
		yaml += fmt.Sprintf("  hotel-%d: { url: 'http://%s', probe: { path: /ping } }\n", i+1, host)
	}
	d.g, _ = newGateway(t, yaml+"routes: [ { path: '/hotels/{dependency}/*' } ]\n")
	network.Connect(d.g.deps)
	network.Serve("gateway.example", http.HandlerFunc(d.g.serveCall))
	d.client = network.Client()
	d.g.running.Go(d.g.tend)
	t.Cleanup(func() {
		d.g.end()
		d.g.probes.Stop()
		d.g.running.Wait()
		d.g.close()
		d.guests.Wait()
		d.g.deps.CloseIdle()
	})
	return d
}

// usual is a healthy hotel.
func usual(w http.ResponseWriter, r *http.Request) {
	gatewaytest.Slow(3*time.Millisecond, gatewaytest.Yes())(w, r)
}

// during is bad from a moment on, for a time.
func during(from, lasts time.Duration, bad gatewaytest.Behaviour) gatewaytest.Behaviour {
	began := time.Now()
	return func(w http.ResponseWriter, r *http.Request) {
		if at := time.Since(began); at >= from && at < from+lasts {
			bad(w, r)
			return
		}
		usual(w, r)
	}
}

// live has guests come to every hotel evenly, for a time.
func (d *day) live(lasts, gap time.Duration) {
	for range lasts / gap {
		for i := range d.hotels {
			d.guests.Go(func() { d.visit(i) })
		}
		<-time.After(gap)
	}
}

func (d *day) visit(i int) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // outlives the test
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://gateway.example/hotels/hotel-%d/x", i+1), nil)
	resp, err := d.client.Do(req)
	good := false
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		good = err == nil && resp.StatusCode == http.StatusOK
		_ = resp.Body.Close()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[i]++
	if good {
		d.good[i]++
	}
	if time.Since(began) > guestsPatience {
		d.waited[i]++
	}
}

// lost returns how many guests of a hotel were not served.
func (d *day) lost(i int) (lost, asked, waited int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[i] - d.good[i], d.asked[i], d.waited[i]
}

func (d *day) breaker(i int) *recloser.Breaker {
	dep, _ := d.g.deps.Get(fmt.Sprintf("hotel-%d", i+1))
	return dep.Breaker
}

// G34: one call a minute, a hang of 20 minutes, an honest probe.
func TestG34_AWholeGatewayWithFewGuests(t *testing.T) {
	const lasts = 20 * time.Minute
	for _, begins := range []time.Duration{10 * time.Minute, 45 * time.Minute} { // before and after a limit is learned
		synctest.Test(t, func(t *testing.T) {
			d := newDay(t, 1)
			d.hotels[0].Now(during(begins+13*time.Second, lasts, gatewaytest.Hang()))
			d.live(begins+lasts+10*time.Minute, time.Minute)
			if _, _, waited := d.lost(0); waited > 4 {
				t.Errorf("a hang after %s: %d guests wait for more than %s, want 4 at most", begins, waited, guestsPatience)
			}
			if s := d.breaker(0).Stats(); s.State != recloser.Closed || s.Transitions[recloser.TransitionKey{To: recloser.Open, Reason: recloser.ReasonProbe}] == 0 {
				t.Errorf("%s, after %v", d.breaker(0).Explain(), s.Transitions)
			}
		})
	}
}

// While bad probes hold trials back, people are told when the next one really comes.
func TestNextTrialIsWhenItIsToldToBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, 1)
		d.hotels[0].Now(during(2*time.Minute, time.Hour, gatewaytest.Hang()))
		d.live(150*time.Second, time.Second)
		trials := func() uint64 {
			return d.breaker(0).Stats().Transitions[recloser.TransitionKey{To: recloser.HalfOpen, Reason: recloser.ReasonTime}]
		}
		told, before := d.g.heldUntil("hotel-1"), trials()
		if !told.After(time.Now().Add(time.Minute)) {
			t.Fatalf("its probe is bad, and trials are held back until %s: it is %s, %s", told, time.Now(), d.breaker(0).Explain())
		}
		d.live(time.Until(told)-time.Second, time.Second)
		if n := trials(); n != before {
			t.Errorf("%d trials before it", n-before)
		}
		d.live(3*time.Second, time.Second)
		if n := trials(); n != before+1 {
			t.Errorf("%d trials 2 s after it, want 1", n-before)
		}
	})
}

// G30: a hotel moves from 3 ms to something longer for good.
func TestG30_AWholeGatewayAndASlowerHotel(t *testing.T) {
	for _, tt := range []struct {
		to   time.Duration
		lost float64
	}{{400 * time.Millisecond, 0.005}, {1200 * time.Millisecond, 0.02}} {
		synctest.Test(t, func(t *testing.T) {
			d := newDay(t, 1)
			d.live(2*time.Minute, 50*time.Millisecond)
			before, asked, _ := d.lost(0)
			d.hotels[0].Now(gatewaytest.Slow(tt.to, gatewaytest.Yes()))
			d.live(10*time.Minute, 50*time.Millisecond)
			after, all, _ := d.lost(0)
			share := float64(after-before) / float64(all-asked)
			t.Logf("to %s: %.2f %% are lost", tt.to, 100*share)
			if share > tt.lost {
				t.Errorf("to %s: %.2f %% are lost, want %.2f %% at most", tt.to, 100*share, 100*tt.lost)
			}
		})
	}
}

// G32: the probe always says 200 and calls fail for 30 s; and an honest one while it
// is up and down for 2 s each.
func TestG32_AWholeGatewayAndTheProbe(t *testing.T) {
	const gap = 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, 1)
		d.live(20*time.Second, gap)
		reached := 0
		fails := gatewaytest.Slow(3*time.Millisecond, gatewaytest.Answer(http.StatusInternalServerError, ""))
		d.hotels[0].Now(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/ping") {
				usual(w, r)
				return
			}
			reached++
			fails(w, r)
		})
		d.live(30*time.Second, gap)
		if reached > 12 {
			t.Errorf("%d calls reached it, want 12 at most", reached)
		}
		d.hotels[0].Now(usual)
		d.live(15*time.Second, gap)
		before, _, _ := d.lost(0)
		d.live(5*time.Second, gap)
		if after, _, _ := d.lost(0); after != before {
			t.Errorf("15 s after it %d of %d are lost", after-before, 5*time.Second/gap)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, 1)
		d.live(20*time.Second, gap)
		before, _, _ := d.lost(0)
		d.hotels[0].Now(gatewaytest.Flap(2*time.Second, 2*time.Second, usual, gatewaytest.Answer(http.StatusInternalServerError, "")))
		d.live(30*time.Second, gap)
		after, _, _ := d.lost(0)
		share := 1 - float64(after-before)/float64(30*time.Second/gap)
		t.Logf("%.0f %% of calls succeed", 100*share)
		if share < 0.3 {
			t.Errorf("%.0f %% of calls succeed, want 30 %%", 100*share)
		}
	})
}

// G09, G10: a probe that says yes while calls fail makes nothing flap, and the events
// say so; one that alternates is never three bad ones in a row.
func TestG09_AWholeGatewayToldLies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, 1)
		d.hotels[0].Now(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/ping") {
				usual(w, r)
				return
			}
			gatewaytest.Answer(http.StatusServiceUnavailable, "")(w, r)
		})
		d.live(5*time.Minute, 50*time.Millisecond)
		s := d.breaker(0).Stats()
		if n := s.Transitions[recloser.TransitionKey{To: recloser.Closed, Reason: recloser.ReasonTrialsGood}]; n != 0 {
			t.Errorf("it closed %d times", n)
		}
		if got := eventsOf(d); strings.Count(got, "traffic bad") != 1 {
			t.Errorf("the events are\n%s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, 1)
		d.hotels[0].Now(gatewaytest.InTurn(usual, gatewaytest.Answer(http.StatusServiceUnavailable, ""))) // only probes come
		<-time.After(time.Hour)
		if n := d.hotels[0].Calls(); n < 40 || d.breaker(0).State() != recloser.Closed {
			t.Errorf("after %d probes it is %s", n, d.breaker(0).Explain())
		}
	})
}

// eventsOf returns what is told, oldest first.
func eventsOf(d *day) string {
	d.Helper()
	all, err := d.g.history.Events(d.Context(), history.EventQuery{Limit: 1000})
	if err != nil {
		d.Fatal(err)
	}
	var text strings.Builder
	for _, e := range all {
		_, _ = fmt.Fprintln(&text, e.Kind, e.Dependency, e.From, e.To, e.Reason, e.Text)
	}
	return text.String()
}

// G31: six of ten hang, and three of four, and our own uplink.
func TestG31_AWholeGatewayOfHotelsThatHang(t *testing.T) {
	const gap, lasts = 50 * time.Millisecond, 20 * time.Second
	for _, tt := range []struct{ bad, of int }{{1, 10}, {6, 10}, {3, 4}, {10, 10}} {
		synctest.Test(t, func(t *testing.T) {
			d := newDay(t, tt.of)
			for i := range tt.bad {
				d.hotels[i].Now(during(15*time.Second, lasts, gatewaytest.Hang()))
			}
			d.live(15*time.Second+lasts, gap)
			us := tt.bad == tt.of
			for i := range tt.bad {
				s := d.breaker(i).Stats()
				if _, _, waited := d.lost(i); !us && waited > 6 {
					t.Errorf("%d of %d hang: %d guests of hotel-%d wait for more than %s, want 6 at most", tt.bad, tt.of, waited, i+1, guestsPatience)
				}
				if trips := s.Transitions[recloser.TransitionKey{To: recloser.Open, Reason: recloser.ReasonUs}]; (trips > 0) != us || us && s.Step != 0 {
					t.Errorf("%d of %d hang: hotel-%d, step %d: %v", tt.bad, tt.of, i+1, s.Step, s.Transitions)
				}
			}
			for i := tt.bad; i < tt.of; i++ {
				if lost, _, waited := d.lost(i); lost > 0 || waited > 0 {
					t.Errorf("%d of %d hang: %d guests of hotel-%d, which does not, are not served", tt.bad, tt.of, lost, i+1)
				}
			}
			d.live(4*time.Second, gap)
			for i := range tt.of {
				if s := d.breaker(i).State(); s != recloser.Closed {
					t.Errorf("%d of %d hang: 4 s after it hotel-%d is %s", tt.bad, tt.of, i+1, s)
				}
			}
		})
	}
}
