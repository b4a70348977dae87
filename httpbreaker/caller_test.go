package httpbreaker_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// served is a caller whose client can be answered while his request runs.
type served struct {
	stays bool      // he cannot
	began time.Time // the first of all

	mu     sync.Mutex
	asked  int
	answer error         // that the client got early
	at     time.Duration // since began
	result error         // of RoundTripFor
	ended  time.Duration // since began
}

// Leave implements httpbreaker.Caller.
func (s *served) Leave(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.stays {
		return false
	}
	s.answer, s.at = err, time.Since(s.began)
	return true
}

// serveAll makes n requests for such callers, 50 ms apart, and waits for all.
func serveAll(t *testing.T, tr *httpbreaker.Transport, n int, stays bool, body func() io.Reader) []*served {
	t.Helper()
	began, all, wg := time.Now(), make([]*served, n), &sync.WaitGroup{}
	for i := range all {
		all[i] = &served{stays: stays, began: began}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://hotel-1.example/access", body())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			resp, err := tr.RoundTripFor(all[i], req)
			if resp != nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			all[i].result, all[i].ended = err, time.Since(began)
		})
		pause(50 * ms)
	}
	wg.Wait()
	return all
}

// early returns how many clients were answered before their requests had ended.
func early(t *testing.T, all []*served) (n int) {
	t.Helper()
	for i, s := range all {
		if s.asked > 1 {
			t.Errorf("caller %d was asked to leave %d times", i, s.asked)
		}
		if s.answer == nil {
			continue
		}
		n++
		if !errors.Is(s.result, s.answer) || s.at >= s.ended {
			t.Errorf("caller %d was told %v at %s, and RoundTrip said %v at %s", i, s.answer, s.at, s.result, s.ended)
		}
	}
	return n
}

// A dependency takes 900 ms from now on. Who waits is let go after 0.6 s; two requests
// run on, and show that the dependency is alive.
func TestCallersLeaveWitnesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := suspicious(t)
		defer stop()
		var lifted time.Duration
		b.Subscribe(func(t recloser.Transition) { lifted = max(lifted, t.Lifted) })
		var answered, closed atomic.Int64
		tr := through(b, func(req *http.Request) (*http.Response, error) {
			select {
			case <-req.Context().Done():
				return nil, req.Context().Err()
			case <-time.After(900 * ms):
			}
			answered.Add(1)
			return response(req, 200, closing{strings.NewReader("body"), &closed}), nil
		})
		tr.Detach = true // it does not matter
		all := serveAll(t, tr, 12, false, noBody)
		synctest.Wait()
		if n := early(t, all); n != 2 || answered.Load() != 2 || closed.Load() != 2 {
			t.Errorf("%d left early, %d answers came, %d bodies were closed; want 2 each", n, answered.Load(), closed.Load())
		}
		for i, s := range all {
			var open *recloser.OpenError
			if !errors.As(s.result, &open) || open.Reason != recloser.ReasonReleased {
				t.Errorf("caller %d: %v", i, s.result)
			}
			if s.answer == nil && s.ended > 1000*ms || s.answer != nil && s.at > 700*ms {
				t.Errorf("caller %d had his answer at %s, %s", i, s.at, s.ended)
			}
		}
		wantTwoWitnesses(t, b, lifted)
	})
}

// A witness that is slow is cut off. A caller who has to stay leaves none behind, nor
// does one whose request is still being sent.
func TestCallersWhoStay(t *testing.T) {
	for name, c := range map[string]struct {
		stays bool
		body  func() io.Reader
		asked int
		left  int
		last  time.Duration // that any of the suspects took
	}{
		"a slow witness": {false, noBody, 2, 2, 2100 * ms},
		"all stay":       {true, noBody, 2, 0, 800 * ms},
		"being sent":     {false, func() io.Reader { r, _ := io.Pipe(); return r }, 0, 0, 800 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, stop := suspicious(t)
				defer stop()
				tr := through(b, func(req *http.Request) (*http.Response, error) {
					if req.Body != nil {
						defer req.Body.Close()
						go func() { _, _ = req.Body.Read(make([]byte, 1)) }()
					}
					return hang(req)
				})
				if name == "being sent" { // its slow clock stands still: others make the suspicion
					done := make(chan struct{})
					go func() {
						defer close(done)
						_ = serveAll(t, through(b, hang), 6, true, noBody)
					}()
					defer func() { <-done }()
				}
				all := serveAll(t, tr, 8, c.stays, c.body)
				asked := 0
				for i, s := range all {
					asked += s.asked
					if s.ended > c.last || !errors.Is(s.result, recloser.ErrOpen) {
						t.Errorf("caller %d: %v at %s", i, s.result, s.ended)
					}
				}
				if n := early(t, all); n != c.left || asked != c.asked {
					t.Errorf("%d were asked and %d left early, want %d and %d", asked, n, c.asked, c.left)
				}
				synctest.Wait()
				if s := b.Stats(); s.InFlight != 0 || s.Success != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// A trip also ends waits that are so young that nobody watches them yet.
func TestTripReachesYoungWaits(t *testing.T) {
	for timeout, want := range map[time.Duration]struct {
		took     time.Duration
		released bool
	}{0: {20 * ms, true}, time.Second: {20 * ms, true}, 10 * ms: {10 * ms, false}} {
		t.Run(timeout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, stop := suspicious(t)
				defer stop()
				tr := through(b, hang)
				tr.Timeout = timeout
				began := time.Now()
				go func() { pause(2 * ms); b.TripNow("test", "test") }()
				_, err := get(t, tr)
				if took := time.Since(began); took != want.took || errors.Is(err, recloser.ErrOpen) != want.released {
					t.Errorf("%v after %s, want %+v", err, took, want)
				}
				synctest.Wait()
				if s := b.Stats(); s.InFlight != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}
