package trace

import (
	"bytes"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// A collector that is away for long is told of once a minute, with all that is lost.
func TestComplaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newCollector(&config.Traces{Endpoint: &url.URL{Scheme: "http", Host: "127.0.0.1:4318"}}, slog.New(slog.NewTextHandler(&log, nil)))
		defer c.end()
		batch := []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: make([]*tracepb.Span, 10)}}}}
		for range 61 {
			c.complain(batch, errors.New("down"))
			<-time.After(2 * time.Second)
		}
		var lines []string
		for line := range strings.Lines(log.String()) {
			_, text, _ := strings.Cut(line, "spans=")
			lines = append(lines, text)
		}
		if got := strings.Join(lines, ""); got != "10 error=down\n300 error=down\n300 error=down\n" {
			t.Errorf("the log says %s", log.String())
		}
	})
}
