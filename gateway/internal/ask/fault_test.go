package ask_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/ask"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// A client that only stops sending looks as if it had gone, and still reads:
// nothing at all would be an empty 200, which lets guests in.
func TestAskThatEndsEarlySaysUnknown(t *testing.T) {
	deps, err := dependency.Maker{}.NewList([]config.Dependency{{ID: "hotel-1", URL: &url.URL{Scheme: "http", Host: "hotel-1.example"}, Timeout: time.Second, AttemptTimeout: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := deps.Get("hotel-1")
	d.Transport = transport(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	rule := &config.Ask{Group: "*", Decide: config.FirstYes, Timeout: time.Minute}
	new(bench).newAsker(deps).Handler(config.Route{Path: "/access", Ask: rule}).
		ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/access", nil))
	var got ask.Result
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusServiceUnavailable || got.Answer != ask.Unknown {
		t.Errorf("got %d %q, %v; want 503 unknown", w.Code, w.Body, err)
	}
}

func TestMemberThatSwitchesUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Switch("echo")))
		b.ask().want(t, 503, ask.Unknown, "failed", 0)
		synctest.Wait()
		if s := b.stats(0); s.Failed != 1 || s.InFlight != 0 || b.hotels[0].Running() != 0 {
			t.Errorf("%d failed, %d in flight, %d connections at the member", s.Failed, s.InFlight, b.hotels[0].Running())
		}
	})
}

func TestOurOwnShortageIsNoMembersFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hotels(gatewaytest.Yes()))
		b.deps[0].Transport = transport(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		})
		a := b.ask()
		a.want(t, 503, ask.Unknown, "failed", 0)
		if reason := a.Members[0].Reason; !strings.Contains(reason, "the gateway is short of sockets") {
			t.Errorf("reason %q", reason)
		}
		if s := b.stats(0); s.Ignored != 1 || s.Failed != 0 {
			t.Errorf("%d ignored, %d failed", s.Ignored, s.Failed)
		}
	})
}

// Members must not answer "not modified" or with a part: neither can be judged.
func TestMembersAreAskedForWholeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got http.Header
		b := newBench(t, hotels(func(w http.ResponseWriter, r *http.Request) {
			got = r.Header
			gatewaytest.Yes()(w, r)
		}))
		names := []string{"If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range", "Http2-Settings"}
		header := []string{"X-Guest", "7"}
		for _, name := range names {
			header = append(header, name, `"x"`)
		}
		b.send(t.Context(), http.MethodGet, "/access", nil, header...).want(t, 200, ask.Yes, "yes", 0)
		for _, name := range names {
			if value, there := got[name]; there {
				t.Errorf("%s: %q reached the member", name, value)
			}
		}
		if got.Get("X-Guest") != "7" {
			t.Errorf("header %v", got)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
