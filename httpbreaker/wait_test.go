package httpbreaker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
)

func TestTripReleasesWhoWaitsForHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{CancelOnTrip: true})
		released := make(chan error)
		go func() {
			_, err := get(t, through(b, hang))
			released <- err
		}()
		synctest.Wait()
		if err := b.TripFor(time.Minute, "test", "test"); err != nil {
			t.Fatal(err)
		}
		err := <-released
		open := new(recloser.OpenError)
		if !errors.As(err, &open) || open.Reason != recloser.ReasonReleased {
			t.Fatalf("got %v, want a refusal with reason %s", err, recloser.ReasonReleased)
		}
		if s := b.Stats(); s.Failed != 0 || s.InFlight != 0 {
			t.Errorf("%d failed, %d running", s.Failed, s.InFlight)
		}
	})
}

func TestTripLeavesDownloadsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{CancelOnTrip: true})
		var sent context.Context
		r, w := io.Pipe()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/", nil)
		resp, err := through(b, func(out *http.Request) (*http.Response, error) {
			sent = out.Context()
			return response(out, 200, r), nil
		}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.TripFor(time.Minute, "test", "test"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := sent.Err(); err != nil {
			t.Fatalf("the download's context is done: %v", err)
		}
		go func() {
			_, _ = w.Write([]byte("all of it"))
			_ = w.Close()
		}()
		if got, err := io.ReadAll(resp.Body); string(got) != "all of it" || err != nil {
			t.Fatalf("read %q, %v", got, err)
		}
		if sent.Err() == nil {
			t.Error("the request's context is still held after the end of the body")
		}
	})
}

func TestKeepOnTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{CancelOnTrip: true})
		answer := make(chan struct{})
		tr := through(b, func(req *http.Request) (*http.Response, error) {
			select {
			case <-answer:
				return answers(200)(req)
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
		})
		tr.KeepOnTrip = true
		got := make(chan error)
		go func() {
			_, err := get(t, tr)
			got <- err
		}()
		synctest.Wait()
		if err := b.TripFor(time.Minute, "test", "test"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(answer)
		if err := <-got; err != nil {
			t.Fatal(err)
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{})
		tr := through(b, hang)
		tr.Timeout = 3 * time.Second
		start := time.Now()
		_, err := get(t, tr)
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) != tr.Timeout {
			t.Fatalf("got %v after %s, want a time-out after %s", err, time.Since(start), tr.Timeout)
		}
		wantEnded(t, b, 0, 1, 0)
	})
}

func TestTimeoutIsNotTheBodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{})
		tr := through(b, func(req *http.Request) (*http.Response, error) {
			r, w := io.Pipe()
			go func() {
				pause(time.Minute)
				_ = w.CloseWithError(context.Cause(req.Context()))
			}()
			return response(req, 200, r), nil
		})
		tr.Timeout = time.Second
		if _, err := get(t, tr); err != nil {
			t.Fatal(err)
		}
		wantEnded(t, b, 1, 0, 0)
	})
}

func TestCallerGivesUp(t *testing.T) {
	brokenOff := func(req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		context.AfterFunc(req.Context(), func() { _ = w.CloseWithError(req.Context().Err()) })
		return response(req, 200, r), nil
	}
	tests := []struct {
		name            string
		rt              base
		after           time.Duration
		deadline        bool
		failed, ignored uint64
	}{
		{"cancel", hang, 100 * ms, false, 0, 1},
		{"deadline, short", hang, 100 * ms, true, 0, 1},
		{"deadline, long", hang, 5 * time.Second, true, 1, 0},
		{"cancel in the body", brokenOff, 100 * ms, false, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{})
				ctx, cancel := context.WithCancel(t.Context())
				if tt.deadline {
					ctx, cancel = context.WithTimeout(t.Context(), tt.after)
				} else {
					time.AfterFunc(tt.after, cancel)
				}
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://hotel-1.example/", nil)
				if _, err := do(through(b, tt.rt), req); err == nil {
					t.Fatal("no error")
				}
				wantEnded(t, b, 0, tt.failed, tt.ignored)
			})
		})
	}
}

func TestClientTimeoutIsTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{})
		client := http.Client{Timeout: 100 * ms, Transport: through(b, func(req *http.Request) (*http.Response, error) {
			<-req.Cancel //nolint:staticcheck // what http.Client does to transports it does not know
			return nil, errors.New("request canceled")
		})}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/", nil)
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			t.Fatal("no error")
		}
		wantEnded(t, b, 0, 0, 1)
	})
}

// lateContext is done a little after its deadline: its timer has not run yet.
type lateContext struct {
	context.Context
	deadline time.Time
}

func (c lateContext) Deadline() (time.Time, bool) { return c.deadline, true }

func TestRequestCancelIsTheCallers(t *testing.T) {
	tests := []struct {
		name            string
		deadline        time.Duration // 0: none
		failed, ignored uint64
	}{
		{"by hand", 0, 0, 1},
		{"by a deadline to come", time.Minute, 0, 1},
		{"by a deadline that the context has not noticed", 5 * time.Second, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{})
				ctx := t.Context()
				if tt.deadline > 0 {
					late, cancel := context.WithTimeout(ctx, tt.deadline+ms)
					defer cancel()
					ctx = lateContext{late, time.Now().Add(tt.deadline)}
				}
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://hotel-1.example/", nil)
				cancel := make(chan struct{})
				req.Cancel = cancel //nolint:staticcheck // http.Client uses it
				_, err := do(through(b, func(*http.Request) (*http.Response, error) {
					pause(5 * time.Second)
					close(cancel)
					return nil, errors.New("request canceled")
				}), req)
				if err == nil {
					t.Fatal("no error")
				}
				wantEnded(t, b, 0, tt.failed, tt.ignored)
			})
		})
	}
}

func TestC96_CallersWhoGiveUpDoNotHideAHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{SlowCall: 2 * time.Second})
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://hotel-1.example/", nil)
			go func() {
				defer cancel()
				_, _ = do(through(b, hang), req)
			}()
			pause(time.Second)
		}
		pause(2 * time.Second)
		if got := b.Stats().Refused[recloser.ReasonOpen]; got == 0 {
			t.Errorf("nobody was refused: %+v", b.Stats())
		}
	})
}

func TestCut(t *testing.T) {
	hung := errors.New("hung")
	tests := []struct {
		cut             httpbreaker.Cut
		failed, ignored uint64
		want            error
	}{
		{httpbreaker.Cut{Outcome: recloser.Ignored}, 0, 1, context.Canceled},
		{httpbreaker.Cut{Outcome: recloser.Failure}, 1, 0, context.Canceled},
		{httpbreaker.Cut{Outcome: recloser.Ignored, Err: hung}, 0, 1, hung},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{Consecutive: 1, SlowCall: time.Second})
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(900*time.Millisecond, func() { cancel(&tt.cut) })
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://hotel-1.example/", nil)
			if _, err := do(through(b, hang), req); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			wantEnded(t, b, 0, tt.failed, tt.ignored)
			if tt.ignored == 1 {
				wantState(t, b, recloser.Closed) // one of our own making extends no run
			}
		})
	}
}

// While this process stands still its coarse clock does, and the time of that is
// nobody's: the answer is there by the time that the timers are.
func TestTimeoutsDoNotCountOurOwnStandstill(t *testing.T) {
	for name, cfg := range map[string]guard.Config{
		"of an attempt": {AttemptTimeout: 3 * time.Second, Timeout: recloser.Off},
		"of a call":     {AttemptTimeout: recloser.Off, Timeout: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := recloser.NewManualClock(time.Now())
				cfg.Breaker = recloser.Config{Name: "hotel-1", Clock: clock}
				g := newGuarded(t, cfg, func(req *http.Request) (*http.Response, error) {
					if req.Method == http.MethodHead {
						return hang(req)
					}
					pause(4 * time.Second)
					if err := req.Context().Err(); err != nil {
						return nil, err
					}
					return answers(200)(req)
				})
				if status, _, err := g.do(g.request(http.MethodGet, nil)); status != 200 {
					t.Errorf("got %d, %v", status, err)
				}
				go func() { // it goes on
					for range 10 {
						pause(time.Second)
						clock.Advance(time.Second)
					}
				}()
				if _, _, err := g.do(g.request(http.MethodHead, nil)); !errors.As(err, new(*guard.TimeoutError)) {
					t.Errorf("got %v, want a timeout", err)
				}
				pause(10 * time.Second)
			})
		})
	}
}
