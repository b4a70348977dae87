package ask_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/ask"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/guard"
)

func TestFullBulkheadOfAMember(t *testing.T) {
	tests := []struct {
		name    string
		free    time.Duration // when there is a slot again; 0: never
		results string
		took    time.Duration
		calls   int
	}{
		{"no slot in time", 0, "no refused", 100 * ms, 0},
		{"a slot after a while", 60 * ms, "no no", 90 * ms, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, hotels(gatewaytest.No(), after(30*ms, gatewaytest.No())))
				full := b.deps[1].Bulkhead
				full.SetMax(1)
				if !full.TryEnter() {
					t.Fatal("no slot")
				}
				status, answer := 503, ask.Unknown
				if tt.free > 0 {
					time.AfterFunc(tt.free, full.Leave)
					status, answer = 200, ask.No
				}
				a := b.ask()
				a.want(t, status, answer, tt.results, tt.took)
				if reason := a.Members[1].Reason; tt.free == 0 && reason != "bulkhead" {
					t.Errorf("reason %q", reason)
				}
				if s := b.stats(1); b.hotels[1].Calls() != tt.calls || s.Failed+s.Ignored != 0 || s.InFlight != 0 {
					t.Errorf("%d calls, %+v", b.hotels[1].Calls(), s)
				}
			})
		})
	}
}

// What runs on unseen is in the bulkhead.
func TestUnseenCallsCountInTheBulkhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Yes(), gatewaytest.Hang()), slowCall(800*ms))
		b.ask().want(t, 200, ask.Yes, "yes pending", 0)
		if n := b.deps[1].Bulkhead.InFlight(); n != 1 || b.process.InFlight() != 1 {
			t.Errorf("%d in its bulkhead, %d in that of the process; want 1 and 1", n, b.process.InFlight())
		}
		pause(time.Second)
		if n := b.deps[1].Bulkhead.InFlight(); n != 0 || b.process.InFlight() != 0 {
			t.Errorf("%d and %d after the cut", n, b.process.InFlight())
		}
	})
}

// An ask that is over does not wait for a slot.
func TestWaitForASlotEndsWithTheAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(after(50*ms, gatewaytest.Yes()), gatewaytest.Yes()))
		full := b.deps[1].Bulkhead
		full.SetMax(1)
		if !full.TryEnter() {
			t.Fatal("no slot")
		}
		b.ask().want(t, 200, ask.Yes, "yes pending", 50*ms)
		full.Leave()
		pause(time.Second)
		if b.hotels[1].Calls() != 0 || full.InFlight() != 0 {
			t.Errorf("%d calls, %d in flight", b.hotels[1].Calls(), full.InFlight())
		}
	})
}

func TestRateLimitOfAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBenchOf(t, hotels(gatewaytest.No(), gatewaytest.No()), func(d *config.Dependency, _ *config.Route) {
			d.RateLimit = guard.RateLimit{Rate: 0.5, Burst: 1}
		})
		b.ask().want(t, 200, ask.No, "no no", 0)
		a := b.ask()
		a.want(t, 503, ask.Unknown, "refused refused", 0)
		if m := a.Members[0]; m.Reason != "rate limit" || m.RetryAfterMS != 2000 || a.header.Get("Retry-After") != "2" {
			t.Errorf("got %+v, Retry-After %q", m, a.header.Get("Retry-After"))
		}
		if n := b.deps[0].Limited.Load(); n != 1 {
			t.Errorf("%d calls are counted as over the limit", n)
		}
	})
}

// Nobody knows when the trial that runs will end, but it may be any moment.
func TestRetryAfterForWantOfATrialSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Hang()))
		b.trip(0)
		pause(time.Until(b.stats(0).Until))
		for range b.deps[0].Breaker.Config().Trials {
			go b.ask()
			synctest.Wait()
		}
		a := b.ask()
		if m := a.Members[0]; m.Reason != string(recloser.ReasonTrialSlots) || a.header.Get("Retry-After") != "1" {
			t.Errorf("got %+v, Retry-After %q", m, a.header.Get("Retry-After"))
		}
	})
}

func TestRateLimitOfTheRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBenchOf(t, hotels(gatewaytest.No()), func(_ *config.Dependency, r *config.Route) {
			r.RateLimit = &config.RateLimit{Per: "client", Rate: 0.5, Burst: 1, Max: 10}
		})
		b.ask()
		if resp, err := b.client.Get("http://gateway.example/access"); err != nil || resp.StatusCode != http.StatusTooManyRequests || resp.Body.Close() != nil {
			t.Errorf("got %v, %v", resp, err)
		}
		if s := b.stats(0); b.hotels[0].Calls() != 1 || s.Success != 1 || s.Ignored != 0 {
			t.Errorf("%d calls, %+v", b.hotels[0].Calls(), s)
		}
	})
}

// suspect is how long a member may run before it is suspect.
func suspect(d time.Duration) func(*config.Dependency, *config.Route) {
	return func(c *config.Dependency, _ *config.Route) { c.Suspect = d }
}

