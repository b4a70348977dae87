package gateway

import (
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

const tracedGateway = `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { hotel-1: { url: %q, breaker: { consecutive: 2 } } }
routes: [ { path: "/hotels/{dependency}/*" } ]
traces: { endpoint: %q }
`

// A whole gateway sends spans of calls and of a trip, and what waits when it stops.
func TestGatewaySendsTraces(t *testing.T) {
	var mu sync.Mutex
	count := make(map[string]int) // by name
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		zip, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(zip)
		var data tracepb.TracesData
		if err != nil || proto.Unmarshal(body, &data) != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		for _, from := range data.ResourceSpans {
			for _, scope := range from.ScopeSpans {
				for _, s := range scope.Spans {
					mu.Lock()
					count[s.Name]++
					mu.Unlock()
				}
			}
		}
	}))
	defer collector.Close()
	hotel := gatewaytest.NewDependency(gatewaytest.Answer(http.StatusInternalServerError, "sorry"))
	g, _ := newGateway(t, fmt.Sprintf(tracedGateway, hotel.Listen(t), collector.URL))
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	call := func() {
		resp, err := http.Get("http://" + g.Addr() + "/hotels/hotel-1/x")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	call()
	call()
	eventually.True(t, patience, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return count["recloser.transition"] == 1
	}, "the trip")
	call()
	stop(t, g)
	if fmt.Sprint(count) != "map[GET:2 GET /hotels/{dependency}/*:3 recloser.transition:1]" {
		t.Errorf("spans %v", count)
	}
}

// A collector that never answers does not keep a gateway from stopping.
func TestGatewayStopsWhileTheCollectorHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var connected atomic.Bool
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connected.Store(true)
			defer conn.Close()
		}
	}()
	hotel := gatewaytest.NewDependency(gatewaytest.Yes())
	g, log := newGateway(t, fmt.Sprintf(tracedGateway, hotel.Listen(t), "http://"+l.Addr().String()))
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + g.Addr() + "/hotels/hotel-1/x")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
	eventually.True(t, patience, connected.Load, "spans on their way")
	began := time.Now()
	stop(t, g)
	if took := time.Since(began); took > patience {
		t.Errorf("it stopped after %s, want about %s", took, tracesGrace)
	}
	if !strings.Contains(log.String(), "the collector did not take the last spans in time") {
		t.Errorf("the log says %s", log.String())
	}
}
