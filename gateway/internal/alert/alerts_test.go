package alert

import (
	"context"
	"errors"
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
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/incident"
)

const (
	secret = "s3cr3t-signature"
	hook   = "https://prod.example/workflows/0123abcd/triggers/manual/paths/invoke?sig=" + secret
)

// webhooks are fake servers: what was posted, by the host's name.
type webhooks struct {
	answer func(r *http.Request) (*http.Response, error) // nil: 202

	mu     sync.Mutex
	titles map[string][]string
}

func (w *webhooks) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, title, _ := strings.Cut(string(body), `"fallbackText":"`)
	title, _, _ = strings.Cut(title, `"`)
	w.mu.Lock()
	if w.titles == nil {
		w.titles = map[string][]string{}
	}
	w.titles[r.URL.Hostname()] = append(w.titles[r.URL.Hostname()], title)
	w.mu.Unlock()
	if w.answer != nil {
		return w.answer(r)
	}
	return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Header: http.Header{}}, nil
}

func (w *webhooks) want(t *testing.T, host string, titles ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.titles[host], titles) {
		t.Errorf("%s got %q, want %q", host, w.titles[host], titles)
	}
}

func (w *webhooks) count(host string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.titles[host])
}

type rig struct {
	*Alerts
	w   *webhooks
	log *gatewaytest.Log
	h   *history.History
}

func start(t *testing.T, w *webhooks, stats func(string) recloser.Stats, channels ...config.Channel) *rig {
	t.Helper()
	r := &rig{w: w, log: &gatewaytest.Log{}, h: history.Open(history.Options{})}
	r.Alerts = New(Options{
		Config: config.Alerts{Calm: time.Minute, Reminder: time.Hour, Channels: channels},
		Dependencies: func() []incident.Dependency {
			return []incident.Dependency{{ID: "h", Name: "Hotel", Group: "coast"}, {ID: "i", Name: "Inn", Group: "hills"}, {ID: "j", Name: "Jar", Group: "coast"}, {ID: "k", Name: "Keep"}}
		},
		Stats: stats, History: r.h, Client: &http.Client{Transport: w},
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	r.Start()
	return r
}

func (r *rig) end(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	r.Stop(ctx)
	if err := r.h.Close(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
	if text := r.log.String(); strings.Contains(text, "s3cr3t") || strings.Contains(text, "0123abcd") {
		t.Errorf("the log shows the secret:\n%s", text)
	}
}

func pass(d time.Duration) { <-time.After(d) }

func none(string) recloser.Stats { return recloser.Stats{} }

func (r *rig) goes(id string, from, to recloser.State) {
	reason := recloser.ReasonRun
	if to == recloser.Closed {
		reason = recloser.ReasonTrialsGood
	}
	r.Listen(recloser.Transition{Name: id, From: from, To: to, At: time.Now(), Reason: reason})
}

func teams(name, host string, groups ...string) config.Channel {
	return config.Channel{Kind: config.Teams, Name: name, URL: config.Secret(strings.Replace(hook, "prod.example", host, 1)), Groups: groups}
}

// From a real breaker to a card.
func TestFromABreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := recloser.New(recloser.Config{Name: "h", Consecutive: 3, OpenFor: time.Second, Jitter: recloser.Off, Trials: 1})
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, &webhooks{}, func(string) recloser.Stats { return b.Stats() }, teams("ops", "prod.example"))
		b.Subscribe(r.Listen)
		call := func(err error) {
			_ = b.Do(t.Context(), func(context.Context) error { return err })
		}
		for range 3 {
			call(errors.New("no database"))
		}
		synctest.Wait()
		for range 7 {
			call(nil) // refused
		}
		pass(5 * time.Second)
		r.w.want(t, "prod.example", "Hotel is cut off")
		call(nil)
		pass(time.Minute + 5*time.Second)
		r.w.want(t, "prod.example", "Hotel is cut off", "Hotel is back")
		if text := r.Messages()[1].String(); !strings.Contains(text, "Was out: 5 s") || !strings.Contains(text, "Spared: 7 calls") || !strings.Contains(text, "Last error: no database") {
			t.Error(text)
		}
		if err := b.Isolate("Ann", "boiler", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(time.Hour)
		pass(5 * time.Second)
		if text := r.Messages()[2].String(); !strings.Contains(text, "By: Ann") || !strings.Contains(text, "Until: "+until.Local().Format("2006-01-02 15:04:05")) {
			t.Error(text)
		}
		r.end(t)
	})
}

func TestRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := teams("ops", "all.example")
		ops.Fallback = "mail"
		r := start(t, &webhooks{}, none, ops, teams("coast", "coast.example", "coast"), teams("hills", "hills.example", "hills"), teams("mail", "mail.example"))
		for _, id := range []string{"h", "i", "j"} {
			r.goes(id, recloser.Closed, recloser.Open)
		}
		pass(10 * time.Second)
		r.w.want(t, "all.example", "3 of 4 cut off")
		r.w.want(t, "coast.example", "2 of 2 cut off")
		r.w.want(t, "hills.example", "Inn is cut off")
		r.w.want(t, "mail.example")
		r.end(t)
	})
}

// G18: 429 Retry-After 10, and it recovers meanwhile. The hook goes on refusing until
// the incident is over: one message, not two.
func TestG18RecoversWhileTheHookRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(2 * time.Minute)
		w := &webhooks{answer: func(*http.Request) (*http.Response, error) {
			if time.Now().Before(until) {
				return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"30"}}, Body: http.NoBody}, nil
			}
			return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody}, nil
		}}
		r := start(t, w, none, teams("ops", "prod.example"))
		r.goes("h", recloser.Closed, recloser.Open)
		pass(5 * time.Second)
		r.goes("h", recloser.HalfOpen, recloser.Closed)
		pass(5 * time.Minute)
		accepted := []string{}
		for _, d := range r.Deliveries("", "", 9) {
			accepted = append(accepted, d.Title+": "+string(d.Result))
		}
		if !slices.Equal(accepted, []string{"Hotel is back: accepted", "Hotel is cut off: overtaken"}) {
			t.Errorf("%q", accepted)
		}
		r.end(t)
	})
}

// Keys of many, trials and what a maintenance covers come to nothing; nobody waits.
func TestListenNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhooks{answer: func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}}
		r := start(t, w, none, teams("ops", "prod.example"))
		begin := time.Now()
		for range 1000 {
			r.goes("h", recloser.Closed, recloser.Open)
			r.goes("h", recloser.HalfOpen, recloser.Closed)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("Listen took %v", d)
		}
		pass(time.Minute)
		begin = time.Now()
		r.end(t)
		if d := time.Since(begin); d > 4*time.Second {
			t.Errorf("Stop took %v", d)
		}
	})
}

// An Alertmanager is told again what lasts, and only that.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &webhooks{}, none, config.Channel{Kind: config.Alertmanager, Name: "am", URL: "http://am.example"})
		pass(5 * time.Minute)
		r.w.want(t, "am.example")
		r.goes("h", recloser.Closed, recloser.Open)
		pass(10*time.Minute + time.Second)
		if n := r.w.count("am.example"); n != 11 {
			t.Errorf("told %d times, want once and then each minute", n)
		}
		r.goes("h", recloser.HalfOpen, recloser.Closed)
		pass(2 * time.Minute)
		n := r.w.count("am.example")
		pass(10 * time.Minute)
		if more := r.w.count("am.example") - n; more != 0 {
			t.Errorf("told %d times after the end", more)
		}
		r.end(t)
	})
}

func TestTestMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &webhooks{}, none, teams("ops", "prod.example"))
		if d := r.Test(t.Context(), "ops", "ann"); d.Result != "accepted" {
			t.Errorf("%+v", d)
		}
		r.w.want(t, "prod.example", "A test of Recloser's alerts")
		r.end(t)
	})
}
