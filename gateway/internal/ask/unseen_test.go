package ask_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/ask"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func TestG04_TheRestIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Yes(), after(100*ms, gatewaytest.No()), after(time.Second, gatewaytest.Yes())))
		for range 10 {
			b.ask().want(t, 200, ask.Yes, "yes pending pending", 0)
		}
		pause(5 * time.Second)
		for i := range b.deps {
			if s := b.stats(i); s.Success != 10 || s.Failed+s.Slow+s.Ignored != 0 || s.InFlight != 0 {
				t.Errorf("hotel %d: %d good, %d failed, %d slow, %d ignored; want all 10 seen to their good end", i+1, s.Success, s.Failed, s.Slow, s.Ignored)
			}
		}
	})
}

func TestTheRestRunsOnUntilJudged(t *testing.T) {
	tests := []struct {
		name         string
		slow         time.Duration
		gone         time.Duration // when the call is cut off
		bad, ignored uint64
	}{
		{"past its limit", 800 * ms, 900 * ms, 1, 0},
		{"a limit over three seconds", 4 * time.Second, 3 * time.Second, 0, 1},
		{"no limit", recloser.Off, 1125 * ms, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, hotels(gatewaytest.Yes(), gatewaytest.Hang()), slowCall(tt.slow))
				b.deps[1].AttemptTimeout, b.deps[1].Timeout = time.Minute, time.Minute
				b.ask().want(t, 200, ask.Yes, "yes pending", 0)
				pause(tt.gone - ms)
				if n := b.hotels[1].Running(); n != 1 {
					t.Fatalf("%d calls run before %s, want 1", n, tt.gone)
				}
				pause(2 * ms)
				synctest.Wait()
				s := b.stats(1)
				if n := b.hotels[1].Running(); n != 0 || s.InFlight != 0 {
					t.Errorf("%d calls still run after %s (%d say the statistics)", n, tt.gone, s.InFlight)
				}
				if got := s.Window.Bad(); got != tt.bad || s.Ignored != tt.ignored {
					t.Errorf("%d bad, %d ignored; want %d and %d", got, s.Ignored, tt.bad, tt.ignored)
				}
			})
		})
	}
}

func TestOurCutExtendsNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Yes(), gatewaytest.Hang()), slowCall(4*time.Second))
		b.deps[1].AttemptTimeout, b.deps[1].Timeout = time.Minute, time.Minute
		for range 20 {
			b.ask()
			pause(5 * time.Second)
		}
		if s := b.stats(1); s.State != recloser.Closed || s.Window.Run != 0 || s.Ignored != 20 {
			t.Errorf("state %s, run %d, %d ignored", s.State, s.Window.Run, s.Ignored)
		}
	})
}

func TestTheRestRunsOnAfterTheAsksTimeoutToo(t *testing.T) {
	tests := []struct {
		name            string
		slow, timeout   time.Duration
		gone            time.Duration // when the call is cut off
		failed, ignored uint64
	}{
		{"past the limit", 800 * ms, 1500 * ms, 1500 * ms, 1, 0},
		{"at the limit", 1500 * ms, 1500 * ms, 1687 * ms, 1, 0},
		{"within the limit", 2 * time.Second, 1500 * ms, 2250 * ms, 1, 0},
		{"within a limit over three seconds", 4 * time.Second, 1500 * ms, 3 * time.Second, 0, 1},
		{"no limit, over a second", recloser.Off, 1500 * ms, 1500 * ms, 1, 0},
		{"no limit, under a second", recloser.Off, 900 * ms, 1125 * ms, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, hotels(gatewaytest.No(), gatewaytest.Hang()), slowCall(tt.slow), timeout(tt.timeout))
				b.deps[1].AttemptTimeout, b.deps[1].Timeout = time.Minute, time.Minute
				b.ask().want(t, 503, ask.Unknown, "no timeout", tt.timeout)
				if tt.gone > tt.timeout {
					pause(tt.gone - tt.timeout - ms)
					if n := b.hotels[1].Running(); n != 1 {
						t.Fatalf("%d calls run before %s, want 1", n, tt.gone)
					}
					pause(2 * ms)
				}
				synctest.Wait()
				s := b.stats(1)
				if s.Window.Bad() != tt.failed || s.Ignored != tt.ignored || s.InFlight != 0 || b.hotels[1].Running() != 0 {
					t.Errorf("%d bad, %d ignored, %d running; want %d, %d, 0", s.Window.Bad(), s.Ignored, s.InFlight, tt.failed, tt.ignored)
				}
			})
		})
	}
}

