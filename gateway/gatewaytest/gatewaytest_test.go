package gatewaytest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
)

func TestBehaviours(t *testing.T) {
	tests := []struct {
		name      string
		behaviour gatewaytest.Behaviour
		status    int // 0: an error
		body      string
		took      time.Duration
	}{
		{"yes", gatewaytest.Yes(), 200, `{"allowed": true}`, 0},
		{"no", gatewaytest.No(), 200, `{"allowed": false}`, 0},
		{"fail", gatewaytest.Answer(500, "sorry"), 500, "sorry", 0},
		{"slow", gatewaytest.Slow(3*time.Second, gatewaytest.Answer(204, "")), 204, "", 3 * time.Second},
		{"hang", gatewaytest.Hang(), 0, "", 30 * time.Second},
		{"refuse", gatewaytest.Refuse(), 0, "", 0},
		{"break off", gatewaytest.BreakOff(64), 0, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := gatewaytest.NewDependency(tt.behaviour)
				start := time.Now()
				status, body, err := get(t, serve(t, d))
				if (err != nil) != (tt.status == 0) || err == nil && (status != tt.status || body != tt.body) {
					t.Errorf("got %d %q, %v; want %d %q", status, body, err, tt.status, tt.body)
				}
				synctest.Wait()
				if d.Calls() != 1 || d.Running() != 0 || time.Since(start) != tt.took {
					t.Errorf("%d calls, %d running after %s, want %s", d.Calls(), d.Running(), time.Since(start), tt.took)
				}
			})
		})
	}
}

func TestFlapAndInTurn(t *testing.T) {
	good, bad := gatewaytest.Answer(200, ""), gatewaytest.Answer(500, "")
	tests := []struct {
		name      string
		behaviour func() gatewaytest.Behaviour
		want      []int
	}{
		{"flap", func() gatewaytest.Behaviour { return gatewaytest.Flap(2*time.Second, 2*time.Second, good, bad) }, []int{200, 200, 500, 500, 200}},
		{"in turn", func() gatewaytest.Behaviour { return gatewaytest.InTurn(good, bad, bad) }, []int{200, 500, 500, 200, 500}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := serve(t, gatewaytest.NewDependency(tt.behaviour()))
				for i, want := range tt.want {
					if got, _, err := get(t, client); got != want || err != nil {
						t.Errorf("call %d: %d, %v; want %d", i, got, err, want)
					}
					<-time.After(time.Second)
				}
			})
		})
	}
}

func TestListenServesOverTheWire(t *testing.T) {
	d := &gatewaytest.Dependency{}
	resp, err := http.Get(d.Listen(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || d.Calls() != 1 {
		t.Errorf("status %d, %d calls", resp.StatusCode, d.Calls())
	}
}

func serve(t *testing.T, d *gatewaytest.Dependency) *http.Client {
	n := gatewaytest.NewNetwork(t)
	n.Serve("hotel-1.example", d)
	return n.Client()
}

func get(t *testing.T, client *http.Client) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hotel-1.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), errors.Join(err, resp.Body.Close())
}
