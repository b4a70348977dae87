package ask_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/ask"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func decide(d config.Decide, quorum int) option {
	return func(a *config.Ask, _ *recloser.Config) { a.Decide, a.Quorum = d, quorum }
}

func slowCall(d time.Duration) option {
	return func(_ *config.Ask, c *recloser.Config) { c.SlowCall = d }
}

func timeout(d time.Duration) option {
	return func(a *config.Ask, _ *recloser.Config) { a.Timeout = d }
}

func accept(s string) option {
	return func(a *config.Ask, _ *recloser.Config) { a.Accept = s }
}

func TestAnswerGoesOutAsSoonAsItIsCertain(t *testing.T) {
	yes, no, hang := gatewaytest.Yes(), gatewaytest.No(), gatewaytest.Hang()
	tests := []struct {
		name    string
		rule    option
		hotels  []gatewaytest.Behaviour
		status  int
		answer  ask.Answer
		results string
		took    time.Duration
	}{
		{"first-yes: yes", decide(config.FirstYes, 0), hotels(after(30*ms, no), after(60*ms, yes), hang), 200, ask.Yes, "no yes pending", 60 * ms},
		{"first-yes: no", decide(config.FirstYes, 0), hotels(no, after(60*ms, no)), 200, ask.No, "no no", 60 * ms},
		{"first-yes: unknown", decide(config.FirstYes, 0), hotels(no, hang), 503, ask.Unknown, "no timeout", 1500 * ms},
		{"first-yes: one failed", decide(config.FirstYes, 0), hotels(no, gatewaytest.Refuse()), 503, ask.Unknown, "no failed", 0},
		{"all: yes", decide(config.All, 0), hotels(yes, after(60*ms, yes)), 200, ask.Yes, "yes yes", 60 * ms},
		{"all: no", decide(config.All, 0), hotels(after(60*ms, no), hang), 200, ask.No, "no pending", 60 * ms},
		{"all: unknown", decide(config.All, 0), hotels(after(60*ms, gatewaytest.Answer(500, "")), hang), 503, ask.Unknown, "failed pending", 60 * ms},
		{"quorum 2: yes", decide(config.Quorum, 2), hotels(yes, after(60*ms, yes), hang), 200, ask.Yes, "yes yes pending", 60 * ms},
		{"quorum 2: no", decide(config.Quorum, 2), hotels(no, after(60*ms, no), hang), 200, ask.No, "no no pending", 60 * ms},
		{"quorum 2: unknown", decide(config.Quorum, 2), hotels(yes, hang, hang), 503, ask.Unknown, "yes timeout timeout", 1500 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, tt.hotels, tt.rule)
				a := b.ask()
				a.want(t, tt.status, tt.answer, tt.results, tt.took)
				var by []string
				for i, m := range a.Members {
					if m.Dependency != b.deps[i].ID || m.Name != b.deps[i].Name {
						t.Errorf("part %d is %s (%s)", i, m.Dependency, m.Name)
					}
					if m.Result == ask.SaidYes && tt.answer == ask.Yes {
						by = append(by, m.Dependency)
					}
				}
				if !slices.Equal(a.By, by) {
					t.Errorf("by %v, want %v", a.By, by)
				}
			})
		})
	}
}

func TestNobodyToAskIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, decide(config.All, 0))
		b.ask().want(t, 503, ask.Unknown, "", 0)
	})
}

func TestG03_OneIsCutOff(t *testing.T) {
	no := gatewaytest.No()
	ten := func() []gatewaytest.Behaviour { return slices.Repeat(hotels(after(30*ms, no)), 10) }
	tests := []struct {
		name    string
		rule    option
		results string
		took    time.Duration
	}{
		{"first-yes", decide(config.FirstYes, 0), strings.Repeat("no ", 9) + "refused", 30 * ms},
		{"all", decide(config.All, 0), strings.Repeat("pending ", 9) + "refused", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, ten(), tt.rule)
				b.trip(9)
				a := b.ask()
				a.want(t, 503, ask.Unknown, tt.results, tt.took)
				cut := a.Members[9]
				if cut.Dependency != "hotel-10" || cut.Reason != "open" || cut.RetryAfterMS != 2000 || a.header.Get("Retry-After") != "2" {
					t.Errorf("does not say which, why and how long: %+v, Retry-After %q", cut, a.header.Get("Retry-After"))
				}
				if n := b.hotels[9].Calls(); n != 0 {
					t.Errorf("the one that is cut off was called %d times", n)
				}
			})
		})
	}
}

func TestTripReleasesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.No(), gatewaytest.Hang()))
		time.AfterFunc(300*ms, func() { b.trip(1) })
		a := b.ask()
		a.want(t, 503, ask.Unknown, "no released", 300*ms)
		if a.header.Get("Retry-After") != "2" {
			t.Errorf("Retry-After %q, want 2", a.header.Get("Retry-After"))
		}
	})
}

