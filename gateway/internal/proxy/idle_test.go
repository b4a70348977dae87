package proxy_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// G20: nothing but a pause ends a body.
func TestG20_BodyThatStops(t *testing.T) {
	stops := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	tests := []struct {
		name  string
		idle  time.Duration
		ends  time.Duration // 0: it does not
		state recloser.State
	}{
		{"stops", 10 * time.Second, 10 * time.Second, recloser.Open},
		{"may stop", recloser.Off, 0, recloser.Closed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, stops, func(d *config.Dependency, _ *config.Route) {
					d.BodyIdle, d.Settings.Consecutive = tt.idle, 1
				})
				began := time.Now()
				resp := b.open("/hotels/hotel-1/", nil)
				time.AfterFunc(time.Minute, func() { _ = resp.Body.Close() })
				all, err := io.ReadAll(resp.Body)
				took := time.Since(began)
				if tt.ends != 0 && (took != tt.ends || err == nil || string(all) != "half") || tt.ends == 0 && took < time.Minute {
					t.Errorf("got %q, %v after %s", all, err, took)
				}
				synctest.Wait()
				b.wantState(tt.state)
				if b.hotel.Running() != 0 || b.process.InFlight() != 0 {
					t.Errorf("%d running, %d in flight", b.hotel.Running(), b.process.InFlight())
				}
			})
		})
	}
}

func TestG20_SlowReaderIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			pause(time.Second) // ReverseProxy's first flush has to be over: in a bubble it would wait for ever behind a blocked write
			_, _ = io.WriteString(w, strings.Repeat("x", size))
		}, func(d *config.Dependency, _ *config.Route) {
			d.BodyIdle = 10 * time.Second
		})
		resp := b.open("/hotels/hotel-1/", nil)
		read, buf := 0, make([]byte, 32<<10)
		for {
			pause(20 * time.Second) // twice as long as the dependency may stop
			n, err := io.ReadFull(resp.Body, buf)
			read += n
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("after %d bytes: %v", read, err)
			}
		}
		if s := b.breaker.Stats(); read != size || s.Success != 1 || s.Failed != 0 {
			t.Errorf("%d bytes, %d good, %d failed", read, s.Success, s.Failed)
		}
	})
}

func TestClientThatStopsInTheMiddleOfItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Slow(0, gatewaytest.Yes()))
		r, w := io.Pipe()
		defer w.Close()
		go func() {
			for range 4 { // as slowly as this it may go on
				_, _ = io.WriteString(w, "x")
				pause(20 * time.Second)
			}
		}()
		a := b.send(t.Context(), http.MethodPost, "/hotels/hotel-1/", r)
		if a.status != http.StatusRequestTimeout || a.took != 90*time.Second || a.header.Get("Connection") != "" && a.header.Get("Connection") != "close" {
			t.Errorf("got %+v after %s", a, a.took)
		}
		synctest.Wait()
		if s := b.breaker.Stats(); s.Failed != 0 || s.Ignored != 1 || s.InFlight != 0 || b.hotel.Running() != 0 || b.process.InFlight() != 0 {
			t.Errorf("%d failed, %d ignored, %d in flight, %d running", s.Failed, s.Ignored, s.InFlight, b.hotel.Running())
		}
	})
}

// The server looks whether the client is still there; a deadline that was left
// from its body would be taken for its end.
func TestDeadlineOfTheBodyEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Slow(0, func(w http.ResponseWriter, _ *http.Request) {
			for range 10 {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				pause(10 * time.Second)
			}
		}))
		a := b.send(t.Context(), http.MethodPost, "/hotels/hotel-1/", strings.NewReader("face"))
		if a.status != http.StatusOK || a.err != nil || len(a.body) != 10 {
			t.Errorf("got %+v", a)
		}
	})
}

func TestGoodAnswersTeachWhatIsUsual(t *testing.T) {
	tests := []struct {
		name      string
		behaviour gatewaytest.Behaviour
		upload    time.Duration
		samples   uint64
		p95       time.Duration // about
	}{
		{"good", gatewaytest.Slow(300*time.Millisecond, gatewaytest.Yes()), 0, 1, 300 * time.Millisecond},
		{"not found", gatewaytest.Slow(300*time.Millisecond, gatewaytest.Answer(404, "")), 0, 1, 300 * time.Millisecond},
		{"after a slow upload", gatewaytest.Slow(300*time.Millisecond, gatewaytest.Yes()), 20 * time.Second, 1, 300 * time.Millisecond},
		{"failed", gatewaytest.Answer(500, ""), 0, 0, 0},
		{"too many", gatewaytest.Answer(429, ""), 0, 0, 0},
		{"broke off", gatewaytest.Refuse(), 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, tt.behaviour)
				var body io.Reader
				if tt.upload > 0 {
					r, w := io.Pipe()
					time.AfterFunc(tt.upload, func() { _ = w.Close() })
					body = r
				}
				b.send(t.Context(), http.MethodPost, "/hotels/hotel-1/", body)
				v := b.dep.Latency.Limit(2*time.Second, time.Now())
				if v.Samples != tt.samples || v.P95 > 2*tt.p95 || v.P95 < tt.p95/2 {
					t.Errorf("%d samples, p95 %s; want %d, about %s", v.Samples, v.P95, tt.samples, tt.p95)
				}
			})
		})
	}
}