// The rest runs on until one slice past the suspect limit, which is shorter than
// slow_call.
func TestTheRestRunsOnPastTheSuspectLimit(t *testing.T) {
	tests := []struct {
		name         string
		limit        time.Duration
		gone         time.Duration
		bad, ignored uint64
	}{
		{"fixed", 400 * ms, 450 * ms, 1, 0},
		{"off", recloser.Off, 2250 * ms, 1, 0},
		{"above slow_call", time.Minute, 2250 * ms, 1, 0},
		{"nothing learned", 0, 2250 * ms, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBenchOf(t, hotels(gatewaytest.Yes(), gatewaytest.Hang()), suspect(tt.limit))
				b.ask().want(t, 200, ask.Yes, "yes pending", 0)
				pause(tt.gone - ms)
				if n := b.hotels[1].Running(); n != 1 {
					t.Fatalf("%d calls run before %s, want 1", n, tt.gone)
				}
				pause(2 * ms)
				synctest.Wait()
				s := b.stats(1)
				if b.hotels[1].Running() != 0 || s.Window.Bad() != tt.bad || s.Ignored != tt.ignored {
					t.Errorf("%d running, %d bad, %d ignored", b.hotels[1].Running(), s.Window.Bad(), s.Ignored)
				}
			})
		})
	}
}

func TestGoodAnswersTeachWhatIsUsual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(after(300*ms, gatewaytest.No()), gatewaytest.Answer(500, ""), func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("{"))
			_ = http.NewResponseController(w).Flush()
			pause(600 * ms)
			_, _ = w.Write([]byte("}"))
		}))
		b.ask()
		for i, want := range []time.Duration{300 * ms, 0, 600 * ms} {
			v := b.deps[i].Latency.Limit(2*time.Second, time.Now())
			if v.P95 < want/2 || v.P95 > 2*want || (v.Samples == 0) != (want == 0) {
				t.Errorf("hotel %d: %d samples, p95 %s; want about %s", i+1, v.Samples, v.P95, want)
			}
		}
	})
}

func lastKnown(_ *config.Dependency, r *config.Route) {
	r.LastKnown = &config.LastKnown{For: time.Minute, Key: []string{"X-Gate"}, Max: 10, Memory: 1 << 20}
}

func TestLastKnownAnswer(t *testing.T) {
	for answer, behaviour := range map[ask.Answer]gatewaytest.Behaviour{ask.Yes: gatewaytest.Yes(), ask.No: gatewaytest.No()} {
		t.Run(string(answer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBenchOf(t, hotels(behaviour), lastKnown)
				first := b.send(t.Context(), http.MethodPost, "/access?guest=7", strings.NewReader("face"))
				first.want(t, 200, answer, string(answer), 0)
				if first.LastKnown != nil || first.header.Get("Recloser-Last-Known") != "" {
					t.Errorf("a new answer is said to be old: %+v", first)
				}
				pause(10 * time.Second)
				b.hotels[0].Now(gatewaytest.Answer(500, ""))
				a := b.send(t.Context(), http.MethodPost, "/access?guest=7", strings.NewReader("face"))
				a.want(t, 200, answer, "failed", 0)
				if a.LastKnown == nil || a.LastKnown.Age != 10 || a.header.Get("Recloser-Last-Known") != "10" || len(a.By) != len(first.By) {
					t.Errorf("got %+v, %v", a.Result, a.header)
				}
				for name, other := range map[string]request{
					"another guest":       {path: "/access?guest=8", body: "face"},
					"another face":        {path: "/access?guest=7", body: "other"},
					"other credentials":   {path: "/access?guest=7", body: "face", header: []string{"Authorization", "Bearer 2"}},
					"a header that tells": {path: "/access?guest=7", body: "face", header: []string{"X-Gate", "2"}},
				} {
					t.Log(name)
					b.send(t.Context(), http.MethodPost, other.path, strings.NewReader(other.body), other.header...).want(t, 503, ask.Unknown, "failed", 0)
				}
				pause(51 * time.Second)
				b.send(t.Context(), http.MethodPost, "/access?guest=7", strings.NewReader("face")).want(t, 503, ask.Unknown, "failed", 0)
			})
		})
	}
}

type request struct {
	path, body string
	header     []string
}

func TestUnknownStaysUnknownByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Yes()))
		b.ask().want(t, 200, ask.Yes, "yes", 0)
		b.hotels[0].Now(gatewaytest.Answer(500, ""))
		b.ask().want(t, 503, ask.Unknown, "failed", 0)
	})
}

func TestClientThatStopsInTheMiddleOfItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Yes()))
		r, w := io.Pipe()
		defer w.Close()
		go func() { _, _ = w.Write([]byte("x")) }()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway.example/access", r)
		began := time.Now()
		resp, err := b.client.Do(req)
		if err != nil || resp.StatusCode != http.StatusRequestTimeout || time.Since(began) != 30*time.Second || resp.Body.Close() != nil {
			t.Errorf("got %v, %v after %s", resp, err, time.Since(began))
		}
		if b.hotels[0].Calls() != 0 {
			t.Error("half a question was asked")
		}
	})
}
