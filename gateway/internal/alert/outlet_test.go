package alert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

const (
	secret = "s3cr3t-signature"
	hook   = "https://prod.example:443/workflows/0123abcd/triggers/manual/paths/invoke?api-version=1&sig=" + secret
)

// webhook is a fake RoundTripper: answer gives the n-th answer, n from 1.
type webhook struct {
	answer func(n int, r *http.Request) (*http.Response, error)

	mu     sync.Mutex
	titles []string
	at     []time.Time
}

func (w *webhook) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, title, _ := strings.Cut(string(body), `"fallbackText":"`)
	title, _, _ = strings.Cut(title, `"`)
	w.mu.Lock()
	w.titles = append(w.titles, title)
	w.at = append(w.at, time.Now())
	n := len(w.at)
	w.mu.Unlock()
	return w.answer(n, r)
}

func (w *webhook) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.titles)
}

// gap is the time between two posts, counted from 1.
func (w *webhook) gap(from, to int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at[to-1].Sub(w.at[from-1])
}

func reply(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// replies gives the answers one after the other, and the last one for ever.
func replies(list ...func() *http.Response) func(int, *http.Request) (*http.Response, error) {
	return func(n int, _ *http.Request) (*http.Response, error) { return list[min(n, len(list))-1](), nil }
}

func status(code int, body string, header ...string) func() *http.Response {
	return func() *http.Response { return reply(code, body, header...) }
}

func hang(_ int, r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// started returns running Alerts with one channel to w, and their log.
func started(t *testing.T, w *webhook) (*Alerts, *gatewaytest.Log) {
	t.Helper()
	log := &gatewaytest.Log{}
	a := New(Options{
		Teams:  []config.Teams{{Name: "ops", URL: hook}},
		Client: &http.Client{Transport: w},
		Log:    slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	a.Start()
	return a, log
}

func (a *Alerts) tell(id string, states ...recloser.State) {
	for _, tr := range steps(id, states...) {
		a.Listen(tr)
	}
}

func stopWithin(t *testing.T, a *Alerts, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	a.Stop(ctx)
}

func wantTitles(t *testing.T, w *webhook, want ...string) {
	t.Helper()
	if got := w.seen(); !slices.Equal(got, want) {
		t.Errorf("posted %q, want %q", got, want)
	}
}

func TestG18AcceptedAnswers(t *testing.T) {
	for name, answer := range map[string]func() *http.Response{
		"202 with nothing": status(202, ""),
		"200 with 1":       status(200, "1"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &webhook{answer: replies(answer)}
				a, log := started(t, w)
				a.tell("h", recloser.Open)
				synctest.Wait()
				a.tell("h", recloser.Open, recloser.HalfOpen, recloser.Closed)
				stopWithin(t, a, time.Minute)
				wantTitles(t, w, "h is cut off", "h is back")
				if text := log.String(); strings.Count(text, "alert accepted") != 2 || strings.Contains(text, "delivered") {
					t.Errorf("log:\n%s", text)
				}
			})
		})
	}
}

func TestG18NothingStaleAfterRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{answer: replies(status(429, "", "Retry-After", "10"), status(202, ""))}
		a, _ := started(t, w)
		a.tell("h", recloser.Open)
		synctest.Wait()
		a.Listen(recloser.Transition{Name: "h", From: recloser.HalfOpen, To: recloser.Closed, At: start.Add(time.Second)})
		stopWithin(t, a, time.Minute)
		wantTitles(t, w, "h is cut off", "h is back") // the first was refused
		if gap := w.gap(1, 2); gap < 10*time.Second || gap > 11*time.Second {
			t.Errorf("second post after %v, want 10 s", gap)
		}
	})
}

func TestRetry(t *testing.T) {
	for name, first := range map[string]func() *http.Response{
		"500":              status(500, "oops"),
		"429 without time": status(429, ""),
		"429 with a date": func() *http.Response {
			return reply(429, "", "Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		},
		"error within 200": status(200, "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &webhook{answer: replies(first, first, first, status(202, ""))}
				a, log := started(t, w)
				a.tell("h", recloser.Open)
				stopWithin(t, a, time.Minute)
				wantTitles(t, w, "h is cut off", "h is cut off", "h is cut off", "h is cut off")
				for i, least := range []time.Duration{1000, 2000, 4000} {
					least *= time.Millisecond
					if gap := w.gap(i+1, i+2); gap < least || gap > 2*least {
						t.Errorf("wait %d was %v, want %v to %v", i+1, gap, least, 2*least)
					}
				}
				if !strings.Contains(log.String(), "alert accepted") {
					t.Errorf("log:\n%s", log)
				}
			})
		})
	}
}

func TestBackoff(t *testing.T) {
	for failures, d := range map[int]time.Duration{1: 2 * time.Second, 2: 4 * time.Second, 5: 32 * time.Second, 6: time.Minute, 1000: time.Minute} {
		seen := map[time.Duration]bool{}
		for range 100 {
			got := backoff(failures)
			if got < d/2 || got > d {
				t.Fatalf("backoff(%d) = %v, want %v to %v", failures, got, d/2, d)
			}
			seen[got] = true
		}
		if len(seen) < 2 {
			t.Errorf("backoff(%d) has no jitter", failures)
		}
	}
}

func TestRefusedForGoodIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{answer: replies(status(404, ""), status(202, ""))}
		a, log := started(t, w)
		a.tell("one", recloser.Open)
		a.tell("two", recloser.Open)
		stopWithin(t, a, time.Minute)
		wantTitles(t, w, "one is cut off", "two is cut off")
		if !strings.Contains(log.String(), "not tried again") {
			t.Errorf("log:\n%s", log)
		}
	})
}

func TestGivesUpInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{answer: replies(status(503, "", "Retry-After", "999999999"))}
		a, log := started(t, w)
		a.tell("h", recloser.Open)
		stopWithin(t, a, 2*giveUpAfter)
		if n := len(w.seen()); n != 2 {
			t.Errorf("%d posts, want 2", n)
		}
		if !strings.Contains(log.String(), "given up") {
			t.Errorf("log:\n%s", log)
		}
	})
}

func TestOneMessageASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{answer: replies(status(202, ""))}
		a, _ := started(t, w)
		const n = 5
		for i := range n {
			a.tell(fmt.Sprint("h", i), recloser.Open)
		}
		stopWithin(t, a, time.Minute)
		if got := len(w.seen()); got != n {
			t.Fatalf("%d posts, want %d", got, n)
		}
		for i := 1; i < n; i++ {
			if gap := w.gap(i, i+1); gap < time.Second {
				t.Errorf("posts %d and %d are only %v apart", i, i+1, gap)
			}
		}
	})
}

func TestFullQueueDropsTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &webhook{answer: func(int, *http.Request) (*http.Response, error) {
			<-release
			return reply(202, ""), nil
		}}
		a, log := started(t, w)
		a.tell("first", recloser.Open)
		synctest.Wait() // it is being sent
		for i := range queueLimit + 7 {
			a.tell(fmt.Sprint("h", i), recloser.Open)
		}
		close(release)
		stopWithin(t, a, 10*time.Minute)
		got := w.seen()
		if len(got) != 1+queueLimit || got[1] != "h7 is cut off" || got[queueLimit] != fmt.Sprintf("h%d is cut off", queueLimit+6) {
			t.Errorf("%d posts, from %q to %q", len(got), got[1], got[len(got)-1])
		}
		if !strings.Contains(log.String(), "count=8") { // the one being sent counts as queued
			t.Errorf("log:\n%s", log)
		}
	})
}

func TestHangingHookDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{answer: hang}
		a, log := started(t, w)
		begin := time.Now()
		for i := range 3 * queueLimit {
			a.tell(fmt.Sprint("h", i), recloser.Open, recloser.HalfOpen, recloser.Closed)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("Listen took %v", d)
		}
		stopWithin(t, a, 5*time.Second)
		if d := time.Since(begin); d != 5*time.Second {
			t.Errorf("Stop took %v, want 5 s", d)
		}
		// At once: the process may end now.
		if !strings.Contains(log.String(), fmt.Sprintf(`"alerts not sent: shut down" channel=ops count=%d dependencies="[h%d h%d `, queueLimit, 2*queueLimit, 2*queueLimit+1)) {
			t.Errorf("log:\n%s", log)
		}
	})
}

func TestHangingHookIsCutAfter10s(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{answer: func(n int, r *http.Request) (*http.Response, error) {
			if n == 1 {
				return hang(n, r)
			}
			return reply(202, ""), nil
		}}
		a, _ := started(t, w)
		a.tell("h", recloser.Open)
		stopWithin(t, a, time.Minute)
		wantTitles(t, w, "h is cut off", "h is cut off")
		if gap := w.gap(1, 2); gap < sendTimeout || gap > sendTimeout+firstBackoff {
			t.Errorf("tried again after %v, want about %v", gap, sendTimeout)
		}
	})
}

func TestOneChannelDoesNotHoldUpAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{answer: func(n int, r *http.Request) (*http.Response, error) {
			if r.URL.Hostname() == "hanging.example" {
				return hang(n, r)
			}
			return reply(202, ""), nil
		}}
		a := New(Options{
			Teams:  []config.Teams{{Name: "bad", URL: "https://hanging.example/x"}, {Name: "good", URL: hook}},
			Client: &http.Client{Transport: w}, Log: slog.New(slog.DiscardHandler),
		})
		a.Start()
		a.tell("h", recloser.Open)
		synctest.Wait()
		wantTitles(t, w, "h is cut off", "h is cut off")
		stopWithin(t, a, 0)
	})
}

func TestStopWithoutStart(t *testing.T) {
	a := New(Options{Teams: []config.Teams{{Name: "ops", URL: hook}}})
	a.tell("h", recloser.Open)
	a.Stop(t.Context())
	a.Stop(t.Context())
}

// A channel of another kind needs no more than Send.
type failing struct{ n int }

func (f *failing) Send(context.Context, Message) error {
	if f.n++; f.n < 3 {
		return errors.New("any error")
	}
	return nil
}

func TestAnyErrorIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &failing{}
		o := newOutlet(c, slog.New(slog.DiscardHandler))
		o.push(Message{ID: "h"})
		stopping := make(chan struct{})
		close(stopping)
		o.run(t.Context(), stopping)
		if c.n != 3 || o.len() != 0 {
			t.Errorf("%d tries, %d left; want 3 and 0", c.n, o.len())
		}
	})
}
