package trace_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// A collector that takes connections and never answers holds up no call, and no end.
func TestCollectorThatHangs(t *testing.T) {
	asked := make(chan struct{}, 100)
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else it does not see that the client has gone
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(c.Close)
	b := newBench(t, to(t, c.URL, 1), asIs, gatewaytest.Yes())
	b.call("/hotels/hotel-1/x", http.StatusOK)
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("nothing was sent")
	}
	began := time.Now()
	for range 200 { // a batch is on its way all the time
		b.call("/hotels/hotel-1/x", http.StatusOK)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("200 calls took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began = time.Now()
	err := b.tracer.Stop(ctx)
	if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "did not take the last spans in time") || took > patience {
		t.Errorf("stopped after %s: %v", took, err)
	}
	eventually.True(t, patience, func() bool { return strings.Contains(b.log.String(), "spans, which are lost") }, "the batch on its way to be given up")
}

// What a collector does not take is told; its headers go to nobody else.
func TestCollectorThatRefuses(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s went elsewhere, with %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + nobody.Addr().String()
	_ = nobody.Close()
	for name, tt := range map[string]struct {
		status int
		want   string
	}{
		"redirects": {http.StatusTemporaryRedirect, "it answered 307 Temporary Redirect"},
		"refuses":   {http.StatusUnauthorized, "it answered 401 Unauthorized"},
		"fails":     {http.StatusInternalServerError, "it answered 500 Internal Server Error"},
		"is gone":   {0, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(tt.status)
			}))
			t.Cleanup(c.Close)
			address := c.URL
			if tt.status == 0 {
				address = gone
			}
			b := newBench(t, to(t, address, 1), asIs, gatewaytest.Yes())
			b.call("/hotels/hotel-1/x", http.StatusOK)
			b.gateway.Close()
			if err := b.tracer.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			log := b.log.String()
			if !strings.Contains(log, "level=WARN") || !strings.Contains(log, "spans=2") || !strings.Contains(log, tt.want) || strings.Contains(log, "secret") {
				t.Errorf("the log says %s", log)
			}
		})
	}
}