func TestTrialRunsOnUntilItsVerdict(t *testing.T) {
	tests := []struct {
		name      string
		behaviour gatewaytest.Behaviour
		state     recloser.State
		after     time.Duration
	}{
		{"good", after(1700*ms, gatewaytest.Yes()), recloser.HalfOpen, 1700 * ms},
		{"hangs", gatewaytest.Hang(), recloser.Open, 2100 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, hotels(gatewaytest.No(), tt.behaviour), timeout(500*ms))
				b.trip(1)
				pause(2 * time.Second)
				b.ask().want(t, 503, ask.Unknown, "no timeout", 500*ms)
				if s := b.stats(1); s.State != recloser.HalfOpen || s.InFlight != 1 {
					t.Fatalf("%s, %d running: the trial was cut off with the ask", s.State, s.InFlight)
				}
				pause(tt.after - 500*ms)
				synctest.Wait()
				if s := b.stats(1); s.State != tt.state || s.InFlight != 0 || s.Ignored != 0 || b.hotels[1].Running() != 0 {
					t.Errorf("%s, %d running, %d ignored; want %s", s.State, s.InFlight, s.Ignored, tt.state)
				}
			})
		})
	}
}

func TestBodyThatHangsIsAHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Yes(), func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("{"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}), slowCall(800*ms))
		b.ask().want(t, 200, ask.Yes, "yes pending", 0)
		pause(time.Second)
		if s := b.stats(1); s.Window.Slow != 1 || s.InFlight != 0 {
			t.Errorf("%d slow, %d running", s.Window.Slow, s.InFlight)
		}
	})
}

func TestClientHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(after(700*ms, gatewaytest.No()), gatewaytest.Hang()), slowCall(800*ms))
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		defer cancel()
		if a := b.send(ctx, http.MethodGet, "/access", nil); a.err == nil {
			t.Errorf("got %+v, want no answer", a)
		}
		pause(850 * ms)
		if n := b.hotels[1].Running(); n != 0 {
			t.Errorf("%d calls still run, long after they could be judged", n)
		}
		if s := b.stats(0); s.Success != 1 || s.Failed+s.Ignored != 0 {
			t.Errorf("the good one: %d good, %d failed, %d ignored", s.Success, s.Failed, s.Ignored)
		}
		if s := b.stats(1); s.Window.Bad() != 1 || s.InFlight != 0 {
			t.Errorf("the one that hangs: %d bad, %d running", s.Window.Bad(), s.InFlight)
		}
	})
}

func TestG35_HangIsCutOff(t *testing.T) {
	for name, limit := range map[string]time.Duration{"asks as long as slow_call": 2 * time.Second, "asks shorter than slow_call": 1500 * ms} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { hangIsCutOff(t, limit) }) })
	}
}

func hangIsCutOff(t *testing.T, limit time.Duration) {
	t.Helper()
	var connections atomic.Int64
	b := newBench(t, hotels(after(30*ms, gatewaytest.No()), gatewaytest.Hang()), timeout(limit))
	client := b.deps[0].Transport.(*http.Transport)
	dial := client.DialContext
	client.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		connections.Add(1)
		return dial(ctx, network, addr)
	}
	start := time.Now()
	for b.stats(1).State == recloser.Closed {
		if time.Since(start) > 30*time.Second {
			t.Fatalf("not cut off in 30 s: %s", b.deps[1].Breaker.Explain())
		}
		go b.ask()
		pause(time.Second)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections to the healthy member, want 1", n)
	}
	pause(5 * time.Second)
}

// While this process stands still its coarse clock does, and the time of that is no
// member's: its answer may be here, and unread.
func TestOurOwnStandstillIsNoMembersFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := recloser.NewManualClock(time.Now())
		b := newBench(t, hotels(gatewaytest.Yes(), after(2900*ms, gatewaytest.No())), func(_ *config.Ask, c *recloser.Config) {
			c.Clock, c.SlowCall = clock, 400*ms
		})
		b.ask().want(t, 200, ask.Yes, "yes pending", 0)
		pause(4 * time.Second)
		if s := b.stats(1); s.Success != 1 || s.Failed != 0 || s.Ignored != 0 || s.InFlight != 0 {
			t.Errorf("%d good, %d failed, %d ignored, %d running", s.Success, s.Failed, s.Ignored, s.InFlight)
		}
	})
}

// With a breaker for each key nothing is suspect before it is slow, so what is usual
// must not cut a member off that has got slower for good.
func TestMemberWithKeysRunsOnUntilItIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBenchOf(t, hotels(gatewaytest.Yes(), after(900*ms, gatewaytest.No())), func(d *config.Dependency, _ *config.Route) {
			d.Suspect, d.Key = 250*ms, &config.Key{Header: "X-Property", Max: 100}
		})
		for range 10 {
			b.send(t.Context(), http.MethodGet, "/access", nil, "X-Property", "17").want(t, 200, ask.Yes, "yes pending", 0)
			pause(2 * time.Second)
		}
		if s := b.deps[1].Keys.Get("17").Stats(); s.Success != 10 || s.Failed != 0 {
			t.Errorf("%d good, %d failed, %s", s.Success, s.Failed, s.State)
		}
	})
}