func TestWhatIsAnAnswer(t *testing.T) {
	tests := []struct {
		name, accept string
		behaviour    gatewaytest.Behaviour
		result       ask.Outcome
		status       int
		reason       string // a part of it
		failed       uint64
	}{
		{"yes", "body.allowed", gatewaytest.Yes(), ask.SaidYes, 200, "", 0},
		{"no", "status == 200", gatewaytest.Answer(404, ""), ask.SaidNo, 404, "", 0},
		{"not JSON, not looked at", "status == 200", gatewaytest.Answer(200, "<html>"), ask.SaidYes, 200, "", 0},
		{"not JSON", "body == nil", gatewaytest.Answer(200, "<html>"), ask.SaidYes, 200, "", 0},
		{"number", "body.guests > 2", gatewaytest.Answer(200, `{"guests": 3}`), ask.SaidYes, 200, "", 0},
		{"header", `header["Content-Type"] startsWith "text/plain"`, gatewaytest.Answer(200, "x"), ask.SaidYes, 200, "", 0},
		{"dependency", `dependency == "hotel-1"`, gatewaytest.Answer(200, ""), ask.SaidYes, 200, "", 0},
		{"does not fit", "body.allowed", gatewaytest.Answer(200, "<html>"), ask.Failed, 200, "does not fit accept", 0},
		{"not true or false", "body.allowed", gatewaytest.Answer(200, `{"allowed": "yes"}`), ask.Failed, 200, "does not fit accept", 0},
		{"5xx", "status == 503", gatewaytest.Answer(503, ""), ask.Failed, 503, "answered 503 Service Unavailable", 1},
		{"429", "status == 429", gatewaytest.Answer(429, ""), ask.Failed, 429, "answered 429", 0},
		{"broken body", "status == 200", gatewaytest.BreakOff(100), ask.Failed, 0, "broke off", 1},
		{"body of 1 MiB", "len(body) == 1048574", gatewaytest.Answer(200, `"`+strings.Repeat("x", 1<<20-2)+`"`), ask.SaidYes, 200, "", 0},
		{"body over 1 MiB", "body == nil", gatewaytest.Answer(200, `"`+strings.Repeat("x", 1<<20-1)+`"`), ask.SaidYes, 200, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, hotels(tt.behaviour), accept(tt.accept))
				m := b.ask().Members[0]
				if m.Result != tt.result || m.Status != tt.status || !strings.Contains(m.Reason, tt.reason) || (m.Reason == "") != (tt.reason == "") {
					t.Errorf("got %+v, want %s, %d, %q", m, tt.result, tt.status, tt.reason)
				}
				if s := b.stats(0); s.Failed != tt.failed || s.InFlight != 0 {
					t.Errorf("%d failed, %d running; want %d, 0", s.Failed, s.InFlight, tt.failed)
				}
			})
		})
	}
}

func TestRequestReachesEveryMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type seen struct {
			uri, method, body string
			header            http.Header
		}
		got := make([]seen, 3)
		record := func(i int) gatewaytest.Behaviour {
			return func(w http.ResponseWriter, r *http.Request) {
				body := new(strings.Builder)
				_ = r.Write(body)
				_, after, _ := strings.Cut(body.String(), "\r\n\r\n")
				got[i] = seen{r.RequestURI, r.Method, after, r.Header}
			}
		}
		b := newBench(t, hotels(record(0), record(1), record(2)))
		b.send(t.Context(), http.MethodPost, "/access?guest=7&x=%2F", strings.NewReader("face"),
			"X-Guest", "7", "Connection", "X-Hop", "X-Hop", "1", "Accept-Encoding", "gzip", "Expect", "100-continue",
			"X-Forwarded-For", "1.2.3.4", "Authorization", "Bearer guest")
		for i, g := range got {
			if g.uri != "/v1/access?guest=7&x=%2F" || g.method != http.MethodPost || g.body != "face" {
				t.Errorf("member %d got %s %s %q", i, g.method, g.uri, g.body)
			}
			want := map[string]string{
				"X-Guest": "7", "Authorization": "Bearer guest", "X-Forwarded-Host": "gateway.example", "X-Forwarded-For": "192.0.2.1",
				"X-Hop": "", "Accept-Encoding": "", "Expect": "",
			}
			for key, value := range want {
				if g.header.Get(key) != value {
					t.Errorf("member %d: %s: %q, want %q", i, key, g.header.Get(key), value)
				}
			}
		}
	})
}

func TestRequestThatIsTooLongIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Yes()))
		a := b.send(t.Context(), http.MethodPost, "/access", strings.NewReader(strings.Repeat("x", 1<<20+1)))
		if a.status != http.StatusRequestEntityTooLarge || b.hotels[0].Calls() != 0 {
			t.Errorf("got %d, %d calls", a.status, b.hotels[0].Calls())
		}
	})
}
